"""What must be ready before a process can do its work, by the names that operators see."""

from functools import partial

from gateway.monitoring.monitor import Check
from gateway.processes.shared_workspace import SharedWorkspace
from gateway.running.loading import Loading
from gateway.running.platforms.platform_supervisor import PlatformSupervisor

MODELS = "models"
WORKSPACE = "workspace"


def parts_of(
    platforms: PlatformSupervisor, workspace: SharedWorkspace | None = None
) -> dict[str, Check]:
    """Each platform that this process serves, by its name, the models, and the workspace where
    others share it. One without platforms has none to wait for."""
    served = {name: partial(_served, platforms, name) for name in platforms.adapters}
    shared = {} if workspace is None else {WORKSPACE: partial(_fit, workspace)}
    return {MODELS: partial(_loaded, platforms.loading), **shared, **served}


async def _fit(workspace: SharedWorkspace) -> str:
    return workspace.wrong


async def _served(platforms: PlatformSupervisor, name: str) -> str:
    return platforms.why_not(name)


async def _loaded(loading: Loading) -> str:
    return "" if loading.ready else "their library is being loaded"
