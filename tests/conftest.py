"""What all tests share."""

from hypothesis import HealthCheck, settings

# How fast examples are made says more about the machine than about the code.
settings.register_profile("bough", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("bough")
