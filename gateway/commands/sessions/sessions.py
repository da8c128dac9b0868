"""The sessions that people may see, as a list: /sessions; their names: /name; another: /new."""

from functools import partial

from adapters.base import CommandSpec
from agent.text.formats import age
from agent.text.markdown import escape
from gateway.access.visibility import viewers
from gateway.commands.context import NOTHING_YET, Command, CommandCall, CommandContext, Work, answer
from gateway.commands.sessions.switch import leave
from gateway.outbound.buttons import MenuItem
from gateway.views.sessions import LONGEST_TITLE, cleaned, name_of, quoted_name, size_of
from storage.records.entries import Overview, SessionDraft, SessionKind
from storage.store import Transaction

ON_A_PAGE = 8
HERE = "● "
_LABEL = 50
"""Characters of a button."""
_MOST_DIGITS = 4


async def _sessions(desk: CommandContext, asked: CommandCall) -> Work:
    digits = asked.argument or "1"
    page = int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else 0
    if page < 1:
        return answer(desk, asked, "Write /sessions, or /sessions 2 for the second page.")
    found, now = await desk.store.read(lambda tx: (_page(tx, asked, page), tx.now))
    if not found:
        return answer(desk, asked, NOTHING_YET if page == 1 else f"There is no page {page}.")
    more, found = found[ON_A_PAGE:], found[:ON_A_PAGE]
    lines = [_line(overview, asked.session, now) for overview in found]
    items = [
        MenuItem(
            _label(overview, asked.session),
            f"open #{overview.session}",
            whole=_whole(overview, asked.session, now),
        )
        for overview in found
    ]
    items += _turning(page, more=bool(more))
    text = "\n".join([_heading(asked, page), "", *lines])
    return lambda tx: desk.say(tx, asked, text, items, by=asked.who)


def _page(tx: Transaction, asked: CommandCall, page: int) -> list[Overview]:
    """One more than a page, where there is a next one."""
    found = tx.directory.recent(
        viewers(asked.message), limit=ON_A_PAGE + 1, skip=(page - 1) * ON_A_PAGE
    )
    return [tx.directory.overview(session) for session in found]


def _heading(asked: CommandCall, page: int) -> str:
    whose = "Your conversations" if asked.message.private else "The conversations of this chat"
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
    back = [MenuItem("◀", f"sessions {page - 1}")] if page > 1 else []
    return [*back, *([MenuItem("▶", f"sessions {page + 1}", beside=bool(back))] if more else [])]


async def _name(desk: CommandContext, asked: CommandCall) -> Work:
    title = cleaned(asked.argument)
    return partial(_rename if title else _tell_name, desk, asked, title)


def _rename(desk: CommandContext, asked: CommandCall, title: str, tx: Transaction) -> None:
    tx.tree.rename(desk.session(tx, asked), title)
    desk.say(tx, asked, f"This conversation is called “{escape(title)}” now.")


def _tell_name(desk: CommandContext, asked: CommandCall, _: str, tx: Transaction) -> None:
    if asked.session is None:
        return desk.say(tx, asked, NOTHING_YET)
    overview = tx.directory.overview(asked.session)
    called = f"called {quoted_name(overview)}" if overview.title else "without a name"
    how = "/name and a title give it another." if overview.title else "/name TITLE gives it one."
    desk.say(tx, asked, f"This conversation is {called}. {how}")


async def _new(desk: CommandContext, asked: CommandCall) -> Work:
    await leave(desk, asked)
    title = cleaned(asked.argument)

    def work(tx: Transaction) -> None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT, title))
        tx.directory.bind(asked.address, session.id)
        called = f", “{escape(title)}”" if title else ""
        desk.say(tx, asked, f"A new conversation{called}. The old one is kept.")

    return work


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
