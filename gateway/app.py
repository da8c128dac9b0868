"""The composition root: from a configuration to a running gateway. Only here are parts named."""

import gc
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from adapters.base import Adapter
from adapters.platforms import PLATFORMS, TERMINAL, Reopen, configured, rates_of
from agent.compaction.service import Compacting
from agent.delegation.children.supervision import Slots
from agent.delegation.pending_calls import Results
from agent.delegation.runner import Life, Subagents
from agent.factory import AgentFactory
from agent.models.base import Model
from agent.models.budgets import Budgets
from agent.models.fallback import KeyRotation
from agent.models.litellm.model import LitellmModel
from agent.models.registry import Models
from agent.models.retry import Retrying
from agent.runtime.loop import Agent
from agent.tools.approval.guard import Guard, Redact
from agent.tools.approval.rules import Rules
from agent.tools.base import Kit, Tool
from gateway.access.quota import Quota
from gateway.access.roles import Access
from gateway.chat_settings import ChatSettings
from gateway.commands.context import CommandContext, OfferedTools
from gateway.commands.jobs import JobContext
from gateway.commands.registry import command_specs, jobs
from gateway.commands.tree.siblings import answer_items
from gateway.config import Config
from gateway.config_secrets import all_secrets
from gateway.inbound.completions import Completions
from gateway.inbound.edits import Edits
from gateway.inbound.router import Router
from gateway.inbound.threads import Threads
from gateway.loading import Loading
from gateway.media.incoming import Incoming
from gateway.models import guarded, known_models, needs_litellm, routed_model
from gateway.outbound.composer import Composer
from gateway.outbound.connections import Connections
from gateway.outbound.delivery import Delivery
from gateway.outbound.out_files import OutFiles
from gateway.outbound.pace import Pace
from gateway.platform_supervisor import PlatformSupervisor
from gateway.questions.service import Questions
from gateway.schedules.due import DueSchedules
from gateway.schedules.firing import Firing
from gateway.service import App
from gateway.status.agents_panel import Live
from gateway.status.notices import Notices
from gateway.status.signs_of_life import SignsOfLife
from gateway.streaming.live_answer import Streaming
from gateway.toolkits import Toolkits, listener_of
from gateway.turns.answer import AgentAnswer
from gateway.turns.arrivals import Arrivals
from gateway.turns.busy_policy import BusyPolicy
from gateway.turns.control import SessionControl
from gateway.turns.failures import Failures
from gateway.turns.posts import TurnPosts
from gateway.turns.runner import TurnRunner
from gateway.turns.scheduler import InProcessScheduler
from gateway.turns.turn import Turn
from gateway.views.reopening import reopened
from storage.blobs.choosing import blobs_of
from storage.interchange.redaction import known_redactor
from storage.store import Store

log = logging.getLogger(__name__)

LEAST_CAP = 30.0
SHORTEST_HIDDEN = 8
"""Characters of a secret that is taken out of what tools give back."""


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
    pace = Pace(rates_of(config) if adapters is None else {})
    config.threads.update(await store.read(lambda tx: tx.directory.threads()))
    if adapters is None:
        reopen = partial(store.read, reopened)
        adapters = platform_adapters(config, reopen, terminal=terminal)
    models = await known_models(config)
    litellm = LitellmModel()
    keys = KeyRotation(litellm)
    content = blobs_of(config.storage.url, store).get
    budgets = Budgets(store, config.budgets)
    limited = partial(guarded, models=models, budgets=budgets, content=content)
    impatient = limited(model if model is not None else routed_model(keys))
    patient = limited(model if model is not None else routed_model(Retrying(keys)))
    return _assemble(
        config,
        store,
        {adapter.name: adapter for adapter in adapters},
        models,
        patient,
        impatient,
        tuple(tools),
        Loading(partial(_load, litellm) if needs_litellm(models) else None),
        pace,
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
    pace: Pace,
) -> App:
    """Make the gateway's own parts, each from those below it."""
    access = Access(config.access, config.escalation, config.tools.approvers)
    settings = ChatSettings(config)
    composer = Composer(by_platform, config.session.max_answer_messages)
    questions = Questions(composer, access, config.escalation)
    policy = BusyPolicy(access, config.session, settings.busy_at)
    failures = Failures(store, composer)
    connections, scheduler, running = Connections(), InProcessScheduler(), dict[int, Turn]()
    notices = Notices(connections, pace)
    toolkits = Toolkits.of(config, store, redactor_of(config))
    factory = _factory(config, store, models, toolkits.kits(store, composer, access, tools))
    compacting = Compacting(model, config.session, models.find(config.session.summary_model or ""))
    children = _subagents(config, store, models, model, judge_model, questions, factory, compacting)
    panel = Live(store, notices, composer, children.active)
    parent = partial(factory.parent, children)
    control = SessionControl(store, scheduler, questions, policy, running, toolkits.terminal.stop)
    offered = OfferedTools(parent, toolkits.servers.states)
    context = CommandContext(
        store, settings, models, control, questions, composer, connections, panel, offered
    )
    results = Results(store, children)
    posts = TurnPosts(composer, OutFiles(composer), answer_items, settings.thoughts_at)
    shown = (posts, Streaming(store, notices, composer, settings.stream_at))
    ready = partial(_ready_parent, parent, toolkits)
    answer = AgentAnswer(store, model, ready, results, questions, compacting, policy, *shown)
    work = JobContext(store, model, parent, compacting, composer, config.tools)
    signs = SignsOfLife(store, notices, composer, panel, toolkits.terminal.seen)
    incoming = _incoming(config, store, connections, composer, toolkits)
    made = (answer.run, jobs(work), running, toolkits.opening, incoming)
    runner = TurnRunner(store, failures, policy, results, signs, *made)
    talk = Arrivals(control, runner, Quota(config.limits)).talk
    group = (Threads(settings, access), Completions(context, access))
    router = Router(context, access, Edits(context).edited, talk, failures, notices, *group)
    delivery = Delivery(store, connections, pace, config.threads)
    rest = (composer, access.owners, delivery.notify, loading)
    platforms = PlatformSupervisor(by_platform, connections, store, router, *rest)
    schedules = DueSchedules(store, Firing(access, composer))
    parts = (router, questions, delivery, loading, toolkits, schedules)
    return App(config, store, platforms, scheduler, runner, *parts)


def _incoming(
    config: Config,
    store: Store,
    connections: Connections,
    composer: Composer,
    toolkits: Toolkits,
) -> Incoming:
    return Incoming(
        store,
        blobs_of(config.storage.url, store),
        connections,
        composer,
        config.toolsets_at,
        toolkits.workspace,
        listener_of(config),
    )


async def _ready_parent(
    parent: Callable[[int, str, str | None], Agent],
    toolkits: Toolkits,
    session: int,
    address: str,
    model: str | None,
) -> Agent:
    await toolkits.ready(address)
    return parent(session, address, model)


def _factory(config: Config, store: Store, models: Models, kits: tuple[Kit, ...]) -> AgentFactory:
    return AgentFactory(
        store,
        models,
        config.delegation,
        config.tools,
        config.toolsets_at,
        config.session.max_iterations,
        guard_of(config, store),
        kits,
        config.instructions_at,
        config.model_at,
    )


def guard_of(config: Config, store: Store) -> Guard:
    return Guard(store, Rules(config.tools.rules), redactor_of(config))


def redactor_of(config: Config) -> Redact:
    """Short secrets, such as the word that some local models want for a key, are in every text."""
    return known_redactor(all_secrets(config), SHORTEST_HIDDEN)


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
