"""The composition root: from a configuration to a running gateway. Only here are parts named."""

import asyncio
import gc
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from adapters.base import Adapter, Unavailable
from adapters.terminal.adapter import TerminalAdapter
from agent.demo import DEMO, demo_model, demo_specs
from agent.fallback import Fallback, KeyRotation
from agent.litellm_model import LitellmModel
from agent.model import Model, ModelSpec
from agent.models import Models, RoutedModel
from agent.retry import Retrying
from agent.scripted import ScriptedFiles
from agent.slots import Slots
from agent.subagent import Life, Subagents
from gateway.access import Access
from gateway.alternatives import answer_items
from gateway.budgets import Budgeted, Budgets
from gateway.commands import command_specs
from gateway.compact import COMPACT, compact_job
from gateway.compacting import Compacting
from gateway.config import TIERS, Config, ModelConfig
from gateway.crew import Crew
from gateway.delivery import Delivery
from gateway.desk import Desk
from gateway.edits import Edits
from gateway.fan import FAN, Fan
from gateway.follower import follow
from gateway.joining import Joining
from gateway.leaving import LEAVE, SUMMARY, Leaving
from gateway.live import Live
from gateway.menus import Menus
from gateway.parcels import Composer
from gateway.questions import Questions
from gateway.results import Results
from gateway.router import Router
from gateway.turns import Turns
from storage.errors import StoreError
from storage.store import Store

log = logging.getLogger(__name__)

SWEEP_EVERY = 30.0
TICK_EVERY = 1.0
"""Seconds between looks at what a question's policy makes due."""
PRESSES_KEPT = 150.0
"""Seconds. Telegram forgets presses that a bot did not fetch for longer (measured)."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
ALIVE = "alive"
LEAST_CAP = 30.0
NO_DRAWING = (None, "", "dumb", "unknown")
"""Values of TERM that say that the cursor cannot be moved."""


@dataclass
class App:
    config: Config
    store: Store
    adapters: Mapping[str, Adapter]
    serving: dict[str, Adapter]
    """The adapters that have started: only these can send."""
    turns: Turns
    router: Router
    questions: Questions
    delivery: Delivery
    warm_up: Callable[[], Awaitable[None]] | None = None
    """Loads what the first model call needs, once the platforms are served."""

    async def run(self, *, ready: "asyncio.Event | None" = None) -> None:
        """Serve until cancelled, or until every adapter has come to its end (a terminal does).

        Misconfigured where a platform refuses our credentials.
        """
        self.store.watch_outbox(self.delivery.notify)
        try:
            async with asyncio.TaskGroup() as group:
                housekeeping = [
                    group.create_task(self.delivery.run(), name="delivery"),
                    group.create_task(self._sweep(), name="sweep"),
                    group.create_task(self._tick(), name="tick"),
                    group.create_task(follow(self.store), name="follower"),
                    group.create_task(self._announce(ready), name="announce"),
                ]
                async with asyncio.TaskGroup() as platforms:
                    for adapter in self.adapters.values():
                        platforms.create_task(self._serve(adapter), name=adapter.name)
                await self._settle()
                for task in housekeeping:
                    task.cancel()
        finally:
            await self._close()

    async def _serve(self, adapter: Adapter) -> None:
        """Start an adapter, with patience where its platform is away, and receive."""
        pause = FIRST_PAUSE
        while True:
            try:
                who = await adapter.start()
                break
            except Unavailable as error:
                log.warning("%s: %s; again in %g s", adapter.name, error, pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
        log.info("%s: %s", adapter.name, who)
        self.serving[adapter.name] = adapter
        self.delivery.notify()
        await self.router.sweep()  # what was only taken in comes before what is new
        cursors = await self.store.read(lambda tx: dict(tx.directory.cursors(adapter.name)))
        await adapter.run(self.router.receive, cursors)

    async def _announce(self, ready: "asyncio.Event | None") -> None:
        await asyncio.gather(*(adapter.wait_ready() for adapter in self.adapters.values()))
        log.info("Ready: %s", ", ".join(self.adapters))
        self._warn_of_silence()
        if ready is not None:
            ready.set()
        if self.warm_up is not None:
            await self.warm_up()

    def _warn_of_silence(self) -> None:
        access = self.config.access
        if set(self.adapters) - {"terminal"} and not (access.allow or access.owners):
            log.warning("nobody may talk to the bot: fill allow or owners under [access]")

    async def _sweep(self) -> None:
        await self._repost()
        while True:
            try:
                await self.router.sweep()
                await self.store.run(lambda tx: tx.directory.set_fact(ALIVE, tx.now))
                self.delivery.notify()
            except StoreError:
                log.exception("the sweep failed; it is tried again in %g s", SWEEP_EVERY)
            await asyncio.sleep(SWEEP_EVERY)

    async def _repost(self) -> None:
        """Fresh copies of open questions where the old buttons cannot be trusted any more."""
        alive = await self.store.read(lambda tx: tx.directory.fact(ALIVE))
        away = time.time() - alive if alive is not None else 0.0
        platforms = {"terminal"} | ({"telegram"} if away > PRESSES_KEPT else set())
        for platform in sorted(platforms & set(self.adapters)):
            count = await self.store.run(partial(self.questions.repost, platform=platform))
            if count:
                log.info("%s: %d open questions were posted afresh", platform, count)

    async def _tick(self) -> None:
        """Escalate and expire questions when they are due."""
        due: float | None = 0.0
        while True:
            try:
                now = time.time()
                due = await self.store.read(self.questions.next_due)
                if due is not None and due <= now:
                    for session in await self.store.run(self.questions.tick):
                        self.turns.lanes.wake(session)
            except StoreError:
                log.exception("questions could not be looked after; again in %g s", TICK_EVERY)
            await asyncio.sleep(TICK_EVERY)

    async def _settle(self) -> None:
        """Wait until what came in is answered and sent."""
        while not (self.turns.lanes.idle() and self.delivery.idle()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    async def _close(self) -> None:
        await self.turns.lanes.close()
        await self.turns.live.close()
        await self.router.close()
        for adapter in self.adapters.values():
            await adapter.close()
        await self.store.close()


async def bootstrap(
    config: Config,
    *,
    adapters: Sequence[Adapter] | None = None,
    store: Store | None = None,
    model: Model | None = None,
) -> App:
    """Wire everything. What is given is used instead of what the configuration names.

    StoreUnavailable where the database cannot be used.
    """
    if store is None:
        from storage.sql import SqlStore

        store = await SqlStore.open(config.storage.url)
    by_platform = {
        adapter.name: adapter
        for adapter in (adapters if adapters is not None else platform_adapters(config))
    }
    models = Models(*model_specs(config))
    litellm = LitellmModel()
    keys = KeyRotation(litellm)
    guarded = partial(_guarded, models=models, budgets=Budgets(store, config.budgets))
    impatient = guarded(model if model is not None else routed_model(keys))
    patient = guarded(model if model is not None else routed_model(Retrying(keys)))
    app = _assemble(config, store, by_platform, models, patient, impatient)
    app.warm_up = partial(_load, litellm) if _needs_litellm(models) else None
    return app


async def _load(litellm: LitellmModel) -> None:
    await litellm.warm_up()
    # What is loaded now stays. Garbage collections that went through all of it would hold up every
    # conversation for a quarter of a second (measured).
    gc.freeze()


def _assemble(
    config: Config,
    store: Store,
    by_platform: Mapping[str, Adapter],
    models: Models,
    model: Model,
    judge_model: Model,
) -> App:
    """Make the gateway's own parts, each from those below it."""
    access = Access(config.access, config.escalation)
    composer = Composer(by_platform)
    menus = Menus(composer, access)
    questions = Questions(composer, access, config.escalation)
    crew = Crew(config, store, models)
    crew.subagents = subagents = Subagents(
        store,
        model,
        judge_model,
        models,
        questions,
        crew.child_tools,
        Slots(config.delegation.max_concurrent_children),
        life_of_children(config),
    )
    results = Results(store, subagents)
    serving: dict[str, Adapter] = {}
    compacting = Compacting(model, config.session)
    turns = Turns(
        store,
        model,
        crew.parent,
        results,
        questions,
        composer,
        menus,
        Joining(access, config.session),
        config.session,
        serving,
        subagents.active,
        Live(store, serving, subagents.active),
        compacting,
    )
    subagents.wake = turns.lanes.wake
    desk = Desk(
        store,
        config,
        models,
        turns,
        questions,
        composer,
        menus,
        serving,
        subagents.active,
    )
    leaving = Leaving(desk, model)
    turns.jobs |= {
        COMPACT: partial(compact_job, desk, compacting),
        SUMMARY: leaving.summarise,
        LEAVE: leaving.leave,
    }
    turns.jobs[FAN] = Fan(turns).run
    turns.answer_items = answer_items
    edits = Edits(desk)
    router = Router(
        store,
        turns,
        questions,
        composer,
        access,
        serving,
        subagents.active,
        menus,
        desk,
        edits.edited,
    )
    delivery = Delivery(store, serving)
    return App(config, store, by_platform, serving, turns, router, questions, delivery)


def life_of_children(config: Config) -> Life:
    """The cap has a floor, so that a typing error does not end every child at once."""
    cap = config.delegation.child_timeout_seconds
    return Life(
        cap=max(cap, LEAST_CAP) if cap > 0 else 0.0,
        stall=config.delegation.stall_seconds,
        diagnoses="logs",
    )


def _needs_litellm(models: Models) -> bool:
    own = (DEMO, "scripted")
    return any(spec.model.partition(":")[0] not in own for spec in models.specs())


def platform_adapters(config: Config) -> list[Adapter]:
    """The configured platforms; the terminal where there is none."""
    found: list[Adapter] = []
    specs = command_specs()
    if config.telegram is not None:
        from adapters.telegram.adapter import TelegramAdapter

        telegram = config.telegram
        found.append(
            TelegramAdapter(
                telegram.token.get_secret_value(),
                base_url=telegram.base_url,
                base_file_url=telegram.base_file_url,
                commands=specs,
            )
        )
    if config.discord is not None:
        from adapters.discord.adapter import DiscordAdapter

        discord = config.discord
        found.append(
            DiscordAdapter(
                discord.token.get_secret_value(),
                api_base=discord.api_base,
                gateway_url=discord.gateway_url,
                commands=specs,
            )
        )
    return found or [terminal_adapter()]


def terminal_adapter() -> Adapter:
    """The chat in this terminal: drawn in place where it is one that can be drawn on, else line by
    line."""
    specs = command_specs()
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") in NO_DRAWING:
        return TerminalAdapter(commands=specs)
    from adapters.terminal.live import LiveScreen

    return TerminalAdapter(LiveScreen(), specs)


def model_specs(config: Config) -> tuple[dict[str, ModelSpec], dict[str, ModelSpec]]:
    """Tiers and presets as configured; the demo model where there is no parent."""
    tiers = {
        name: _spec(name, given)
        for name in TIERS
        if (given := getattr(config.models, name)) is not None
    }
    presets = {name: _spec(name, given) for name, given in config.models.presets.items()}
    return {**demo_specs(), **tiers} if "parent" not in tiers else tiers, presets


def _spec(name: str, given: ModelConfig) -> ModelSpec:
    keys = tuple(key.get_secret_value() for key in given.api_keys)
    key = given.api_key.get_secret_value() if given.api_key is not None else None
    more = given.model_dump(exclude={"api_key", "api_keys"})
    return ModelSpec(name=name, api_key=keys[0] if keys else key, api_keys=keys, **more)


def _guarded(model: Model, models: Models, budgets: Budgets) -> Model:
    """Each model within the budgets, by its own price; then the fallbacks."""
    return Fallback(Budgeted(model, budgets), models)


def routed_model(default: Model) -> RoutedModel:
    """Bough's own models by their names, every other by `default`."""
    return RoutedModel(default, {DEMO: demo_model(), "scripted": ScriptedFiles()})


def plain_model() -> Model:
    """Every model that can be configured, without patience for faults."""
    return routed_model(LitellmModel())
