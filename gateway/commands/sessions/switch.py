"""Going on with another session in this conversation: the buttons of lists of sessions.

Taking a session into a group that has not seen it asks first: everybody there will read it.
"""

import re
from dataclasses import dataclass
from functools import partial

from adapters.base import CommandSpec
from gateway.access.visibility import sees, takes_part
from gateway.commands.buttons import button
from gateway.commands.context import Act, Action, Command, CommandCall, Move, Outcome, Reply
from gateway.commands.tree.branch_summary import summed_up
from gateway.outbound.buttons import MenuItem
from gateway.turns.policy.limits import no_room_below
from gateway.views.entries import is_unanswered
from gateway.views.sessions import last_words, name_of, quoted_name, size_of
from storage.records.record_entries import RecordKind, is_record
from storage.store import Transaction

OPEN = "open"
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


def arrive(tx: Transaction, call: CommandCall, session: int, said: str = "") -> Reply:
    """Bind the conversation to a session; where it is now, and the way back."""
    tx.directory.bind(call.address, session)
    text = where_it_is(tx, call, session, tx.tree.session(session).leaf, said)
    return Reply(text, way_back(tx, call, session), by=call.who)


def where_it_is(
    tx: Transaction, call: CommandCall, session: int, leaf: int | None, said: str = ""
) -> str:
    """Where a conversation is that has come to a session. `said`: instead of the usual words."""
    overview = tx.directory.overview(session)
    last = last_words(tx, leaf)
    parts = (
        said or f"You are in {quoted_name(overview)} now ({size_of(overview)}).",
        f"Last words: {last}" if last else "",
        _shared(tx, call, session),
    )
    return "\n".join(part for part in parts if part)


def _shared(tx: Transaction, call: CommandCall, session: int) -> str:
    """Says who else can read along."""
    others = [address for address in tx.directory.addresses(session) if address != call.address]
    if not others:
        return ""
    count = "Another chat is" if len(others) == 1 else f"{len(others)} other chats are"
    return f"{count} in it too, and can read what is said here."


def way_back(tx: Transaction, call: CommandCall, session: int) -> list[MenuItem]:
    """A button to where the conversation was before, where there is something."""
    if call.session is None or call.session == session:
        return []
    before = tx.directory.overview(call.session)
    if not (before.messages or before.title):
        return []
    return [button(f"Back to {name_of(before, _BACK_LABEL)}", Target(call.session).command)]


def confirm(tx: Transaction, session: int, take: Action, by: str) -> Reply:
    """Ask before a session is taken into a group. `by`: who alone may press."""
    overview = tx.directory.overview(session)
    # Without a title it would be called by its first words, which the group is not to read yet.
    name = quoted_name(overview) if overview.title else f"conversation {session}"
    text = (
        f"This takes {name} ({size_of(overview)}) into this group; everybody here can read and "
        "continue it."
    )
    first = tx.tree.numbered(session, 1)
    if first is not None and is_record(first, RecordKind.NOTES):
        text += " It began with what is noted about who spoke there, and that comes along."
    items = [
        button("Take it here", take, style="primary"),
        button("Cancel", Stay(), beside=True),
    ]
    return Reply(text, items, by=by)


def opened(tx: Transaction, call: CommandCall) -> Outcome:
    found = _TARGET.fullmatch(call.argument)
    if found is None:
        return Reply("/sessions lists your conversations, to open one.")
    target = Target(int(found[1]), int(found[2]) if found[2] else None)
    if sees(tx, call.message, target.session):
        return _enter(tx, call, target)
    if not takes_part(tx, call.who, target.session):
        return Reply(NOT_HERE)
    return confirm(tx, target.session, Take(target.session, target.number, call.who), call.who)


@dataclass(frozen=True, slots=True)
class Take(Action):
    """The answer to the question whether one's session is to be taken into this group."""

    session: int
    number: int | None
    by: str
    """Identity of whose it is to say."""
    name = "take"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        if call.who != self.by:  # an owner may press every button, but this is not theirs to say
            return confirm(tx, self.session, self, self.by)
        return _enter(tx, call, Target(self.session, self.number))


@dataclass(frozen=True, slots=True)
class Stay(Action):
    """The other answer."""

    name = "stay"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return Reply("Nothing was changed.")


def _enter(tx: Transaction, call: CommandCall, target: Target) -> Outcome:
    """Go on with a session that may be opened here."""
    session, number = target.session, target.number
    if number is not None:
        return _enter_at(tx, call, session, number)
    if session == call.session:
        return Reply("You are in this conversation already.")
    return Act(partial(arrive, call=call, session=session), leaving=True)


def _enter_at(tx: Transaction, call: CommandCall, session: int, number: int) -> Outcome:
    entry = tx.tree.numbered(session, number)
    if entry is None:
        return Reply(f"There is no #{number} in that conversation.")
    leaving = session != call.session
    if tx.tree.session(session).leaf == entry.id:
        return Act(partial(arrive, call=call, session=session), leaving=leaving)
    if (full := no_room_below(tx, session, entry.id, call.context.config.session)) is not None:
        return Act(partial(arrive, call=call, session=session, said=full), leaving=leaving)
    text, items = where_it_is(tx, call, session, entry.id), way_back(tx, call, session)
    if is_unanswered(tx, entry.id):
        items.insert(0, button("Answer it", "retry", within=session))
    return summed_up(tx, call, Move(session, entry.id, "goto", Reply(text, items)))


OPENING = (Command(CommandSpec(OPEN, "go on with a conversation", "number"), opened, listed=False),)
