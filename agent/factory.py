"""Who works here: the parent agent and its children, with their models, tools and what they are
handed."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Protocol

from agent.delegation.call.caller import Caller, Limits
from agent.delegation.call.offer import offer
from agent.delegation.call.planner import HandOverRequest, Planner
from agent.delegation.children.prompts import COMPANY, Means, parent_prompt
from agent.delegation.children.supervision import Activity
from agent.delegation.core.events import Task
from agent.delegation.handoff.automatic import automatic
from agent.delegation.handoff.model import (
    Handoff,
    Hydrated,
    Read,
    cache,
    hydrate,
    parse_handoff,
    reader,
)
from agent.delegation.handoff.prune import budget, prune
from agent.delegation.runner import Subagents
from agent.delegation.tool import DelegateTool
from agent.models.base import ModelSpec
from agent.models.registry import RANKS, Models
from agent.runtime.steps.agent import Agent
from agent.settings import DelegationConfig, ToolsConfig, resolve_template
from agent.tools.approval.guard import Guard
from agent.tools.base import Call, Kit, Setting, Tool, Toolset, toolbox, with_parts
from agent.tools.files.common import FILE_THREADS
from agent.tools.files.tools import ReadFile, file_tools, page_for
from agent.tools.files.workspace import FileState, Workspace
from agent.tools.terminal.named_files import Written
from agent.tools.think import ThinkTool
from storage.records.delegations import Delegation
from storage.store import Store

LOOKING = frozenset({Toolset.FILE_READ, Toolset.FILE, Toolset.TERMINAL})
"""Toolsets that read files or run commands: a child without any has no use for what was found."""


class ChatChoices(Protocol):
    """What holds in a conversation, by its address."""

    def toolsets_at(self, address: str) -> frozenset[str]:
        """Those that are switched on."""
        ...

    def instructions_at(self, address: str) -> str:
        """What the operator tells the parent besides. Children are not told: what they are to know
        stands in their task."""
        ...

    def model_at(self, address: str) -> str | None:
        """The name of the parent's model, where it is not the tier's."""
        ...


@dataclass(frozen=True, slots=True)
class AgentFactory:
    """Makes agents for whoever runs them: what they delegate is run by the `subagents` given."""

    store: Store
    models: Models
    delegation: DelegationConfig
    tools: ToolsConfig
    chats: ChatChoices
    max_iterations: Callable[[], int]
    """Of the parent, in one turn."""
    guard: Guard
    """Stands before every tool that is given to anybody."""
    kits: tuple[Kit, ...] = ()
    """Make what parent and children may use besides thoughts, files and children of their own."""
    written: Written = field(default_factory=Written)
    """Told what tools for files write."""

    def parent(
        self, subagents: Subagents, session: int, address: str, model: str | None = None
    ) -> Agent:
        """The agent that people talk to, for one turn of a session in a conversation: with the
        conversation's model, or with one by its name, where that is known."""
        toolsets = self.chats.toolsets_at(address)
        spec = self._parent_spec(address, model)
        caller = Caller(RANKS["parent"], 0, toolsets, prices=self.models.prices(spec))
        setting = Setting(session, address, child=False, window=spec.context_window)
        tools = (ThinkTool(), *self._files(session), *self._more(setting))
        given = [
            self.guard.before(tool, setting) for tool in tools if tool.traits.given_with(toolsets)
        ]
        return Agent(
            tier="parent",
            spec=spec,
            system=parent_prompt(self.chats.instructions_at(address)),
            company=COMPANY,
            tools=toolbox(*given, self._delegate(subagents, caller)),
            max_iterations=self.max_iterations(),
            max_calls=self.delegation.max_calls_per_reply,
        )

    def _parent_spec(self, address: str, model: str | None) -> ModelSpec:
        named = (self.models.find(name) for name in (model, self.chats.model_at(address)) if name)
        return next(filter(None, named), self.models.tier("parent"))

    def child_tools(
        self, subagents: Subagents, delegation: Delegation, task: Task, activity: Activity
    ) -> Means:
        """What a worker works with: its toolsets, and, as an orchestrator, children of its own."""
        spec = self.models.of_task(task.worker)
        setting = Setting(task.home, delegation.address, child=True, window=spec.context_window)
        known = (ThinkTool(), *self._child_files(task, activity), *self._more(setting))
        tools: list[Tool] = [
            self.guard.before(tool, setting, task.goal)
            for tool in known
            if tool.traits.given_with(task.toolsets) and not tool.traits.parent_only
        ]
        if task.role == "orchestrator":
            toolsets = frozenset(task.toolsets)
            rank, prices = self.models.rank(spec), self.models.prices(spec)
            caller = Caller(rank, task.depth, toolsets, home=task.home, prices=prices)
            tools.append(
                self._delegate(
                    subagents,
                    caller,
                    root=delegation.root,
                    top=delegation.top or delegation.id,
                    above=activity,
                )
            )
        root = self._workspace(task.home).root.absolute()
        sees_files = Toolset.FILE_READ in with_parts(task.toolsets)
        workspace = str(root) if sees_files else ""
        return Means(toolbox(*tools), workspace, task.max_iterations)

    def _delegate(
        self,
        subagents: Subagents,
        caller: Caller,
        *,
        root: int | None = None,
        top: int | None = None,
        above: Activity | None = None,
    ) -> DelegateTool:
        section = self.delegation
        limits = Limits(
            max_concurrent_children=section.max_concurrent_children,
            max_per_turn=section.max_per_turn,
            max_iterations=section.max_iterations,
            max_escalation_depth=section.max_escalation_depth,
            max_spawn_depth=section.max_spawn_depth,
            orchestrator_enabled=section.orchestrator_enabled,
            escalation_model=section.escalation_model,
            require_default=section.require_default,
            allow_dearer=section.allow_dearer,
        )
        planner = Planner(self.models, limits, caller, self._hand_over)
        offered = offer(self.models, limits, caller)
        return DelegateTool(subagents, planner, offered, root=root, top=top, above=above)

    def _more(self, setting: Setting) -> Iterable[Tool]:
        return chain.from_iterable(kit(setting) for kit in self.kits)

    def _files(self, session: int) -> tuple[Tool, ...]:
        def seen(_: Call, what: str, path: str) -> None:
            if what == "wrote":
                self.written.note(session, path, "the agent")

        return file_tools(self._workspace, seen=seen)

    def _child_files(self, task: Task, activity: Activity) -> tuple[Tool, ...]:
        """A child works in its parent's folder; what it was handed it need not read again."""
        handed = cache(task.handed) if task.handed is not None else {}

        def cached(_: Call, path: str) -> tuple[str, FileState] | None:
            return handed.get(path)

        def seen(_: Call, what: str, path: str) -> None:
            activity.touched(what, path)
            if what == "wrote":
                self.written.note(task.home, path, "a child of the agent")

        spec = self.models.of_task(task.worker)
        return file_tools(
            lambda _: self._workspace(task.home),
            seen=seen,
            cached=cached,
            page_bytes=page_for(spec.context_window),
        )

    async def _hand_over(self, request: HandOverRequest) -> Hydrated | None:
        """What the parent hands over, or, where it says nothing, what it looked at last that has to
        do with the task; what is left out of that was not asked for, and nobody is told."""
        handoff = await asyncio.to_thread(parse_handoff, request.given)
        spec = self.models.of_task(request.worker)
        limit = budget(spec.context_window, self.delegation.handoff_budget)
        if handoff is not None:
            hydrated = await self._hydrated(handoff, request, limit)
        elif (most := self.delegation.handoff_auto_tokens) and LOOKING.intersection(
            request.toolsets
        ):
            path = await self.store.read(
                lambda tx: tx.tree.context_path(tx.tree.session(request.session).leaf)
            )
            task = f"{request.goal}\n{request.context}"
            found = await asyncio.to_thread(automatic, path, task)
            hydrated = await self._hydrated(found, request, min(limit, most))
            hydrated = replace(hydrated, cuts=())
        else:
            return None
        return hydrated if hydrated != Hydrated() else None

    async def _hydrated(self, handoff: Handoff, request: HandOverRequest, limit: int) -> Hydrated:
        """With the files' contents, in at most so many tokens."""
        read: Read = _no_files
        if request.reads:
            read = partial(self._read, reader(self._workspace(request.home)))
        return await FILE_THREADS.run(
            f"session {request.home}", lambda: prune(hydrate(handoff, read), limit)
        )

    def _read(self, read: Read, path: str) -> tuple[str, FileState] | str:
        """What is handed over gets past no rule, and neither do secrets in it. Blocks."""
        if not self.guard.lets_read(ReadFile.name, path):
            return "a rule of [[tools.rules]] does not let it be handed over"
        found = read(path)
        if isinstance(found, str):
            return found
        text, state = found
        return self.guard.redact(text), state

    def _workspace(self, session: int) -> Workspace:
        return Workspace(resolve_template(self.tools.workspace, session))


def _no_files(_: str) -> str:
    return "the file toolset is not switched on"
