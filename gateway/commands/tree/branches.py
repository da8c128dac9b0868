"""/branches: where the conversation branched, with a button for each branch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.base import CommandSpec
from agent.text.formats import age
from gateway.commands.buttons import button, turning
from gateway.commands.context import Command, CommandCall, Outcome, Reply, in_session
from gateway.outbound.buttons import MenuItem
from gateway.views.entries import first_words, mark, number_of, spot
from gateway.views.outline import Fork, Sizes, forks
from storage.records.entries import Entry, Strand, Stretch
from storage.store import Transaction
from storage.tree.branches import SAID, children, inherited_strands, said_strands
from storage.tree.paths import is_on

PER_PAGE = 8
"""Branches."""
_HEAD_WORDS = 50
_BUTTON_WORDS = 34


@dataclass(frozen=True, slots=True)
class _Branch:
    """One child of a branch point."""

    fork: Fork
    place: int
    """Among the fork's branches, the newest being 0."""


@dataclass(frozen=True, slots=True)
class _Session:
    """What is known of a session for all branches of a page."""

    id: int
    strands: dict[int, Strand]
    sizes: Sizes
    route: tuple[Stretch, ...]


def _branches(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    page = number_of(call.argument or "1")
    if page is None:
        return Reply("/branches takes the number of a page, like `/branches 2`.")
    return branch_list(tx, session, page)


def branch_list(tx: Transaction, session: int, page: int) -> Reply:
    """The branches of a session, those of the newest branch point first; pages count from 1."""
    strands = [*inherited_strands(tx, session), *said_strands(tx, session)]
    found = forks(strands)
    branches = [_Branch(fork, place) for fork in found for place in range(fork.branches)]
    if not branches:
        return Reply("This conversation has no branches. /branch makes one.")
    pages = -(-len(branches) // PER_PAGE)
    page = max(1, min(page, pages))
    shown = branches[(page - 1) * PER_PAGE : page * PER_PAGE]
    known = _Session(
        session,
        {strand.first: strand for strand in strands},
        Sizes(strands),
        tx.tree.route(tx.tree.session(session).leaf),
    )
    many = "1 branch point" if len(found) == 1 else f"{len(found)} branch points"
    lines = [many if pages == 1 else f"{many} · page {page} of {pages}"]
    items: list[MenuItem] = []
    for head, rows in _by_fork(tx, known, shown):
        lines.append(head)
        for row, entry, here in rows:
            lines.append(row)
            label = f"{here}#{entry.number} {mark(entry)} {first_words(entry, _BUTTON_WORDS)}"
            items.append(button(label, f"tip #{entry.number}", within=session))
    return Reply("\n".join(lines), [*items, *turning(session, "branches", page, pages)])


_Row = tuple[str, Entry, str]
"""A line, the entry that it is about, and "● " where the conversation is on that branch."""


def _by_fork(
    tx: Transaction, known: _Session, shown: Sequence[_Branch]
) -> Iterator[tuple[str, list[_Row]]]:
    at = 0
    while at < len(shown):
        fork = shown[at].fork
        places = [branch.place for branch in shown if branch.fork is fork]
        begins = _begins(tx, known, fork)
        yield _head(tx, fork), [_row(tx, known, begins[place]) for place in places]
        at += len(places)


def _head(tx: Transaction, fork: Fork) -> str:
    if fork.entry is None:
        return "\nFrom the beginning:"
    return f"\nAfter {spot(tx.tree.entry(fork.entry), _HEAD_WORDS)}"


def _begins(tx: Transaction, known: _Session, fork: Fork) -> list[Entry]:
    """The first entries of a fork's branches, newest first."""
    begins = {strand.first for strand in fork.strands}
    below = children(tx, known.id, fork.entry)
    goes_on = below[:1] if fork.goes_on else []
    return [child for child in reversed(below) if child.id in begins or child in goes_on]


def _row(tx: Transaction, known: _Session, child: Entry) -> _Row:
    here = tx.tree.route(child.id)[-1]
    strand = known.strands[here.strand]
    said = tx.tree.along(strand.first, child.number, strand.tip_number, sorts=SAID, limit=1)
    entry = said[0] if said else child
    size = known.sizes.of(strand.first, child.depth)
    entries = "1 entry" if size == 1 else f"{size:,} entries"
    dot = "● " if is_on(known.route, here.strand, here.last_depth) else ""
    line = f"{dot or '○ '}{spot(entry, _HEAD_WORDS)} · {age(tx.now - entry.time)} ago · {entries}"
    return line, entry, dot


BRANCH_POINTS = (
    Command(
        CommandSpec("branches", "where the conversation branched, with buttons", "page"),
        in_session(_branches),
    ),
)
