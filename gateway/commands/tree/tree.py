"""/tree: the conversation as a drawn tree, in pages, and as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from adapters.base import CommandSpec
from agent.text.formats import age
from agent.text.markdown import bounded, escape
from gateway.commands.buttons import button, turning
from gateway.commands.context import (
    NOTHING_YET,
    Command,
    CommandCall,
    Outcome,
    Reply,
    Slow,
    in_session,
)
from gateway.outbound.buttons import MenuItem
from gateway.outbound.pictures import DECODING
from gateway.views.entries import first_words, number_of, where
from gateway.views.outline import Run, outline, page_of_leaf, pages
from gateway.views.tree_image import Branch, Picture, draw
from gateway.views.tree_text import LINES, PER_RUN, Filter, View, page_lines
from storage.records.entries import Strand, Stretch
from storage.records.inbox_outbox import StoredFile
from storage.store import Transaction
from storage.tree.branches import SAID, said_strands
from storage.tree.paths import fork_point

PICTURED = 40
"""Runs in a picture."""
BEGINNING = "the beginning"
_TITLE = 60
"""Characters of a row in a picture."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page of the tree, and what a picture of it is made from."""

    text: str
    items: tuple[MenuItem, ...]
    picture: Picture | None


@dataclass(frozen=True, slots=True)
class _Outlined:
    """A session's tree before any entry of it is read."""

    runs: Sequence[Run]
    branches: int
    inherited: int | None
    """The entry that a fork begins with."""
    route: tuple[Stretch, ...]
    """To the leaf; to what it hangs on where that is drawn nowhere."""

    @property
    def several(self) -> bool:
        """It begins with branches, not with one message that all hang on."""
        return bool(self.runs) and self.runs[0].begins


def _tree(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    try:
        shown, page = parse(call.argument)
    except ValueError as error:
        return Reply(str(error))
    drawn = drawn_tree(tx, session, shown, page, pictured=call.pressed is None)
    picture, text = drawn.picture, Reply(drawn.text, drawn.items)
    if picture is None:
        return text

    async def with_picture() -> Reply:
        file = StoredFile(
            "tree.png", await DECODING.run(call.address, partial(draw, picture)), picture=True
        )
        # The text follows, for its buttons must stay below.
        return Reply("The branches of this conversation", file=file, then=text)

    return Slow(with_picture)


def parse(argument: str) -> tuple[Filter, int | None]:
    """The filter, and the page where one is named. ValueError, for people, for anything else."""
    shown, page = Filter.DEFAULT, None
    for word in argument.split():
        if (number := number_of(word)) is not None:
            page = number
        elif word.lower() in set(Filter):
            shown = Filter(word.lower())
        else:
            names = ", ".join(Filter)
            raise ValueError(f"/tree shows {names}; {escape(bounded(word, 40))} is none of them.")
    return shown, page


def drawn_tree(
    tx: Transaction, session: int, shown: Filter, page: int | None, *, pictured: bool
) -> Drawn:
    """A page of the tree: the one with the leaf where none is named; pages count from 1."""
    tree = _outlined(tx, session, shown)
    if not tree.runs and tree.inherited is None:
        return Drawn(NOTHING_YET, (), None)
    found = pages(tree.runs, lines=LINES, per_run=PER_RUN)
    at = page_of_leaf(found) if page is None else max(1, min(page, len(found))) - 1
    labels = {label.target: label.name for label in tx.tree.labels(session)}
    leaf = tree.route[-1].last if tree.route else None
    view = View(tx, shown, labels, leaf)
    lines = _first_line(tx, tree) if at == 0 else []
    lines += page_lines(view, found[at]) if found else []
    many = "1 branch" if tree.branches == 1 else f"{tree.branches:,} branches"
    head = [many, *([] if shown is Filter.DEFAULT else [shown.value])]
    if len(found) > 1:
        head.append(f"page {at + 1} of {len(found)}")
    block = "\n".join(["```", *lines, "```"])
    text = f"{' · '.join(head)}\n{block}\n{where(tx, leaf)}"
    items = (
        *turning(session, f"tree {shown.value}", at + 1, len(found)),
        *_filters(session, shown),
    )
    picture = _picture(view, tree) if pictured and tree.branches > 1 else None
    return Drawn(text, items, picture)


def _outlined(tx: Transaction, session: int, shown: Filter) -> _Outlined:
    found = tx.tree.session(session)
    route = tx.tree.route(found.leaf)
    if shown is Filter.ALL:
        strands = tx.tree.strands(session)
    else:
        strands = said_strands(tx, session)
        route = _as_far_as_drawn(tx, session, route, strands)
    runs = outline(strands, route)
    ends = {strand.tip for strand in strands} - {strand.parent for strand in strands}
    return _Outlined(runs, max(len(ends), 1), fork_point(found), route)


def _as_far_as_drawn(
    tx: Transaction, session: int, route: tuple[Stretch, ...], strands: Sequence[Strand]
) -> tuple[Stretch, ...]:
    drawn = {strand.first: strand for strand in strands}
    while route and route[-1].session == session:
        strand = drawn.get(route[-1].strand)
        if strand is None:
            route = tx.tree.route(route[-1].parent)
        elif route[-1].last_depth > strand.tip_depth:
            return tx.tree.route(strand.tip)
        else:
            break
    return route


def _first_line(tx: Transaction, tree: _Outlined) -> list[str]:
    """What the tree hangs on, where that is more than its first message alone."""
    below = any(run.here for run in tree.runs)
    if tree.inherited is None:
        shown = tree.several or not below
        return [f"{'›' if below else '●'} ○ {BEGINNING}"] if shown else []
    inside = tree.route and not below
    here = f", you are at #{tree.route[-1].last_number}" if inside else ""
    gutter = "●" if inside else "›" if tree.route else " "
    return [f"{gutter} ⋮ {_inherited(tx, tree.inherited)}{here}"]


def _inherited(tx: Transaction, last: int) -> str:
    entry = tx.tree.entry(last)
    return f"{entry.depth + 1:,} from another conversation, to #{entry.number}"


def _filters(session: int, shown: Filter) -> list[MenuItem]:
    others = [one for one in Filter if one is not shown]
    return [
        button(one.value, f"tree {one.value}", within=session, beside=place > 0)
        for place, one in enumerate(others)
    ]


def _picture(view: View, tree: _Outlined) -> Picture:
    """The runs around the leaf, as many as fit."""
    runs = tree.runs
    on_path = [index for index, run in enumerate(runs) if run.here]
    middle = on_path[-1] if on_path else 0
    start = max(0, min(middle - PICTURED // 2, len(runs) - PICTURED))
    shown = runs[start : start + PICTURED]
    branches = tuple(_branch(view, run) for run in shown)
    if tree.several and not start:
        branches = (_beginning(view.tx, tree), *branches)
    return Picture(branches, above=start, below=len(runs) - start - len(shown))


def _beginning(tx: Transaction, tree: _Outlined) -> Branch:
    below = any(run.here for run in tree.runs)
    inherited = tree.inherited is not None
    return Branch(
        level=0,
        begins=False,
        title=_inherited(tx, tree.inherited) if tree.inherited is not None else BEGINNING,
        detail="",
        labels=(),
        person=False,
        here=below or bool(tree.route) or not inherited,
        leaf=not below and (bool(tree.route) or not inherited),
    )


def _branch(view: View, run: Run) -> Branch:
    tree = view.tx.tree
    low, high = view.bounds(run)
    said = tree.along(run.strand, low, high, sorts=SAID, limit=1)
    entry = said[0] if said else tree.entry(run.last)
    spans = "1 entry" if run.count == 1 else f"{run.count:,} entries to #{high}"
    names = [view.labels[entry.id] for entry in view.labelled(run)]
    return Branch(
        level=run.level,
        begins=run.begins,
        title=f"#{entry.number} {first_words(entry, _TITLE)}",
        detail=f"{spans} · {age(view.tx.now - entry.time)} ago",
        labels=tuple(names[:3]),
        person=entry.body.get("role") == "user",
        here=run.here,
        leaf=run.last == view.leaf,
    )


TREE = (
    Command(
        CommandSpec(
            "tree",
            "the tree: default, user, labeled, no-tools or all; a page",
            "filter",
            completes=True,
        ),
        in_session(_tree),
    ),
)
