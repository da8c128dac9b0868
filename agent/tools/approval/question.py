"""What people read when a call asks for approval, in Markdown: all of what will run, where, for
whom, and the files that it names. Pure.

First the bot's own facts, then what a model wrote, each in a block of code.

What would run comes from a model, which may have been talked into hiding something. So it stands
in code, nothing is cut, and what cannot be seen, or changes how others are seen, stands as its
number.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from agent.errors import ToolError
from agent.text.alike import skeleton
from agent.text.markdown import escape, literal
from agent.text.untrusted import visible
from agent.tools.base import NOTHING_DONE, Bound, Requested

LONGEST = 12_000
"""Characters that people are asked to read."""
LONGEST_GIVEN = 4 * LONGEST
"""Characters that are looked through, one by one, on the event loop. Long runs of spaces count."""
_NEVER_PLAIN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
"""Categories of characters that have no shape of their own."""
_PLAIN = frozenset(" \n\t")
_SHAPELESS = re.compile("[\u2800\ufe00-\ufe0f⟨⟩]")
"""What looks like a space, or like our own marks."""
_TURNING = frozenset({"R", "AL", "AN"})
_SPACES = re.compile(r"[ \t]{40,}")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){4,}")
_BACKTICKS = re.compile("`+")
_LANGUAGES = {"": "", "shell": "sh", "python": "python", "json": ""}
_GOAL = 300
_NAMED = 3
MARKED = "⚠️ Characters that cannot be seen, or that change how others are seen, stand as ⟨U+…⟩."
FRAMED = (
    "⚠️ The block below has lines that look like mine, or like its end. All {lines} lines of it are "
    "text of the agent."
)
SAME_FILES = (
    "It runs only with these files as they are now. If one of them changes, I ask again, before "
    "later runs too."
)
_OURS = re.compile(r"^\s*(?:```|~~~|\*\*|⚠)", re.MULTILINE)
"""What could pass for a line of the bot's, where code is shown as it is written."""
FRAMED_FILE = "⚠️ The next {lines} lines, in a block, are text of the file, whatever they look like."
_HEAD_FILES = 20
_HEAD = 3_000
"""Characters of the first lines of one file, with what cannot be seen as numbers."""
FOLDED = "⚠️ Long runs of spaces or empty lines stand as ⟨…⟩."


@dataclass(frozen=True, slots=True)
class Asking:
    """Who wants a call to be run."""

    name: str
    """Of the person it is for; untrusted. "" where nobody asked for it."""
    person: str
    """Their identity."""
    address: str
    goal: str | None = None
    """What the child was told to do that calls; None: the agent that people talk to."""


def question_text(
    tool: str, requested: Requested, asking: Asking, bound: Bound | None = None, why: str = ""
) -> str:
    """`why`: why it is asked again, in Markdown. ToolError where it is more than people can be
    asked to read."""
    if len(requested.shown) > LONGEST_GIVEN:
        raise _too_long(requested.shown)
    code, notes = _plainly(requested)
    place = "".join(_shown(requested.where, turning=True))
    if len(code) + len(place) > LONGEST:
        raise _too_long(code + place)
    if place != requested.where and MARKED not in notes:
        notes.append(MARKED)
    if _OURS.search(code):
        notes.append(FRAMED.format(lines=f"{code.count(chr(10)) + 1:,}"))
    facts = [
        f"**Approval needed** · {literal(tool, 100)}",
        *([why] if why else []),
        *_how(requested),
        f"**For:** {_for(asking)}",
        f"**Asked by:** {_by(asking)}",
        *notes,
    ]
    where = [f"**Where:** {literal(place, LONGEST)}"] if place else []
    files = _files(bound) if bound is not None else []
    return "\n\n".join(
        ["\n".join(facts), _block(code, _LANGUAGES[requested.syntax]), *where, *files]
    )


def changed_text(paths: Sequence[str]) -> str:
    """Why a call is asked for again: what changed since it was approved."""
    named = ", ".join(
        literal(path, 200) if path else "how it is confined" for path in paths[:_NAMED]
    )
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"⚠️ It was approved and did not run, because this changed since then: {named}{more}."


def no_right_text(name: str) -> str:
    """Why a call is asked for again: who approved it lost the right."""
    return f"⚠️ {escape(name)} approved it and may not approve any more, so it did not run."


def _how(requested: Requested) -> list[str]:
    """How it runs, in our own words, and the real folder."""
    if not requested.runs:
        return []
    folder = f" · in {literal(_plain_line(requested.folder), LONGEST)}" if requested.folder else ""
    return [f"**Runs:** {requested.runs}{folder}"]


def _files(bound: Bound) -> list[str]:
    """The files that a call names, one block for each head, then what is not compared."""
    parts, listed = [], []
    for file in bound.files[:_HEAD_FILES]:
        title = f"{literal(_plain_line(file.path), 200)}, {file.told}"
        head = "".join(_shown(file.head, turning=True))
        if not head or len(head) > _HEAD:
            listed.append(f"- {title}")
            continue
        if _OURS.search(head):
            title = f"{title}\n{FRAMED_FILE.format(lines=head.count(chr(10)) + 1)}"
        lines = "1 more line" if file.more == 1 else f"{file.more:,} more lines"
        rest = f" · {lines}, not shown" if file.more else ""
        parts.append(f"**File:** {title}{rest}\n{_block(head, '')}")
    if listed:
        parts.append("\n".join(["**Files:**", *listed]))
    told = [SAME_FILES] if bound.files else []
    notes = "\n".join([*told, *(f"⚠️ {note}" for note in bound.notes)])
    return [*parts, notes] if notes else parts


def _block(code: str, language: str) -> str:
    fence = _fence(code)
    return "\n".join([f"{fence}{language}", code, fence])


def _fence(code: str) -> str:
    return "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(code)), default=0))


def _plain_line(text: str) -> str:
    return "".join(_shown(text, turning=True)).replace("\n", "⟨U+000A⟩")


def _too_long(text: str) -> ToolError:
    return ToolError(
        "a person must approve this call, and it is too long to be shown to them in full "
        f"({len(text):,} characters, at most {LONGEST:,}): make it shorter; {NOTHING_DONE}"
    )


def _for(asking: Asking) -> str:
    who = [escape(asking.name)] if asking.name else []
    who += [literal(asking.person, 200)] if asking.person else []
    return f"{' · '.join(who) or 'nobody who is here'}, in {literal(asking.address, 200)}"


def _by(asking: Asking) -> str:
    if asking.goal is None:
        return "the agent of this chat"
    return f"a child of the agent, whose task is {literal(asking.goal, _GOAL)}"


def _plainly(requested: Requested) -> tuple[str, list[str]]:
    """The text to be shown as code, and what is to be known of it."""
    is_code = requested.syntax in ("shell", "python")
    marked = "".join(_shown(requested.shown, turning=is_code))
    folded = _SPACES.sub(lambda run: f"⟨{len(run[0])} spaces⟩", marked)
    folded = _BLANK_LINES.sub(lambda run: f"\n⟨{run[0].count(chr(10)) - 1} empty lines⟩\n", folded)
    notes = [f"⚠️ {requested.risk}"] if requested.risk else []
    notes += [MARKED] if marked != requested.shown else []
    notes += [FOLDED] if folded != marked else []
    if requested.syntax and (alike := _alike(requested.shown)):
        notes.append(f"⚠️ Letters that look like others: {alike}.")
    return folded, notes


def _shown(text: str, *, turning: bool) -> list[str]:
    """Character by character. `turning`: letters that are written from right to left are marked
    too, because they move what stands beside them."""
    found, before = [], ""
    for one in text:
        category = unicodedata.category(one)
        piled = category in ("Mn", "Me") and before in ("Mn", "Me")
        turns = turning and unicodedata.bidirectional(one) in _TURNING
        hidden = category in _NEVER_PLAIN or not visible(one) or _SHAPELESS.match(one)
        plain = one in _PLAIN or not (hidden or piled or turns)
        found.append(one if plain else f"⟨U+{ord(one):04X}⟩")
        before = category
    return found


def _alike(text: str) -> str:
    """The letters that are taken for ASCII ones, by their names."""
    odd = [one for one in dict.fromkeys(text) if not one.isascii() and one.isalpha()]
    taken = [one for one in odd if (bare := skeleton(one)).isascii() and bare]
    return ", ".join(unicodedata.name(one, f"U+{ord(one):04X}") for one in taken[:_NAMED])
