"""What must be ready before a process can do its work, by the names that operators see."""

from functools import partial

from gateway.monitoring.monitor import Check
from gateway.running.loading import Loading
from gateway.running.platforms.platform_supervisor import PlatformSupervisor

MODELS = "models"


def parts_of(platforms: PlatformSupervisor) -> dict[str, Check]:
    """Each platform that this process serves, by its name, and the models. One without platforms
    has none to wait for."""
    served = {name: partial(_served, platforms, name) for name in platforms.adapters}
    return {MODELS: partial(_loaded, platforms.loading), **served}


async def _served(platforms: PlatformSupervisor, name: str) -> str:
    return platforms.why_not(name)


async def _loaded(loading: Loading) -> str:
    return "" if loading.ready else "their library is being loaded"
