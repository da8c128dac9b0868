"""/diff: two places of a conversation beside each other: what each has since they parted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.base import CommandSpec
from agent.compaction.files import FileList
from agent.text.markdown import bounded, escape, literal
from gateway.commands.buttons import button
from gateway.commands.context import Action, Command, CommandCall, Outcome, Reply, in_session
from gateway.views.entries import find_entry, first_words, mark, spot
from storage.records.entries import Entry
from storage.store import Transaction
from storage.tree.paths import TALK, common, sort_of

USAGE = "/diff takes two numbers or labels, or one for where you are: `/diff #12 #30`."
PER_PAGE = 6
"""Messages of either side."""
READ = 2_000
"""Entries of a side that are looked at, the newest ones."""
MOST_PARTS = 40
"""Words of the first label that are tried."""
_SAID_WORDS = 70
_FILES = 5
_FILE_LIMIT = 40


@dataclass(frozen=True, slots=True)
class _Side:
    end: Entry
    length: int
    """Entries since the two parted."""
    entries: tuple[Entry, ...]
    """Of those the last ones, READ at most."""

    @property
    def talk(self) -> list[Entry]:
        return [entry for entry in self.entries if sort_of(entry.kind, entry.body) in TALK]


def _diff(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    return compared(tx, session, call.argument, 1)


@dataclass(frozen=True, slots=True)
class DiffPage(Action):
    """Another page of a comparison."""

    places: str
    """As they are typed."""
    page: int
    name = "diff_page"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        assert call.session is not None, "it was made within a session"
        return compared(tx, call.session, self.places, self.page)


def compared(tx: Transaction, session: int, places: str, page: int) -> Reply:
    """The answer to /diff in a session; pages count from 1."""
    if not places:
        return Reply(USAGE)
    pair = _pair(tx, session, places)
    if pair is None:
        return Reply(f"I do not find two places in {escape(bounded(places, 80))}. {USAGE}")
    one, other = pair
    if one.id == other.id:
        return Reply(f"Both are #{one.number}: there is nothing to compare.")
    shared = common(tx.tree.route(one.id), tx.tree.route(other.id))
    sides = [_side(tx, end, shared) for end in pair]
    pages = max(1, *(-(-len(side.talk) // PER_PAGE) for side in sides))
    page = max(1, min(page, pages))
    lines = [_head(tx, sides, shared)]
    if pages > 1:
        lines.append(f"Page {page} of {pages}")
    for side in sides:
        lines += _side_lines(side, page)
    meant = f"#{one.number} #{other.number}"
    items = [
        button(arrow, DiffPage(meant, to), within=session, beside=True)
        for arrow, to in (("◀", page - 1), ("▶", page + 1))
        if 1 <= to <= pages
    ]
    return Reply("\n".join(lines), items)


def _pair(tx: Transaction, session: int, text: str) -> tuple[Entry, Entry] | None:
    """The entries that are meant: one against the leaf, or two. Labels may have spaces, so every
    place where the text can be parted is tried."""
    whole = find_entry(tx, session, text)
    if whole is not None:
        leaf = tx.tree.session(session).leaf
        return (whole, tx.tree.entry(leaf)) if leaf is not None else None
    parts = text.split()
    for at in range(1, min(len(parts), MOST_PARTS)):
        one = find_entry(tx, session, " ".join(parts[:at]))
        other = find_entry(tx, session, " ".join(parts[at:])) if one is not None else None
        if one is not None and other is not None:
            return one, other
    return None


def _side(tx: Transaction, end: Entry, shared: int | None) -> _Side:
    above = tx.tree.entry(shared).depth + 1 if shared is not None else 0
    length = end.depth + 1 - above
    return _Side(end, length, tx.tree.path_end(end.id, min(length, READ)))


def _head(tx: Transaction, sides: Sequence[_Side], shared: int | None) -> str:
    if shared is None:
        return "The two have nothing in common: they begin apart."
    for side, other in (sides, reversed(sides)):
        if not side.length:
            above, below = side.end.number, other.end.number
            return f"#{above} is above #{below}, on the same line."
    return f"Both go on from {spot(tx.tree.entry(shared))}"


def _side_lines(side: _Side, page: int) -> Iterator[str]:
    if not side.length:
        return
    talk = side.talk
    count = "1 entry" if side.length == 1 else f"{side.length:,} entries"
    yield f"\n**To #{side.end.number}** · {count}"
    if side.length > len(side.entries):
        yield f"Only the last {len(side.entries):,} of them are looked at."
    start = (page - 1) * PER_PAGE
    for entry in talk[start : start + PER_PAGE]:
        said = escape(first_words(entry, _SAID_WORDS))
        yield f"#{entry.number} {mark(entry)} {said}"
    if not talk:
        yield "Nothing was said."
    elif start >= len(talk):
        yield "No more was said."
    files = FileList.of(side.entries)
    for title, paths in (("Changed", files.modified), ("Read", files.read)):
        if paths:
            yield f"{title}: {_paths(paths)}"


def _paths(paths: Sequence[str]) -> str:
    """The files touched last first."""
    shown = [literal(path, _FILE_LIMIT) for path in paths[::-1][:_FILES]]
    more = len(paths) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


COMPARISON = (
    Command(
        CommandSpec("diff", "compare two places: what was said and done on each side", "places"),
        in_session(_diff),
    ),
)
