"""What a process of a gateway does. All have the same parts; a role says which of them go."""

from enum import StrEnum


class Role(StrEnum):
    ALL = "all"
    INGRESS = "ingress"
    """Takes in what platforms bring."""
    WORKER = "worker"
    """Calls models and runs tools."""
    DELIVERY = "delivery"
    """Sends what is to be said."""

    @property
    def receives(self) -> bool:
        return self in (Role.ALL, Role.INGRESS)

    @property
    def works(self) -> bool:
        return self in (Role.ALL, Role.WORKER)

    @property
    def delivers(self) -> bool:
        return self in (Role.ALL, Role.DELIVERY)
