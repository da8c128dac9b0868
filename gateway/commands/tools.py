"""/tools: what the agent may do here, what asks first, and what was allowed; taking that back."""

import re

from adapters.base import CommandSpec
from agent.text.markdown import escape
from agent.tools.base import MCP
from gateway.commands.buttons import button
from gateway.commands.context import Act, Command, CommandCall, Outcome, Reply
from gateway.views.tools import GrantState, grant_line, tools_text
from storage.store import Transaction

REVOKE = re.compile(r"revoke\s+#?([0-9]{1,18})\Z", re.IGNORECASE)
MOST_BUTTONS = 12
HOW = "Write /tools alone, or /tools revoke with the number of what was allowed."
NOT_YOURS = "Only those who may approve calls, owners, and who allowed it take that back."
NONE_THERE = "Nothing with the number {number} is allowed in this conversation. /tools lists it."


def _tools(tx: Transaction, call: CommandCall) -> Outcome:
    if not call.argument:
        return _list(tx, call)
    found = REVOKE.match(call.argument)
    if found is None:
        return Reply(HOW)
    access, number = call.context.questions.access, int(found[1])
    trusted = access.lets_run(call.who) or access.is_owner(call.who)
    if not (trusted or _gave(tx, call, number)):
        return Reply(NOT_YOURS)
    return Act(lambda tx: _revoke(tx, call, number))


def _gave(tx: Transaction, call: CommandCall, number: int) -> bool:
    """Whether who asks allowed it themselves: they take it back even without the right."""
    grants = tx.grants.list(call.session, call.address) if call.session is not None else []
    return any(grant.id == number and grant.granted_by == call.who for grant in grants)


def _list(tx: Transaction, call: CommandCall) -> Reply:
    context, session = call.context, call.session
    tools = context.offered.agent(session or 0, call.address, None).tools
    grants = tx.grants.list(session, call.address) if session is not None else []
    toolsets = context.settings.toolsets_at(call.address)
    items = [
        button(f"Revoke {grant.id}", f"tools revoke {grant.id}", within=session, style="danger")
        for grant in grants[:MOST_BUTTONS]
    ]
    servers = [one for one in context.offered.servers() if f"{MCP}{one.server}" in toolsets]
    state = GrantState(tx.now, context.questions.access.lets_run)
    return Reply(tools_text(toolsets, tools, servers, grants, state), items)


def _revoke(tx: Transaction, call: CommandCall, number: int) -> Reply:
    session = call.session
    grant = tx.grants.revoke(number, session, call.address) if session is not None else None
    if grant is None:
        return Reply(NONE_THERE.format(number=number))
    details = {"grant": grant.id, "tool": grant.tool, "shown": grant.shown}
    tx.directory.audit("revoke", call.who, details)
    name = escape(call.message.user.name)
    return Reply(f"Revoked by {name}: {grant_line(grant)}. It asks again from now on.")


TOOLS = (
    Command(
        CommandSpec("tools", "what I may use here, what asks, what was allowed", "revoke"), _tools
    ),
)
