"""Going on with another session in this conversation: the buttons of lists of sessions.

Taking a session into a group that has not seen it asks first: everybody there will read it.
"""

import re
from dataclasses import dataclass, replace

from adapters.base import CommandSpec
from gateway.access.visibility import sees, takes_part
from gateway.commands.buttons import button
from gateway.commands.context import NOT_YOURS, Command, CommandCall, CommandContext, Work, answer
from gateway.commands.tree.branch_summary import move
from gateway.outbound.buttons import MenuItem
from gateway.turns.limits import no_room_below
from gateway.views.entries import is_unanswered
from gateway.views.sessions import last_words, name_of, quoted_name, size_of
from storage.records.entries import Entry, Json
from storage.store import Transaction

OPEN = "open"
TAKE = "take"
STAY = "stay"
_TARGET = re.compile(r"#?(\d{1,18})(?:\s+at\s+#?(\d{1,9}))?", re.ASCII)
_BACK_LABEL = 40
NOT_HERE = "There is no such conversation that you can open here. /sessions lists them."


@dataclass(frozen=True, slots=True)
class Target:
    session: int
    number: int | None = None
    """Of the entry to go on from; None for where it is."""

    @property
    def command(self) -> str:
        at = f" at #{self.number}" if self.number is not None else ""
        return f"{OPEN} #{self.session}{at}"


async def leave(desk: CommandContext, asked: CommandCall) -> None:
    """End what is being answered in this conversation: it goes on with another session."""
    if asked.session is not None:
        await desk.turns.leave(asked.session, asked.address)


def arrive(
    tx: Transaction, desk: CommandContext, asked: CommandCall, session: int, said: str = ""
) -> None:
    """Bind the conversation to a session; tell where it is now, and offer the way back."""
    tx.directory.bind(asked.address, session)
    text = where_it_is(tx, asked, session, tx.tree.session(session).leaf, said)
    desk.say(tx, asked, text, way_back(tx, asked, session), by=asked.who)


def where_it_is(
    tx: Transaction, asked: CommandCall, session: int, leaf: int | None, said: str = ""
) -> str:
    """Where a conversation is that has come to a session. `said`: instead of the usual words."""
    overview = tx.directory.overview(session)
    last = last_words(tx, leaf)
    parts = (
        said or f"You are in {quoted_name(overview)} now ({size_of(overview)}).",
        f"Last words: {last}" if last else "",
        _shared(tx, asked, session),
    )
    return "\n".join(part for part in parts if part)


def _shared(tx: Transaction, asked: CommandCall, session: int) -> str:
    """Says who else can read along."""
    others = [address for address in tx.directory.addresses(session) if address != asked.address]
    if not others:
        return ""
    count = "Another chat is" if len(others) == 1 else f"{len(others)} other chats are"
    return f"{count} in it too, and can read what is said here."


def way_back(tx: Transaction, asked: CommandCall, session: int) -> list[MenuItem]:
    """A button to where the conversation was before, where there is something."""
    if asked.session is None or asked.session == session:
        return []
    before = tx.directory.overview(asked.session)
    if not (before.messages or before.title):
        return []
    return [MenuItem(f"Back to {name_of(before, _BACK_LABEL)}", Target(asked.session).command)]


def confirm(
    tx: Transaction,
    desk: CommandContext,
    asked: CommandCall,
    session: int,
    command: str,
    subject: Json,
) -> None:
    """Ask before a session is taken into a group. `command` takes it, by what `subject` says; only
    whom `subject` names as "by" may press."""
    overview = tx.directory.overview(session)
    # Without a title it would be called by its first words, which the group is not to read yet.
    name = quoted_name(overview) if overview.title else f"conversation {session}"
    text = (
        f"This takes {name} ({size_of(overview)}) into this group; everybody here can read and "
        "continue it."
    )
    items = [
        MenuItem("Take it here", command, "primary", subject=subject),
        MenuItem("Cancel", STAY, beside=True),
    ]
    desk.say(tx, asked, text, items, by=subject["by"])


async def _open(desk: CommandContext, asked: CommandCall) -> Work:
    found = _TARGET.fullmatch(asked.argument)
    if found is None:
        return answer(desk, asked, "/sessions lists your conversations, to open one.")
    target = Target(int(found[1]), int(found[2]) if found[2] else None)
    session = target.session
    if await desk.store.read(lambda tx: sees(tx, asked.message, session)):
        return await _enter(desk, asked, target)
    if not await desk.store.read(lambda tx: takes_part(tx, asked.who, session)):
        return answer(desk, asked, NOT_HERE)
    subject = {"session": session, "number": target.number, "by": asked.who}
    return lambda tx: confirm(tx, desk, asked, session, TAKE, subject)


async def _take(desk: CommandContext, asked: CommandCall) -> Work:
    """The answer to the question whether one's session is to be taken into this group."""
    subject = asked.subject
    if "session" not in subject:
        return answer(desk, asked, NOT_HERE)
    session = int(subject["session"])
    if asked.who != subject["by"]:  # an owner may press every button, but this is not theirs to say
        return lambda tx: confirm(tx, desk, asked, session, TAKE, subject)
    return await _enter(desk, asked, Target(session, subject["number"]))


async def _stay(desk: CommandContext, asked: CommandCall) -> Work:
    return answer(desk, asked, "Nothing was changed.")


async def _enter(desk: CommandContext, asked: CommandCall, target: Target) -> Work:
    """Go on with a session that may be opened here."""
    session, number = target.session, target.number
    if number is not None:
        return await _enter_at(desk, asked, session, number)
    if session == asked.session:
        return answer(desk, asked, "You are in this conversation already.")
    await leave(desk, asked)
    return lambda tx: arrive(tx, desk, asked, session)


async def _enter_at(desk: CommandContext, asked: CommandCall, session: int, number: int) -> Work:
    entry = await desk.store.read(lambda tx: tx.tree.numbered(session, number))
    if entry is None:
        return answer(desk, asked, f"There is no #{number} in that conversation.")
    if not desk.turns.may_cut(session, asked.who, private=asked.message.private):
        return answer(desk, asked, NOT_YOURS)
    if session != asked.session:
        await leave(desk, asked)
    leaf = await asked.held.enter_async_context(desk.turns.still(session))
    return lambda tx: _arrive_at(tx, desk, asked, session, leaf, entry)


def _arrive_at(
    tx: Transaction,
    desk: CommandContext,
    asked: CommandCall,
    session: int,
    leaf: int | None,
    entry: Entry,
) -> None:
    if leaf == entry.id:
        return arrive(tx, desk, asked, session)
    if (full := no_room_below(tx, session, entry.id, desk.config.session)) is not None:
        return arrive(tx, desk, asked, session, full)
    tx.directory.bind(asked.address, session)
    there = replace(asked, session=session, leaf=leaf)
    text, items = where_it_is(tx, asked, session, entry.id), way_back(tx, asked, session)
    if is_unanswered(tx, entry.id):
        items.insert(0, button(there, "Answer it", "retry"))
    move(tx, desk, there, entry.id, why="goto", text=text, items=items)


OPENING = (
    Command(CommandSpec(OPEN, "go on with a conversation", "number"), _open, hidden=True),
    Command(CommandSpec(TAKE, "take a conversation into this group"), _take, hidden=True),
    Command(CommandSpec(STAY, "leave all as it is"), _stay, hidden=True),
)
