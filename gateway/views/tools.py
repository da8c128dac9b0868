"""Which tools an agent has in a conversation, and what becomes of their calls, as people read it:
/tools. Pure."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.settings import ToolRule
from agent.text.markdown import bounded, escape, literal
from agent.tools.approval.answer import holds
from agent.tools.approval.guard import Guarded, Standing
from agent.tools.approval.patterns import means_anything
from agent.tools.base import Tool
from agent.tools.mcp.server import State
from storage.records.tools.grants import ANY, Grant

_PATTERN = 80
_NAME = 100
_WHY = 200
_RULES = 6
"""Rules of one tool that are shown."""
_FILES = 4
"""Files of one grant that are named."""
_VERBS = {"allow": "runs", "ask": "asks", "deny": "never runs"}


@dataclass(frozen=True, slots=True)
class GrantState:
    """By what is said whether a grant holds."""

    now: float
    """Unix seconds."""
    may_approve: Callable[[str], bool]
    """Whether somebody may let calls run."""

    def holds(self, grant: Grant) -> bool:
        return holds(grant, self.now, self.may_approve)


def tools_text(
    toolsets: Collection[str],
    tools: Mapping[str, Tool],
    servers: Sequence[State],
    grants: Sequence[Grant],
    state: GrantState,
) -> str:
    """`servers`: how each MCP server is that is on here."""
    parts = [
        _toolsets(toolsets),
        "\n".join(f"- {literal(name, _NAME)}: {_becomes(tool)}" for name, tool in tools.items()),
        "\n".join(_servers(servers)),
        "\n".join(_grants(grants, state)),
    ]
    return "\n\n".join(part for part in parts if part)


def grant_line(grant: Grant) -> str:
    """A call that was allowed, by whom and when."""
    who = escape(grant.granted_name or grant.granted_by)
    day = time.strftime("%Y-%m-%d", time.gmtime(grant.time))
    return f"{literal(grant.tool, _NAME)} · {literal(grant.shown, 200)} · {who}, {day}"


def _grant_details(grant: Grant, state: GrantState) -> str:
    """Until when, what it covers, how often it was used."""
    used = "once" if grant.used == 1 else f"{grant.used:,} times"
    parts = [_until(grant, state), grant.runs, _covered(grant), f"used {used}"]
    return " · ".join(part for part in parts if part)


def _until(grant: Grant, state: GrantState) -> str:
    if not state.may_approve(grant.granted_by):
        return "⚠️ does not hold: who allowed it may not approve now"
    if grant.until is None:
        return "no end"
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(grant.until))
    return f"until {until}" if state.holds(grant) else f"ended {until}"


def _covered(grant: Grant) -> str:
    if grant.files == ANY:
        return "whatever its files hold: it is from before files were compared"
    paths = sorted(path for path in grant.files if path)
    if not paths:
        return ""
    named = ", ".join(literal(path, _NAME) for path in paths[:_FILES])
    more = f" and {len(paths) - _FILES} more" if len(paths) > _FILES else ""
    return f"only with {named}{more} unchanged"


def _toolsets(toolsets: Collection[str]) -> str:
    if not toolsets:
        return "No toolset is on here. The owner switches them on with `toolsets` under `[tools]`."
    return f"**Toolsets here:** {', '.join(f'`{name}`' for name in sorted(toolsets))}"


def _becomes(tool: Tool) -> str:
    if not isinstance(tool, Guarded):
        return "runs"
    return ", ".join(_standing(tool.standing))


def _standing(standing: Standing) -> Iterator[str]:
    shown = standing.rules[:_RULES]
    yield from map(_rule, shown)
    if len(standing.rules) > len(shown):
        yield f"{len(standing.rules) - len(shown)} more rules"
    if not any(means_anything(rule.match or "") for rule in standing.rules):
        usually = "asks" if standing.asks else "runs"
        yield f"else {usually}" if shown else usually
        if standing.asks_when and not standing.asks:
            yield f"asks {standing.asks_when}"


def _rule(rule: ToolRule) -> str:
    verb = _VERBS[rule.decision]
    if means_anything(rule.match or ""):
        return verb
    return f"{verb} where {literal(rule.match or '', _PATTERN)} matches"


def _servers(servers: Sequence[State]) -> Iterator[str]:
    if servers:
        yield "**MCP servers**"
    for one in servers:
        count = len(one.tools)
        tools = f"{count} tool" if count == 1 else f"{count} tools"
        why = f": {escape(bounded(one.why, _WHY))}" if one.why else ""
        yield f"- {literal(one.server, _NAME)} is {one.health}, {tools}{why}"


def _grants(grants: Sequence[Grant], state: GrantState) -> Iterator[str]:
    if grants:
        yield "**Allowed in this conversation**"
    for grant in grants:
        yield f"- **{grant.id}** · {grant_line(grant)} · {_grant_details(grant, state)}"
