"""Names for entries: /label, and the list of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.base import CommandSpec
from agent.text.markdown import escape
from gateway.commands.buttons import button, turning
from gateway.commands.context import Act, Command, CommandCall, Outcome, Reply, in_session
from gateway.views.entries import (
    find_label,
    label_name,
    last_of,
    number_of,
    one_line,
    spot,
    unquoted,
)
from storage.records.entries import Draft, Entry, Kind, Label
from storage.store import Transaction
from storage.tree.paths import TALK

NAME_LIMIT = 1_000
"""Characters."""
SHOWN = 40
"""Characters of a name in a list."""
PER_PAGE = 10

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NUMBERED = re.compile(r"(.*\S)\s+#?([0-9]{1,9})\Z", re.DOTALL)
_QUOTED_NUMBERED = re.compile(r'(["“„”].*["“”])\s*#?([0-9]{1,9})\Z', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Naming:
    """What /label is asked to do: give an entry a name."""

    name: str
    entry: Entry | None
    """None: the last message."""


def _label(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    if not call.argument:
        return label_list(tx, session, 1)

    def work(tx: Transaction) -> Reply:
        if call.argument.startswith("-"):
            return Reply(_remove(tx, call, session, call.argument[1:]))
        return Reply(_give(tx, call, session))

    return Act(work)


def _labels(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    """A page of the list."""
    return label_list(tx, session, number_of(call.argument) or 1)


def label_list(tx: Transaction, session: int, page: int) -> Reply:
    """Labels, newest first, with a button to go to each; pages count from 1."""
    labels = tx.tree.labels(session)[::-1]
    if not labels:
        return Reply("There are no labels here. `/label NAME` names the last message.")
    pages = -(-len(labels) // PER_PAGE)
    page = max(1, min(page, pages))
    shown = [
        (label, tx.tree.entry(label.target))
        for label in labels[(page - 1) * PER_PAGE : page * PER_PAGE]
    ]
    head = "Labels" if pages == 1 else f"Labels · page {page} of {pages}"
    lines = [f"🏷 {_shown(label.name)} → {spot(entry, 50)}" for label, entry in shown]
    items = [
        button(_label_of(label, entry), f"goto #{entry.number}", within=session)
        for label, entry in shown
    ]
    return Reply("\n".join([head, *lines]), [*items, *turning(session, "labels", page, pages)])


def _label_of(label: Label, entry: Entry) -> str:
    return f"{one_line(label.name, SHOWN)} · #{entry.number}"


def _remove(tx: Transaction, call: CommandCall, session: int, name: str) -> str:
    labels = tx.tree.labels(session)
    label = find_label(labels, name) or find_label(labels, unquoted(name.strip()))
    if label is None:
        return f"Nothing here is called {_shown(name)}. /label lists the names."
    number = tx.tree.entry(label.target).number
    _append(tx, session, Draft(Kind.LABEL, {"label": "", "target": label.target}, call.who))
    return f"Removed: #{number} is not called {_shown(label.name)} any more."


def _give(tx: Transaction, call: CommandCall, session: int) -> str:
    if _CONTROL.search(call.argument):
        return "A label is one line, without control characters."
    naming = _read(tx, session, call.argument)
    if (fault := _fault(naming.name)) is not None:
        return fault
    leaf = tx.tree.session(session).leaf
    entry = naming.entry or next(iter(last_of(tx, leaf, TALK, 1)), None)
    if entry is None:
        return "There is no message here to name. `/label NAME #12` names the one with that number."
    labels = tx.tree.labels(session)
    before = next((label for label in labels if label.name == naming.name), None)
    other = next((label for label in labels if label.target == entry.id), None)
    if before is not None and before.target == entry.id:
        return f"#{entry.number} is called {_shown(naming.name)} already."
    body = {"label": naming.name, "target": entry.id}
    _append(tx, session, Draft(Kind.LABEL, body, call.who))
    lines = [f"🏷 {_shown(naming.name)} is now {spot(entry)}"]
    if before is not None:
        lines.append(f"It was #{tx.tree.entry(before.target).number} before.")
    if other is not None:
        lines.append(f"That one was called {_shown(other.name)} before.")
    return "\n".join(lines)


def _read(tx: Transaction, session: int, text: str) -> _Naming:
    """NAME, or NAME and the number of an entry that exists; quotes keep a number in the name."""
    for pattern in (_QUOTED_NUMBERED, _NUMBERED):
        if found := pattern.match(text):
            entry = tx.tree.numbered(session, int(found[2]))
            if entry is not None:
                return _Naming(label_name(unquoted(found[1])), entry)
    return _Naming(label_name(unquoted(text)), None)


def _fault(name: str) -> str | None:
    """Why nothing can be called so."""
    if not name:
        return "A label needs a name: `/label NAME`."
    if number_of(name) is not None:
        return "A label cannot be a number: numbers name messages already. `/label NAME #12`."
    if len(name) > NAME_LIMIT:
        return f"That name has {len(name):,} characters; a label may have {NAME_LIMIT:,}."
    return None


def _append(tx: Transaction, session: int, draft: Draft) -> None:
    """At the leaf. While a turn runs or is due, beside it: the turn goes on after what it wrote
    last, so its next entry must find the leaf there."""
    leaf = tx.tree.session(session).leaf
    if leaf is None or not tx.inbox.unfinished(session):
        tx.tree.append(session, draft, after=leaf)
    else:
        tx.tree.append(session, draft, after=tx.tree.entry(leaf).parent, aside=True)


def _shown(name: str) -> str:
    return f"**{escape(one_line(name, SHOWN))}**"


LABELS: Sequence[Command] = (
    Command(
        CommandSpec(
            "label",
            "name a message, or list the names; /label -NAME removes one",
            "name",
            on_message="Label",
            asks=True,
        ),
        in_session(_label),
    ),
    Command(
        CommandSpec("labels", "a page of the labels", "page"), in_session(_labels), listed=False
    ),
)
