"""Whether operators can ask, as the configuration says."""

from gateway.configuration.config import ServerConfig
from gateway.monitoring.monitor import Monitor, Unmonitored
from storage.store import Store


def monitor_of(config: ServerConfig, store: Store, role: str = "all") -> Monitor:
    """What operators can ask; `role`: of this process, as they call it."""
    if config.listen is None:
        return Unmonitored()
    # Late, so that who is not asked starts no slower.
    from importlib.metadata import version

    from adapters.serving.listening import Listen
    from gateway.monitoring.metrics import Metrics
    from gateway.monitoring.monitored import Monitored

    return Monitored(Listen.parse(config.listen), store, Metrics(version("bough"), role))
