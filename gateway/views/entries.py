"""Entries of a conversation as people name them and read them."""

import re
import unicodedata

from agent.text.markdown import bounded, escape
from agent.text.plain import plain
from agent.text.untrusted import visible
from storage.records.attached import label
from storage.records.entries import Entry, Json, Kind, Label, content_text, is_incomplete
from storage.store import Transaction
from storage.tree.branches import MESSAGES, SAID
from storage.tree.paths import sort_of

PERSONS = frozenset({"user"})
WORDS = 60
"""Characters of an entry's first words in a list."""

CUT_OFF = " (cut off)"
"""Behind the words of an answer that broke off."""

_NUMBER = re.compile(r"#?([0-9]{1,9})\Z")
_QUOTED = re.compile(r'["“„”](.*)["“”]\Z', re.DOTALL)
_MARKS = {
    "user": "👤",
    "assistant": "🤖",
    "calls": "🔧",
    "tool": "🔩",
    "compaction": "📦",
    "branch_summary": "🌿",
    "label": "🏷",
    "model_change": "🔀",
    "record": "📎",
}


def number_of(text: str) -> int | None:
    """The number in "#12" or "12"."""
    found = _NUMBER.match(text)
    return int(found[1]) if found else None


def unquoted(text: str) -> str:
    found = _QUOTED.match(text)
    return found[1] if found else text


def label_name(text: str) -> str:
    """A label's name in the one form in which it is kept and looked for."""
    return unicodedata.normalize("NFC", visible(text)).strip()


def find_label(labels: list[Label], name: str) -> Label | None:
    """By its name; where none is written quite so, by its letters whatever their case."""
    name = label_name(name)
    exact = [label for label in labels if label_name(label.name) == name]
    alike = [label for label in labels if label_name(label.name).casefold() == name.casefold()]
    return next(iter([*exact, *reversed(alike)]), None)


def find_entry(tx: Transaction, session: int, name: str) -> Entry | None:
    """What people call "#12", "12", or by a label."""
    number = number_of(name)
    found = tx.tree.numbered(session, number) if number is not None else None
    if found is not None:
        return found
    labels = tx.tree.labels(session)
    label = find_label(labels, name) or find_label(labels, unquoted(name))
    return tx.tree.entry(label.target) if label is not None else None


def last_of(
    tx: Transaction, leaf: int | None, sorts: frozenset[str], limit: int
) -> tuple[Entry, ...]:
    """The last entries of these sorts on the path to a leaf, upper first."""
    found: list[Entry] = []
    for part in reversed(tx.tree.route(leaf)):
        left = limit - len(found)
        if not left:
            break
        along = tx.tree.along(
            part.strand, 0, part.last_number, sorts=sorts, limit=left, newest=True
        )
        found = along + found
    return tuple(found)


def mark(entry: Entry) -> str:
    return _MARKS.get(sort_of(entry.kind, entry.body), "⚙")


def words(entry: Entry) -> str:
    """What an entry says, whole."""
    body = entry.body
    match entry.kind:
        case Kind.MESSAGE:
            said = content_text(body.get("content")).strip() or _calls(body)
            return f"{label(body)} {said}".strip()
        case Kind.COMPACTION | Kind.BRANCH_SUMMARY:
            return content_text(body.get("summary")).strip()
        case Kind.LABEL:
            return content_text(body.get("label")).strip() or "a label removed"
        case Kind.MODEL_CHANGE:
            return content_text(body.get("model")).strip() or "the usual model again"
        case Kind.RECORD:
            return content_text(body.get("record")).strip()


def first_words(entry: Entry, limit: int = WORDS) -> str:
    """One line without Markdown's marks, not escaped."""
    if is_incomplete(entry):
        return preview(words(entry), limit - len(CUT_OFF)) + CUT_OFF
    return preview(words(entry), limit)


def preview(markdown: str, limit: int) -> str:
    """One line of what a text says, not escaped."""
    return one_line(plain(markdown[: 8 * limit]), limit)


def one_line(text: str, limit: int) -> str:
    """At most `limit` characters of a text, of which those outside the first plane of Unicode
    count as two, as platforms count them."""
    line = bounded(visible(text[: 8 * limit]), limit)
    cut = line
    while len(cut.encode("utf-16-le", "replace")) // 2 > limit:
        cut = cut[:-1]
    return cut if cut == line else cut[:-1] + "…"


def spot(entry: Entry, limit: int = WORDS) -> str:
    """An entry in Markdown, on one line: "#12 👤 first words"."""
    return f"#{entry.number} {mark(entry)} {escape(first_words(entry, limit))}".rstrip()


def where(tx: Transaction, leaf: int | None) -> str:
    """Where a conversation is, in Markdown."""
    last = last_of(tx, leaf, SAID, 1)
    return f"You are after {spot(last[0])}" if last else "You are at the very beginning."


def is_unanswered(tx: Transaction, leaf: int | None) -> bool:
    """Whether the last message of a path is a person's."""
    last = last_of(tx, leaf, MESSAGES, 1)
    return bool(last) and last[0].body["role"] == "user"


def fenced(text: str, limit: int) -> str:
    """A text as a block that is easily copied; a cut is said."""
    text = visible(text)
    shown = text if len(text) <= limit else text[:limit]
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    block = f"{fence}\n{shown}\n{fence}"
    return block if shown == text else f"{block}\nCut: it has {len(text):,} characters."


def _calls(body: Json) -> str:
    return ", ".join(str(call["function"]["name"]) for call in body.get("tool_calls") or ())
