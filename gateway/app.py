"""The composition root: from a configuration to a running gateway. Only here are parts named."""

import asyncio
import gc
import logging
from collections.abc import Mapping, Sequence
from functools import partial

from adapters.base import Adapter
from adapters.platforms import TERMINAL, Reopen, configured
from agent.compaction.service import Compacting
from agent.delegation.children.supervision import Slots
from agent.delegation.pending_calls import Results
from agent.delegation.runner import Life, Subagents
from agent.factory import AgentFactory
from agent.models.base import Model, ModelSpec
from agent.models.budgets import Budgeted, Budgets
from agent.models.demo import DEMO, demo_model, demo_specs
from agent.models.fallback import Fallback, KeyRotation
from agent.models.litellm.model import LitellmModel
from agent.models.litellm.prices import listed_prices
from agent.models.registry import Models, RoutedModel
from agent.models.retry import Retrying
from agent.models.scripted import ScriptedFiles
from agent.settings import TIERS, ModelConfig
from agent.tools.base import Tool
from gateway.access.roles import Access
from gateway.commands.context import CommandContext
from gateway.commands.jobs import JobContext
from gateway.commands.registry import command_specs, jobs
from gateway.commands.tree.siblings import answer_items
from gateway.config import Config
from gateway.inbound.edits import Edits
from gateway.inbound.router import Router
from gateway.loading import Loading
from gateway.outbound.composer import Composer
from gateway.outbound.connections import Connections
from gateway.outbound.delivery import Delivery
from gateway.platform_supervisor import PlatformSupervisor
from gateway.questions.service import Questions
from gateway.service import App
from gateway.status.agents_panel import Live
from gateway.status.notices import Notices
from gateway.status.signs_of_life import SignsOfLife
from gateway.turns.answer import AgentAnswer
from gateway.turns.arrivals import Arrivals
from gateway.turns.busy_policy import BusyPolicy
from gateway.turns.control import SessionControl
from gateway.turns.failures import Failures
from gateway.turns.runner import TurnRunner
from gateway.turns.scheduler import InProcessScheduler
from gateway.turns.turn import Turn
from gateway.views.reopening import reopened
from storage.store import Store

log = logging.getLogger(__name__)

LEAST_CAP = 30.0


async def bootstrap(
    config: Config,
    *,
    adapters: Sequence[Adapter] | None = None,
    terminal: bool = False,
    store: Store | None = None,
    model: Model | None = None,
    tools: Sequence[Tool] = (),
) -> App:
    """Wire everything. What is given is used instead of what the configuration names; `terminal`:
    the chat in this terminal, whatever platforms are configured; `tools` are given to models
    besides.

    StoreUnavailable where the database cannot be used.
    """
    if store is None:
        from storage.sql.store import SqlStore

        store = await SqlStore.open(config.storage.url)
    if adapters is None:
        reopen = partial(store.read, reopened)
        adapters = platform_adapters(config, reopen, terminal=terminal)
    models = await known_models(config)
    litellm = LitellmModel()
    keys = KeyRotation(litellm)
    guarded = partial(_guarded, models=models, budgets=Budgets(store, config.budgets))
    impatient = guarded(model if model is not None else routed_model(keys))
    patient = guarded(model if model is not None else routed_model(Retrying(keys)))
    return _assemble(
        config,
        store,
        {adapter.name: adapter for adapter in adapters},
        models,
        patient,
        impatient,
        tuple(tools),
        Loading(partial(_load, litellm) if _needs_litellm(models) else None),
    )


async def _load(litellm: LitellmModel) -> None:
    # Collections would find nothing in what is imported, for a quarter of the time (measured).
    gc.disable()
    try:
        await litellm.warm_up()
    finally:
        gc.enable()
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
    tools: tuple[Tool, ...],
    loading: Loading,
) -> App:
    """Make the gateway's own parts, each from those below it."""
    access = Access(config.access, config.escalation)
    composer = Composer(by_platform, config.session.max_answer_messages)
    questions = Questions(composer, access, config.escalation)
    policy = BusyPolicy(access, config.session)
    failures = Failures(store, composer)
    connections, scheduler = Connections(), InProcessScheduler()
    running: dict[int, Turn] = {}
    notices = Notices(connections)
    factory = AgentFactory(
        store, models, config.delegation, config.tools, config.session.max_iterations, tools
    )
    writer = models.find(config.session.summary_model or "")
    compacting = Compacting(model, config.session, writer)
    subagents = _subagents(
        config, store, models, model, judge_model, questions, factory, compacting
    )
    panel = Live(store, notices, composer, subagents.active)
    control = SessionControl(store, scheduler, questions, policy, running)
    context = CommandContext(
        store, config, models, control, questions, composer, connections, panel
    )
    results = Results(store, subagents)
    parent = partial(factory.parent, subagents)
    answer = AgentAnswer(
        store, model, parent, results, questions, compacting, composer, policy, answer_items
    )
    work = JobContext(store, models, model, parent, compacting, composer, config.tools)
    signs = SignsOfLife(store, notices, composer, panel)
    runner = TurnRunner(store, failures, policy, results, signs, answer.run, jobs(work), running)
    talk = Arrivals(control, runner).talk
    router = Router(context, access, Edits(context).edited, talk, failures, notices)
    delivery = Delivery(store, connections)
    told, woken = config.access.owners, delivery.notify
    platforms = PlatformSupervisor(
        by_platform, connections, store, router, composer, told, woken, loading
    )
    return App(config, store, platforms, scheduler, runner, router, questions, delivery, loading)


def _subagents(
    config: Config,
    store: Store,
    models: Models,
    model: Model,
    judge_model: Model,
    questions: Questions,
    factory: AgentFactory,
    compacting: Compacting,
) -> Subagents:
    return Subagents(
        store,
        model,
        judge_model,
        models,
        questions,
        factory.child_tools,
        compacting,
        Slots(config.delegation.max_concurrent_children),
        life_of_children(config),
        config.delegation.max_calls_per_reply,
    )


def life_of_children(config: Config) -> Life:
    """The cap has a floor, so that a typing error does not end every child at once."""
    cap = config.delegation.child_timeout_seconds
    return Life(
        cap=max(cap, LEAST_CAP) if cap > 0 else 0.0,
        stall=config.delegation.stall_seconds,
        diagnoses="logs",
    )


def _needs_litellm(models: Models) -> bool:
    return not all(_is_own(spec) for spec in models.specs())


def _is_own(spec: ModelSpec) -> bool:
    return spec.model.partition(":")[0] in (DEMO, "scripted")


def platform_adapters(
    config: Config, reopen: Reopen | None = None, *, terminal: bool = False
) -> list[Adapter]:
    """The configured platforms; the terminal where there is none, or it alone is wanted.
    `reopen`: what somebody who comes back to a terminal is told."""
    platforms = [] if terminal else configured(config)
    return [each.build(config, command_specs(), reopen) for each in platforms or [TERMINAL]]


async def known_models(config: Config) -> Models:
    """The configured models, with litellm's prices where the configuration has none."""
    tiers, presets = model_specs(config)
    unpriced = [
        spec.model
        for spec in (*tiers.values(), *presets.values())
        if spec.input_cost is None and spec.output_cost is None and not _is_own(spec)
    ]
    return Models(tiers, presets, await asyncio.to_thread(listed_prices, unpriced))


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
