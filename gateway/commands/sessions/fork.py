"""/fork: a new session that starts with a path of this one. No entry is copied."""

import re
from dataclasses import dataclass, replace

from adapters.base import CommandSpec
from agent.text.markdown import escape
from gateway.commands.buttons import to_rephrase
from gateway.commands.context import Act, Command, CommandCall, Outcome, Reply, in_session
from gateway.commands.sessions.fork_files import leave_files
from gateway.commands.sessions.switch import arrive
from gateway.views.entries import PERSONS, find_label, label_name, unquoted
from gateway.views.sessions import LONGEST_TITLE, cleaned, name_of
from storage.records.entries import Entry, SessionDraft, SessionKind
from storage.store import Transaction
from storage.tree.paths import sort_of

_NUMBERED = re.compile(r"(#?)([0-9]{1,9})(?:\s+(.*))?\Z", re.DOTALL)
_QUOTED = re.compile(r'(["“„”].+?["“”])(?:\s+(.*))?\Z', re.DOTALL)
NO_PATH = "There is nothing before that to start with: /new begins without anything."


@dataclass(frozen=True, slots=True)
class _Fork:
    end: Entry
    """The last entry of the path it starts with."""
    title: str
    rephrase: Entry | None
    """The person's message that it ends before."""


@dataclass(frozen=True, slots=True)
class _Place:
    entry: Entry | None
    """None: where the conversation is."""
    title: str


def _fork(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    found = _found(tx, session, call.argument)
    if isinstance(found, str):
        return Reply(found)

    def work(tx: Transaction) -> Reply:
        # Once more: a turn that was ended has left something behind.
        match _found(tx, session, call.argument):
            case str(fault):
                return Reply(fault)
            case _Fork() as fork:
                return _carry_out(tx, call, session, fork)

    return Act(work, leaving=True)


def _carry_out(tx: Transaction, call: CommandCall, session: int, fork: _Fork) -> Reply:
    end = fork.end
    draft = SessionDraft(SessionKind.CHAT, "", parent_session=session, parent_entry=end.id)
    made = tx.tree.create(draft).id
    title = fork.title or _default_title(tx, session, made, end)
    tx.tree.rename(made, title)
    tx.tree.move_leaf(made, end.id, after=None, by=call.who, why="fork")
    tx.directory.join(made, call.who)
    leave_files(tx, call, session, made)
    said = (
        f"Forked after #{end.number}: you are in conversation {made} now, “{escape(title)}”. "
        "The old one is kept."
    )
    if fork.rephrase is not None:
        shown = to_rephrase(call, fork.rephrase)
        said = f"{said}\n#{fork.rephrase.number}, which is not in it, said:\n{shown}"
    return arrive(tx, call, made, said)


def _default_title(tx: Transaction, session: int, made: int, end: Entry) -> str:
    """Of the source's title; where it has none, of the first words that the fork has, too."""
    suffix, title = f", from #{end.number}", tx.tree.session(session).title
    named = replace(tx.directory.overview(made), session=session, title=title)
    return name_of(named, LONGEST_TITLE - len(suffix)) + suffix


def _found(tx: Transaction, session: int, text: str) -> _Fork | str:
    """What is to be made, or why it cannot be."""
    place = _place(tx, session, text)
    if isinstance(place, str):
        return place
    if place.entry is None:
        leaf = tx.tree.session(session).leaf
        return _Fork(tx.tree.entry(leaf), place.title, None) if leaf is not None else NO_PATH
    entry = place.entry
    if sort_of(entry.kind, entry.body) not in PERSONS:
        return _Fork(entry, place.title, None)
    if entry.parent is None:
        return NO_PATH
    return _Fork(tx.tree.entry(entry.parent), place.title, entry)


def _place(tx: Transaction, session: int, text: str) -> _Place | str:
    """Where a fork is to begin and its title, from "[n|label] [title]"; what is neither a number
    nor a label that is there is all title."""
    if found := _NUMBERED.match(text):
        sign, digits, rest = found.groups()
        entry = tx.tree.numbered(session, int(digits))
        if entry is not None:
            return _Place(entry, cleaned(rest or ""))
        if sign or rest is None:
            return f"There is no #{int(digits)} in this conversation."
    labels = tx.tree.labels(session)
    if found := _QUOTED.match(text):
        label = find_label(labels, unquoted(found[1]))
        if label is not None:
            return _Place(tx.tree.entry(label.target), cleaned(found[2] or ""))
    name = label_name(text)
    for label in sorted(labels, key=lambda label: len(label.name), reverse=True):
        beginning, rest = name[: len(label.name)], name[len(label.name) :]
        if beginning.casefold() == label.name.casefold() and (not rest or rest[0].isspace()):
            return _Place(tx.tree.entry(label.target), cleaned(rest))
    return _Place(None, cleaned(text))


FORKING = (
    Command(
        CommandSpec("fork", "a new conversation that starts with this one up to here", "from"),
        in_session(_fork),
    ),
)
