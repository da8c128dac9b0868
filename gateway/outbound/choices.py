"""What buttons say, so that nobody presses one for another. Pure.

A button shows little. Where it shows not all of a choice, or two choices look the same, the text
lists all of them in full, and the buttons begin with their numbers.
"""

import textwrap
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.base import Renderer
from agent.text.alike import skeleton
from agent.text.markdown import bounded, escape, literal
from agent.text.untrusted import visible

HEAD = "**The choices in full**"
ALIKE = "⚠️ Some of them are easily taken for each other."
NOTHING_SEEN = "(nothing that can be seen)"
_LINE = 400
"""Characters of a long choice on one line. A line is never torn apart, so its code ends on it."""
_NAME = 48
"""Characters by which a choice is called that its button shows whole."""
_NAMED = 3
"""Characters that are named where two choices differ by them."""


@dataclass(frozen=True, slots=True)
class Offer:
    labels: tuple[str, ...]
    """For the buttons, as they show them."""
    listing: str = ""
    """All choices in full, in Markdown; "" where the buttons say all."""


def offer(
    renderer: Renderer | None, labels: Sequence[str], wholes: Sequence[str] | None = None
) -> Offer:
    """Buttons of one message. `wholes`: what each stands for, where that is more than its label."""
    names = [_line(label) for label in labels]
    if renderer is None:
        return Offer(tuple(names))
    shown = tuple(renderer.label(name) for name in names)
    if list(shown) == names and not _confusable(shown):
        return Offer(shown)
    full = names if wholes is None else [_line(whole) for whole in wholes]
    notes = _notes(names)
    if renderer.numbers_buttons:
        return Offer(tuple(map(_noted, full, notes)))
    numbered = tuple(renderer.label(f"{place}. {name}") for place, name in enumerate(names, 1))
    lines = [
        f"**{place}.** {_noted(_full(text), escape(note))}"
        for place, (text, note) in enumerate(zip(full, notes, strict=True), 1)
    ]
    head = [HEAD, *([ALIKE] if _confusable(names) else [])]
    return Offer(numbered, "\n".join([*head, *lines]))


def effects(items: Sequence[tuple[str, str]]) -> str:
    """What each button does, by its label, in Markdown; those that say it themselves are left
    out."""
    short = [bounded(label, _NAME) for label, _ in items]
    return "\n".join(
        f"- **{escape(name if short.count(name) == 1 else label)}**: {escape(does)}"
        for name, (label, does) in zip(short, items, strict=True)
        if does
    )


def told(text: str, listing: str) -> str:
    """A text with the choices that its buttons cannot show in full."""
    return f"{text}\n\n{listing}" if listing else text


def chosen(labels: Sequence[str], place: int) -> str:
    """One of several choices in full, in Markdown; with its number where another looks like it."""
    names = [_line(label) for label in labels]
    text = names[place]
    number = f"{place + 1}. " if len(_like(names, text)) > 1 else ""
    if len(text) > _LINE:
        return f"{number}\n{_full(text)}".lstrip()
    return escape(f"{number}{_noted(text, _notes(names)[place])}")


def _line(text: str) -> str:
    return " ".join(visible(text).split())


def _confusable(labels: Sequence[str]) -> bool:
    return len(set(map(skeleton, labels))) < len(labels)


def _like(names: Sequence[str], text: str) -> list[str]:
    """Those that are taken for this one, itself among them."""
    return [name for name in names if skeleton(name) == skeleton(text)]


def _full(text: str) -> str:
    """In code, whole, on as many lines as it takes."""
    pieces = textwrap.wrap(text, _LINE, break_on_hyphens=False)
    return "\n".join(literal(piece, _LINE) for piece in pieces) or NOTHING_SEEN


def _noted(text: str, note: str) -> str:
    return f"{text} {note}" if note else text


def _notes(names: Sequence[str]) -> list[str]:
    """What tells those apart that look the same; "" for all others."""
    skeletons = [skeleton(name) for name in names]
    count, seen, notes = Counter(skeletons), Counter[str](), []
    for name, bare in zip(names, skeletons, strict=True):
        seen[name] += 1
        if count[bare] == 1:
            notes.append("")
        elif names.count(name) > 1:
            notes.append(f"(one of {names.count(name)} that read the same: no. {seen[name]})")
        else:
            notes.append(_unusual(name))
    return notes


def _unusual(name: str) -> str:
    """The characters that one does not expect, by their names."""
    odd = list(dict.fromkeys(one for one in name if not one.isascii()))[:_NAMED]
    named = ", ".join(unicodedata.name(one, f"U+{ord(one):04X}") for one in odd)
    return f"(with {named})" if odd else ""
