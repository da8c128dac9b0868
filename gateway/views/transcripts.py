"""What the agents of a delegation said and did, in pages, for people: /agents with a number."""

from collections.abc import Iterator, Sequence

from agent.text.markdown import bounded, escape
from agent.text.untrusted import visible
from gateway.outbound.buttons import MenuItem
from gateway.views.delegations import family
from gateway.views.entries import fenced, preview
from storage.records.buttons import RunCommand
from storage.records.delegations import Delegation
from storage.records.entries import Entry, Kind
from storage.store import Transaction

PAGE = 1_800
"""Characters of one page, at the most. Discord takes 2,000 a message, and counts some as two."""
PIECE = 1_500
"""Characters of what was said that stand in one block: a turn that is longer than a page is cut."""
LINE = 200
"""Characters of what stands on one line, not in a block."""

_MOST_DIGITS = 9


def transcript(tx: Transaction, session: int, argument: str) -> tuple[str, list[MenuItem]]:
    """What the children of one delegation said, turn by turn; with a second number, that page of
    it. With the ways to the pages beside it."""
    number, _, asked = argument.partition(" ")
    rows = {row.id: row for row, _ in family(tx, session)}
    row = rows.get(_whole(number.removeprefix("#")))
    if row is None:
        return f"There is no delegation {escape(bounded(number, 40))} in this conversation.", []
    pages = _pages(_turns(tx, row))
    page = min(max(_whole(asked), 1), len(pages))
    text = pages[page - 1]
    if len(pages) > 1:
        text += f"\n\n_Page {page} of {len(pages)}_"
    ways = [
        ("◀ Back", page - 1, page > 1),
        ("Next ▶", page + 1, page < len(pages)),
        ("Last ⏭", len(pages), page < len(pages) - 1),
    ]
    there = [(label, to) for label, to, is_there in ways if is_there]
    return text, [
        MenuItem(label, RunCommand(f"agents {row.id} {to}"), beside=at > 0)
        for at, (label, to) in enumerate(there)
    ]


def _whole(digits: str) -> int:
    """0 for what is no number that anything here has."""
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else 0


def _turns(tx: Transaction, row: Delegation) -> Iterator[list[str]]:
    """Each as the blocks it is made of."""
    yield [f"**#{row.id}** {escape(preview(row.goal, 200))}"]
    for run in tx.tree.children(row.journal):
        yield [f"**{escape(run.title)}**"]
        for entry in tx.tree.path(run.leaf):
            if entry.kind is Kind.MESSAGE:
                yield list(_turn(entry))


def _turn(entry: Entry) -> Iterator[str]:
    body = entry.body
    who = f"{body['role']} {body['name']}" if body["role"] == "tool" else body["role"]
    lead = f"_{escape(who)}_:"
    if body["content"] or not body.get("tool_calls"):
        yield from _said(lead, str(body["content"] or ""))
        lead = ""
    for call in body.get("tool_calls") or ():
        function = call["function"]
        yield from _said(f"{lead} → {escape(function['name'])}".strip(), function["arguments"])
        lead = ""


def _said(lead: str, text: str) -> Iterator[str]:
    text = visible(text).strip()
    if len(text) <= LINE and "\n" not in text:
        yield f"{lead} {escape(text)}"
        return
    for piece in _pieces(text):
        yield f"{lead}\n{fenced(piece, PIECE)}"


def _pieces(text: str) -> Iterator[str]:
    """Cut at the ends of lines where that is not far."""
    while len(text) > PIECE:
        at = text.rfind("\n", PIECE // 2, PIECE) + 1 or PIECE
        yield text[:at]
        text = text[at:]
    yield text


def _pages(turns: Iterator[list[str]]) -> list[str]:
    """Whole turns; only one that is longer than a page is cut, and has its pages for itself."""
    pages: list[str] = []
    for blocks in turns:
        whole = "\n".join(blocks)
        if pages and len(pages[-1]) + 2 + len(whole) <= PAGE:
            pages[-1] += f"\n\n{whole}"
        elif len(whole) <= PAGE:
            pages.append(whole)
        else:
            pages += _packed(blocks)
    return pages


def _packed(blocks: Sequence[str]) -> list[str]:
    pages = [blocks[0]]
    for block in blocks[1:]:
        if len(pages[-1]) + 1 + len(block) <= PAGE:
            pages[-1] += f"\n{block}"
        else:
            pages.append(block)
    return pages
