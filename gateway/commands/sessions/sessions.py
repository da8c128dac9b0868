"""The sessions that people may see, as a list: /sessions; their names: /name; another: /new."""

from functools import partial

from adapters.base import CommandSpec
from agent.text.formats import age
from agent.text.markdown import escape
from gateway.access.visibility import viewers
from gateway.commands.buttons import button
from gateway.commands.context import NOTHING_YET, Act, Command, CommandCall, Outcome, Reply
from gateway.outbound.buttons import MenuItem
from gateway.views.sessions import LONGEST_TITLE, cleaned, name_of, quoted_name, size_of
from storage.records.entries import Overview, SessionDraft, SessionKind
from storage.records.inbox_outbox import InboxKind
from storage.store import Transaction

ON_A_PAGE = 8
HERE = "● "
NOT_CHOSEN = " The model that was to answer there was not chosen any more: /model chooses it here."
_LABEL = 50
"""Characters of a button."""
_MOST_DIGITS = 4


def _sessions(tx: Transaction, call: CommandCall) -> Outcome:
    digits = call.argument or "1"
    page = int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else 0
    if page < 1:
        return Reply("Write /sessions, or /sessions 2 for the second page.")
    found, now = _page(tx, call, page), tx.now
    if not found:
        return Reply(NOTHING_YET if page == 1 else f"There is no page {page}.")
    more, found = found[ON_A_PAGE:], found[:ON_A_PAGE]
    lines = [_line(overview, call.session, now) for overview in found]
    items = [
        button(
            _label(overview, call.session),
            f"open #{overview.session}",
            whole=_whole(overview, call.session, now),
        )
        for overview in found
    ]
    items += _turning(page, more=bool(more))
    text = "\n".join([_heading(call, page), "", *lines])
    return Reply(text, items, by=call.who)


def _page(tx: Transaction, call: CommandCall, page: int) -> list[Overview]:
    """One more than a page, where there is a next one."""
    found = tx.directory.recent(
        viewers(call.message), limit=ON_A_PAGE + 1, skip=(page - 1) * ON_A_PAGE
    )
    return [tx.directory.overview(session) for session in found]


def _heading(call: CommandCall, page: int) -> str:
    whose = "Your conversations" if call.message.private else "The conversations of this chat"
    return f"**{whose}**" if page == 1 else f"**{whose}**, page {page}"


def _line(overview: Overview, current: int | None, now: float) -> str:
    here = HERE if overview.session == current else ""
    facts = f"{size_of(overview)} · {age(now - overview.active)} ago"
    return f"{here}**{escape(name_of(overview))}** · {facts}"


def _label(overview: Overview, current: int | None) -> str:
    return (HERE if overview.session == current else "") + name_of(overview, _LABEL)


def _whole(overview: Overview, current: int | None, now: float) -> str:
    here = HERE if overview.session == current else ""
    name = name_of(overview, LONGEST_TITLE)
    facts = f"{size_of(overview)} · {age(now - overview.active)} ago"
    return f"{here}{name} · conversation {overview.session} · {facts}"


def _turning(page: int, *, more: bool) -> list[MenuItem]:
    """The buttons that turn pages."""
    back = [button("◀", f"sessions {page - 1}")] if page > 1 else []
    return [*back, *([button("▶", f"sessions {page + 1}", beside=bool(back))] if more else [])]


def _name(tx: Transaction, call: CommandCall) -> Outcome:
    title = cleaned(call.argument)
    if title:
        return Act(partial(_rename, call=call, title=title))
    if call.session is None:
        return Reply(NOTHING_YET)
    overview = tx.directory.overview(call.session)
    called = f"called {quoted_name(overview)}" if overview.title else "without a name"
    how = "/name and a title give it another." if overview.title else "/name TITLE gives it one."
    return Reply(f"This conversation is {called}. {how}")


def _rename(tx: Transaction, call: CommandCall, title: str) -> Reply:
    """Of the conversation's session, made where there is none."""
    session = tx.directory.conversation(call.address)
    if session is None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        tx.directory.bind(call.address, session)
    tx.tree.rename(session, title)
    return Reply(f"This conversation is called “{escape(title)}” now.")


def _new(tx: Transaction, call: CommandCall) -> Outcome:
    title = cleaned(call.argument)
    note = NOT_CHOSEN if _model_waits(tx, call) else ""

    def work(tx: Transaction) -> Reply:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT, title))
        tx.directory.bind(call.address, session.id)
        called = f", “{escape(title)}”" if title else ""
        return Reply(f"A new conversation{called}. The old one is kept.{note}")

    return Act(work, leaving=True)


def _model_waits(tx: Transaction, call: CommandCall) -> bool:
    """Whether a model was chosen here that waits for the end of a turn, which there will not be."""
    rows = tx.inbox.unfinished(call.session) if call.session is not None else []
    return any(row.kind is InboxKind.MODEL and row.address == call.address for row in rows)


CONVERSATIONS = (
    Command(
        CommandSpec("new", "start a new conversation; the old one is kept", "title"),
        _new,
    ),
    Command(CommandSpec("sessions", "your conversations, to go on with one", "page"), _sessions),
    Command(
        CommandSpec("name", "what this conversation is called; give it a name", "title"), _name
    ),
)
