"""Who works here: the parent agent and its children, with their models, tools and what they are
handed."""

import asyncio
from dataclasses import dataclass, replace

from agent.delegation.call.caller import Caller, Limits
from agent.delegation.call.offer import offer
from agent.delegation.call.planner import HandOverRequest, Planner
from agent.delegation.children.prompts import COMPANY, PARENT, Means
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
from agent.models.registry import RANKS, Models
from agent.runtime.loop import Agent
from agent.settings import DelegationConfig, ToolsConfig, resolve_template
from agent.tools.base import Call, Tool, Toolset, toolbox
from agent.tools.files import file_tools, page_for
from agent.tools.think import ThinkTool
from agent.tools.workspace import FileState, Workspace
from storage.records.delegations import Delegation
from storage.store import Store

LOOKING = frozenset({Toolset.FILE, Toolset.TERMINAL})
"""Toolsets that read files or run commands: a child without any has no use for what was found."""


@dataclass(frozen=True, slots=True)
class AgentFactory:
    """Makes agents for whoever runs them: what they delegate is run by the `subagents` given."""

    store: Store
    models: Models
    delegation: DelegationConfig
    tools: ToolsConfig
    max_iterations: int
    """Of the parent, in one turn."""
    more_tools: tuple[Tool, ...] = ()
    """What parent and children may use besides."""

    def parent(self, subagents: Subagents, session: int, model: str | None = None) -> Agent:
        """The agent that people talk to, for one turn of a session: with its own model, or with one
        by its name, where that is known."""
        toolsets = frozenset(self.tools.toolsets)
        spec = (self.models.find(model) if model else None) or self.models.tier("parent")
        caller = Caller(RANKS["parent"], 0, toolsets, prices=self.models.prices(spec))
        tools = (ThinkTool(), *file_tools(self._workspace), *self.more_tools)
        given = [tool for tool in tools if tool.traits.given_with(toolsets)]
        return Agent(
            tier="parent",
            spec=spec,
            system=PARENT,
            company=COMPANY,
            tools=toolbox(*given, self._delegate(subagents, caller)),
            max_iterations=self.max_iterations,
            max_calls=self.delegation.max_calls_per_reply,
        )

    def child_tools(
        self, subagents: Subagents, delegation: Delegation, task: Task, activity: Activity
    ) -> Means:
        """What a worker works with: its toolsets, and, as an orchestrator, children of its own."""
        known = (ThinkTool(), *self._child_files(task, activity), *self.more_tools)
        tools: list[Tool] = [
            tool
            for tool in known
            if tool.traits.given_with(task.toolsets) and not tool.traits.parent_only
        ]
        if task.role == "orchestrator":
            spec = self.models.find(task.worker) or self.models.tier("worker")
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
        workspace = str(root) if Toolset.FILE in task.toolsets else ""
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

    def _child_files(self, task: Task, activity: Activity) -> tuple[Tool, ...]:
        """A child works in its parent's folder; what it was handed it need not read again."""
        handed = cache(task.handed) if task.handed is not None else {}

        def cached(_: Call, path: str) -> tuple[str, FileState] | None:
            return handed.get(path)

        def seen(_: Call, what: str, path: str) -> None:
            activity.touched(what, path)

        spec = self.models.find(task.worker) or self.models.tier("worker")
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
        spec = self.models.find(request.worker) or self.models.tier("worker")
        limit = budget(spec.context_window, self.delegation.handoff_budget)
        if handoff is not None:
            hydrated = await self._hydrated(handoff, request.home, limit)
        elif (most := self.delegation.handoff_auto_tokens) and LOOKING.intersection(
            request.toolsets
        ):
            path = await self.store.read(
                lambda tx: tx.tree.context_path(tx.tree.session(request.session).leaf)
            )
            task = f"{request.goal}\n{request.context}"
            found = await asyncio.to_thread(automatic, path, task)
            hydrated = await self._hydrated(found, request.home, min(limit, most))
            hydrated = replace(hydrated, cuts=())
        else:
            return None
        return hydrated if hydrated != Hydrated() else None

    async def _hydrated(self, handoff: Handoff, home: int, limit: int) -> Hydrated:
        """With the files' contents, in at most so many tokens."""
        read: Read = _no_files
        if Toolset.FILE in self.tools.toolsets:
            read = reader(self._workspace(home))
        return await asyncio.to_thread(lambda: prune(hydrate(handoff, read), limit))

    def _workspace(self, session: int) -> Workspace:
        return Workspace(resolve_template(self.tools.workspace, session))


def _no_files(_: str) -> str:
    return "the file toolset is not switched on"
