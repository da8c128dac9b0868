"""Models, agents and what they are given: tools, limits, children."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent.compaction.service import Compacting
from agent.delegation.children.child_runner import ChildRunner, Life
from agent.delegation.children.slots import TOPIC as SLOTS
from agent.delegation.children.slots import Semaphores, Slots
from agent.delegation.runner import Subagents
from agent.factory import AgentFactory
from agent.models.base import Model
from agent.models.fallback import KeyRotation
from agent.models.litellm.model import LitellmModel
from agent.models.registry import Models
from agent.models.retry import Retrying
from agent.models.spending.budgets import Budgets
from agent.runtime.steps.agent import Agent
from agent.tools.approval.guard import Guard, Redact
from agent.tools.approval.rules import Rules
from agent.tools.base import Kit, Tool
from agent.tools.terminal.named_files import Written
from gateway.access.roles import Access
from gateway.assembly.foundation import Foundation
from gateway.configuration.config import Config
from gateway.configuration.current import Current
from gateway.configuration.secret_values import all_secrets
from gateway.models import guarded, routed_model
from gateway.monitoring.models import ObservedAttempts
from gateway.toolkits import Toolkits
from storage.blobs.choosing import blobs_of
from storage.interchange.redaction import known_redactor
from storage.store import Store

LEAST_CAP = 30.0
"""Seconds that a child may live at the least, where that is limited."""
SHORTEST_HIDDEN = 8
"""Characters of a secret that is taken out of what tools give back."""


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The models, and two ways to call them, each with budgets and the content of files."""

    models: Models
    patient: Model
    """Calls that fail are made again."""
    impatient: Model


@dataclass(frozen=True, slots=True)
class Agents:
    model_access: ModelAccess
    toolkits: Toolkits
    children: Subagents
    compacting: Compacting
    parent: Callable[[int, str, str | None], Agent]
    """The parent agent of a session in a conversation (its address): with its own model, or one by
    its name."""

    async def ready_parent(self, session: int, address: str, model: str | None) -> Agent:
        """The same, once tools are there that have only just been started."""
        await self.toolkits.ready(address)
        return self.parent(session, address, model)


def model_access_of(
    base: Foundation, models: Models, litellm: LitellmModel, given: Model | None
) -> ModelAccess:
    """`given`: a model that is called instead of those that the configuration names."""
    config, store, observer = base.config, base.store, base.monitor.observer
    keys = KeyRotation(ObservedAttempts(litellm, observer))
    content = blobs_of(config.storage.url, store).get
    budgets = Budgets(store, base.live.part(lambda now: now.budgets))
    limited = partial(guarded, models=models, budgets=budgets, content=content, observer=observer)
    impatient = limited(given if given is not None else routed_model(keys))
    patient = limited(given if given is not None else routed_model(Retrying(keys)))
    return ModelAccess(models, patient, impatient)


def agents_of(base: Foundation, model_access: ModelAccess, tools: Sequence[Tool]) -> Agents:
    """`tools`: those that every agent gets besides."""
    config, store = base.config, base.store
    toolkits = Toolkits.of(base.settings, store, redactor_of(config), base.switchboard)
    kits = toolkits.kits(store, base.outbound.composer, base.access, tuple(tools))
    factory = _factory(base, model_access.models, kits, toolkits.written)
    summary = model_access.models.find(config.session.summary_model or "")
    session = base.live.part(lambda now: now.session)
    compacting = Compacting(model_access.patient, session, summary)
    children = Subagents(
        store,
        model_access.models,
        base.questions,
        factory.child_tools,
        Slots(store, Semaphores(config.delegation.max_concurrent_children)),
        _child_runner(base, model_access, compacting),
    )
    base.switchboard.on(SLOTS, children.slots.heard)
    return Agents(model_access, toolkits, children, compacting, partial(factory.parent, children))


def _child_runner(
    base: Foundation, model_access: ModelAccess, compacting: Compacting
) -> ChildRunner:
    return ChildRunner(
        base.store,
        model_access.models,
        model_access.patient,
        model_access.impatient,
        base.questions,
        compacting,
        life_of_children(base.config),
        base.config.delegation.max_calls_per_reply,
    )


def _factory(
    base: Foundation, models: Models, kits: tuple[Kit, ...], written: Written
) -> AgentFactory:
    config = base.config
    return AgentFactory(
        base.store,
        models,
        config.delegation,
        config.tools,
        base.settings,
        base.live.part(lambda now: now.session.max_iterations),
        replace(guard_of(base.live, base.store, base.access), ran=base.monitor.observer.tool_ran),
        kits,
        written,
    )


def guard_of(live: Current[Config], store: Store, access: Access) -> Guard:
    """It looks at the rules, and at who may approve, as they are when a tool is called."""
    rules = live.part(lambda now: Rules(now.tools.rules))
    return Guard(store, rules, redactor_of(live.now), access.lets_run)


def redactor_of(config: Config) -> Redact:
    """Short secrets, such as the word that some local models want for a key, are in every text."""
    return known_redactor(all_secrets(config), SHORTEST_HIDDEN)


def life_of_children(config: Config) -> Life:
    """The cap has a floor, so that a typing error does not end every child at once."""
    cap = config.delegation.child_timeout_seconds
    return Life(
        cap=max(cap, LEAST_CAP) if cap > 0 else 0.0,
        stall=config.delegation.stall_seconds,
        diagnoses="logs",
    )
