"""/search: over all branches of the sessions that may be seen, with buttons that jump."""

from dataclasses import dataclass
from functools import cache

from adapters.base import CommandSpec
from agent.text.formats import age
from agent.text.markdown import escape
from agent.text.plain import plain
from gateway.access.visibility import viewers
from gateway.commands.buttons import button
from gateway.commands.context import Action, Command, CommandCall, Outcome, Reply, Slow
from gateway.commands.sessions.switch import Target
from gateway.outbound.buttons import MenuItem
from gateway.views.entries import one_line
from gateway.views.sessions import name_of
from storage.records.entries import Entry, Overview, Stretch
from storage.search.indexer import AT_ONCE, at_once
from storage.search.query import excerpt, parse, text_of
from storage.store import Store, Transaction
from storage.tree.paths import fork_point, is_on

ON_A_PAGE = 8
ROOM = 1_700
"""Characters of a page's hits."""
EXCERPT = 90
TITLE = 30
_ECHO = 60
_AT_ONCE = 50
_MOST_LOOKED_AT = 2_000
"""Hits for one page, where most of them may not be seen: what a fork's source says elsewhere."""
_LONGEST_QUERY = 500
_CUT = "More than that is not looked at: most of what has these words is not to be seen here."


@dataclass(frozen=True, slots=True)
class _Hit:
    entry: Entry
    home: Overview
    """The session that it is to be opened in."""


@dataclass(frozen=True, slots=True)
class _Page:
    hits: tuple[_Hit, ...]
    more: bool
    cut: bool = False
    """Not all that was found was looked at."""


def _search(tx: Transaction, call: CommandCall) -> Outcome:
    words = call.argument[:_LONGEST_QUERY]
    if parse(words) is None:
        return Reply("`/search WORDS` looks through all your conversations, in every branch.")
    return Slow(lambda: _searched(call, words, []))


@dataclass(frozen=True, slots=True)
class SearchPage(Action):
    """Another page of what was found."""

    words: str
    bounds: list[int]
    """Below which entry each page but the first began."""
    name = "search_page"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return Slow(lambda: _searched(call, self.words, self.bounds))


async def _searched(call: CommandCall, words: str, bounds: list[int]) -> Reply:
    store = call.context.store
    behind = await _is_behind(store)
    page, now = await store.read(lambda tx: (_page(tx, call, words, bounds), tx.now))
    if page.hits:
        return _listed(call, words, bounds, page, now)
    text = f"Nothing was found for “{escape(one_line(words, _ECHO))}”."
    if behind:
        text += " The newest messages cannot be found yet: try again in a moment."
    return Reply(f"{text} {_CUT}" if page.cut else text)


async def _is_behind(store: Store) -> bool:
    """Whether more is still to be indexed than what was indexed now."""
    limit = at_once(store)
    for _ in range(AT_ONCE // limit):
        if await store.run(lambda tx: tx.search.follow(limit)) < limit:
            return False
    return True


def _listed(call: CommandCall, words: str, bounds: list[int], page: _Page, now: float) -> Reply:
    shown: list[tuple[_Hit, str]] = []
    room = ROOM
    for hit in page.hits:
        text = _text(hit, words, now)
        room -= len(text)
        if shown and room < 0:
            break
        shown.append((hit, text))
    more = page.more or len(shown) < len(page.hits)
    items = [_jump(call, hit, now) for hit, _ in shown]
    items += _turning(words, bounds, shown[-1][0].entry.id if more else None)
    lines = [*(text for _, text in shown), *([_CUT] if page.cut else [])]
    return Reply("\n".join(lines), items, by=call.who)


def _text(hit: _Hit, words: str, now: float) -> str:
    entry = hit.entry
    title = escape(name_of(hit.home, TITLE))
    found = escape(plain(excerpt(text_of(entry), words, EXCERPT)))
    return f"**#{entry.number}** · {age(now - entry.time)} ago · {title}\n{found}"


def _jump(call: CommandCall, hit: _Hit, now: float) -> MenuItem:
    number = hit.entry.number
    if hit.home.session == call.session:
        return button(f"#{number}", f"goto #{number}", within=call.session)
    session = hit.home.session
    label = f"#{number} · {name_of(hit.home, TITLE)}"
    whole = (
        f"#{number} · {name_of(hit.home)} · conversation {session} · "
        f"{age(now - hit.entry.time)} ago"
    )
    return button(label, Target(session, number).command, whole=whole)


def _turning(words: str, bounds: list[int], last: int | None) -> list[MenuItem]:
    """◀ ▶. `last`: the last entry of this page, where more follow."""
    items = []
    if bounds:
        items.append(button("◀", SearchPage(words, bounds[:-1])))
    if last is not None:
        items.append(button("▶", SearchPage(words, [*bounds, last]), beside=bool(items)))
    return items


def _page(tx: Transaction, call: CommandCall, words: str, bounds: list[int]) -> _Page:
    """What may be seen of what is found, newest first."""
    scope = _Scope.of(tx, call)
    before = bounds[-1] if bounds else None
    hits: list[_Hit] = []
    overview = cache(tx.directory.overview)  # costs the session's size
    for _ in range(_MOST_LOOKED_AT // _AT_ONCE):
        found = tx.search.find(words, scope.sessions, limit=_AT_ONCE, before=before)
        for entry in found:
            home = scope.home(tx, entry)
            if home is None:
                continue
            if len(hits) == ON_A_PAGE:
                return _Page(tuple(hits), more=True)
            hits.append(_Hit(entry, overview(home)))
        if len(found) < _AT_ONCE:
            return _Page(tuple(hits), more=False)
        before = found[-1].id
    return _Page(tuple(hits), more=False, cut=True)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What may be searched where a command was given."""

    visible: frozenset[int]
    """Sessions of which all may be seen."""
    current: int | None
    forks: tuple[tuple[int, tuple[Stretch, ...]], ...]
    """Forks of which the beginning is in a session that may else not be seen, with that path; the
    conversation's own session before all others."""

    @classmethod
    def of(cls, tx: Transaction, call: CommandCall) -> "_Scope":
        members = viewers(call.message)
        forks = tx.directory.foreign_forks(members)
        here = [call.session] if call.session is not None else []
        paths = [
            (session, tx.tree.route(fork_point(tx.tree.session(session))))
            for session in dict.fromkeys([*here, *forks])
        ]
        return cls(frozenset(tx.directory.joined(members)), call.session, tuple(paths))

    @property
    def sessions(self) -> frozenset[int]:
        """Those that are looked through."""
        return self.visible | {part.session for _, path in self.forks for part in path}

    def home(self, tx: Transaction, entry: Entry) -> int | None:
        """The session in which an entry may be opened; None where it may not be seen."""
        if entry.session == self.current:
            return entry.session
        place = tx.tree.route(entry.id)[-1]
        for fork, path in self.forks:
            if is_on(path, place.strand, place.last_depth):
                return fork
        return entry.session if entry.session in self.visible else None


FINDING = (Command(CommandSpec("search", "look through all your conversations", "words"), _search),)
