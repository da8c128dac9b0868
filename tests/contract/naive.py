"""Trees and searches that are too simple to be wrong, to hold a store's answers against: every
entry is looked at, every time."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from storage.records.entries import Entry, Kind, Label, Session, Strand, Stretch
from storage.search.query import MOST_ENDINGS, parse, terms_of, text_of, words_of
from storage.tree.paths import effective_labels, fork_point, sort_of


class NaiveTree:
    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        """As they were appended, oldest first."""
        self.sessions: dict[int, Session] = {}
        """As they were made."""

    def path(self, leaf: int | None) -> list[Entry]:
        if leaf is None:
            return []
        entry = self.entries[leaf]
        return [*self.path(entry.parent), entry]

    def own(self, session: int) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.session == session]

    def child_entries(self, session: int, parent: int | None) -> list[Entry]:
        return [entry for entry in self.own(session) if entry.parent == parent]

    def numbered(self, session: int, number: int) -> Entry | None:
        begins = self.path(fork_point(self.sessions[session]))
        found = (e for e in (*self.own(session), *reversed(begins)) if e.number == number)
        return next(found, None)

    def strand(self, entry: Entry) -> int:
        """The first entry of the strand that it is on."""
        above = self.entries.get(entry.parent or 0)
        if above is None or self.child_entries(entry.session, above.id)[0] != entry:
            return entry.id
        return self.strand(above) if above.session == entry.session else entry.id

    def on_strand(self, strand: int) -> list[Entry]:
        return [entry for entry in self.entries.values() if self.strand(entry) == strand]

    def route(self, entry: int | None) -> tuple[Stretch, ...]:
        lasts = {self.strand(each): each for each in self.path(entry)}
        return tuple(_stretch(self.entries[first], last) for first, last in lasts.items())

    def strands(self, session: int) -> list[Strand]:
        firsts = dict.fromkeys(map(self.strand, self.own(session)))
        return [self._strand(self.entries[first]) for first in firsts]

    def _strand(self, first: Entry) -> Strand:
        tip = self.on_strand(first.id)[-1]
        return Strand(
            first.id,
            first.session,
            first.parent,
            None if first.parent is None else self.strand(self.entries[first.parent]),
            first.number,
            first.depth,
            tip.id,
            tip.number,
            tip.depth,
            sort_of(first.kind, first.body),
            sort_of(tip.kind, tip.body),
        )

    def along(
        self, strand: int, low: int, high: int, sorts: Collection[str], limit: int, newest: bool
    ) -> list[Entry]:
        found = [
            entry
            for entry in self.on_strand(strand)
            if low <= entry.number <= high and sort_of(entry.kind, entry.body) in sorts
        ]
        return found[-limit:] if newest else found[:limit]

    def labels(self, session: int) -> list[Label]:
        held = self.sessions[session]
        begins = {entry.id for entry in self.path(fork_point(held))}
        own = {entry.id for entry in self.own(session)}
        found = effective_labels(self._label_entries(held))
        return [label for label in found if label.target in begins | own or not begins]

    def _label_entries(self, session: Session) -> list[Entry]:
        own = [entry for entry in self.own(session.id) if entry.kind is Kind.LABEL]
        if session.parent_session is None:
            return own
        inherited = self._label_entries(self.sessions[session.parent_session])
        return [entry for entry in inherited if entry.time <= session.created] + own


def naive_find(
    entries: Sequence[Entry],
    words: str,
    sessions: Collection[int],
    *,
    limit: int,
    before: int | None,
) -> list[Entry]:
    query = parse(words)
    if query is None:
        return []
    terms = {entry.id: terms_of(text_of(entry)) for entry in entries}
    endings = _endings(query.beginning, terms)
    return [
        entry
        for entry in reversed(entries)
        if entry.session in sessions
        and (before is None or entry.id < before)
        and terms[entry.id].issuperset(query.terms)
        and (not query.beginning or not terms[entry.id].isdisjoint(endings))
        and query.runs_in(text_of(entry))
    ][:limit]


def _endings(beginning: str, terms: Mapping[int, Iterable[str]]) -> set[str]:
    """The words that a beginning stands for."""
    words = set().union(*map(words_of, terms.values()))
    longer = sorted(word for word in words if word.startswith(beginning))
    return {beginning, *longer[:MOST_ENDINGS]}


def _stretch(first: Entry, last: Entry) -> Stretch:
    return Stretch(
        first.id, first.session, first.parent, first.depth, last.id, last.number, last.depth
    )
