"""The composition root: from a configuration to a running gateway."""

import gc
from collections.abc import Mapping, Sequence
from functools import partial

from adapters.base import Adapter
from adapters.platforms import PLATFORMS, TERMINAL, Reopen, configured
from agent.models.base import Model
from agent.models.litellm.model import LitellmModel
from agent.tools.base import Tool
from gateway.assembly.agents import agents_of, model_access_of
from gateway.assembly.foundation import foundation_of
from gateway.assembly.incoming import router_of
from gateway.assembly.lanes import lanes_of
from gateway.assembly.panel import panel_of
from gateway.assembly.tasks import app_of
from gateway.assembly.turns import runner_of
from gateway.chats.known_threads import KnownThreads
from gateway.chats.settings import ChatSettings
from gateway.commands.registry import command_specs
from gateway.configuration.config import Config
from gateway.configuration.current import Current
from gateway.models import known_models, needs_litellm
from gateway.monitoring.choosing import monitor_of
from gateway.processes.roles import Role
from gateway.running.loading import Loading
from gateway.running.service import App
from gateway.views.reopening import reopened
from storage.store import Store


async def bootstrap(
    config: Config,
    *,
    adapters: Sequence[Adapter] | None = None,
    terminal: bool = False,
    store: Store | None = None,
    model: Model | None = None,
    tools: Sequence[Tool] = (),
    role: Role = Role.ALL,
) -> App:
    """Wire everything. What is given is used instead of what the configuration names; `terminal`:
    the chat in this terminal, whatever platforms are configured; `tools` are given to models
    besides.

    StoreUnavailable where the database cannot be used.
    """
    if store is None:
        from storage.sql.store import SqlStore

        store = await SqlStore.open(config.storage.url, ballast=config.storage.ballast)
    monitor, paced = monitor_of(config.server, store, role), adapters is None
    settings = ChatSettings(Current(config), await KnownThreads.read(store))
    if adapters is None:
        reopen = partial(store.read, reopened)
        adapters = platform_adapters(config, reopen, terminal=terminal)
    models = await known_models(config)
    litellm = LitellmModel()
    at = {each.name: each for each in adapters}
    base = foundation_of(
        settings, store, role, at, monitor, renderers=_renderers(config, store, at), paced=paced
    )
    agents = agents_of(base, model_access_of(base, models, litellm, model), tools)
    lanes = lanes_of(base, agents)
    panel = panel_of(base, agents)
    runner = runner_of(base, agents, lanes, panel)
    router = router_of(base, agents, lanes, panel, runner.due)
    # 150 MB, which only who calls models is to have.
    calls = role.works and needs_litellm(models)
    loading = Loading(partial(_load, litellm) if calls else None)
    return app_of(base, agents, lanes, runner, router, loading)


async def _load(litellm: LitellmModel) -> None:
    # Collections would find nothing in what is imported, for a quarter of the time (measured).
    gc.disable()
    try:
        await litellm.warm_up()
    finally:
        gc.enable()
    # What is loaded now stays. Garbage collections that went through all of it would hold up every
    # conversation for a quarter of a second (measured). Once in a process: a second time would
    # keep for ever what an earlier gateway of the process has left.
    if gc.get_freeze_count() == 0:
        gc.freeze()


def _renderers(config: Config, store: Store, at: Mapping[str, Adapter]) -> dict[str, Adapter]:
    """Who says how a text looks on a platform. A terminal beside other processes answers for their
    platforms too, without being connected to them."""
    beside_others = store.jobs is not None and set(at) == {TERMINAL.name} and configured(config)
    others = platform_adapters(config) if beside_others else []
    return {each.name: each for each in others} | dict(at)


def platform_adapters(
    config: Config, reopen: Reopen | None = None, *, terminal: bool = False
) -> list[Adapter]:
    """The configured platforms; the terminal where there is none, or it alone is wanted.
    `reopen`: what somebody who comes back to a terminal is told."""
    platforms = [] if terminal else configured(config)
    owners = [owner.partition(":") for owner in config.access.owners]
    ids = {name: [who for at, _, who in owners if at == name] for name in PLATFORMS}
    specs = command_specs()
    return [each.build(config, specs, reopen, ids[each.name]) for each in platforms or [TERMINAL]]
