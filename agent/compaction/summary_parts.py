"""Entries as text for whoever summarises them, in parts that fit its window. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import indent
from typing import assert_never

from agent.runtime.next_step import calls_of
from agent.text.markdown import bounded
from agent.text.sizing import pieces, size
from agent.text.templates import cut
from agent.text.untrusted import as_text
from storage.records.entries import Entry, Kind
from storage.records.speakers import name_taken_off, speaker_of

TOOL_LIMIT = 2_000
"""Characters of a call's arguments and of its result; a cut is said."""
MAX_PARTS = 20
"""Each is a model call. What is over is left out in the middle, and said."""
_NAME_LIMIT = 40

Block = tuple[str, str]
"""Who speaks, and what."""


def blocks_of(entries: Iterable[Entry]) -> Iterator[Block]:
    """What was said, upper first. Labels, model changes and most records say nothing."""
    for entry in entries:
        match entry.kind:
            case Kind.MESSAGE:
                yield from _said(entry)
            case Kind.BRANCH_SUMMARY:
                yield "summary of a branch that was left", as_text(entry.body.get("summary"))
            case Kind.COMPACTION:
                yield "summary of what came before", as_text(entry.body.get("summary"))
            case Kind.RECORD:
                if entry.body.get("record") == "suspended":
                    told = cut(as_text(entry.body.get("result")), TOOL_LIMIT)
                    yield "a call waits for a person's decision", told
            case Kind.LABEL | Kind.MODEL_CHANGE:
                pass
            case _:
                assert_never(entry.kind)


def parts_of(blocks: Iterable[Block], limit: int) -> tuple[list[str], int]:
    """The blocks as text in parts of at most `limit` bytes, and how many characters are left out.

    What is said stands indented below its speaker; a line that is not is ours. `limit` must have
    room for a speaker's name (400 has). Of more than MAX_PARTS the first and the last are kept.
    """
    parts = _packed(blocks, limit)
    if len(parts) <= MAX_PARTS:
        return parts, 0
    half = MAX_PARTS // 2
    left_out = sum(map(len, parts[half:-half]))
    note = f"[{left_out:,} characters are left out here]\n"
    return [*parts[:half], note + parts[-half], *parts[1 - half :]], left_out


def _said(entry: Entry) -> Iterator[Block]:
    text = as_text(entry.body.get("content"))
    match entry.body.get("role"):
        case "user":
            speaker = speaker_of(entry.body)
            if speaker is None:
                yield "person", text
            else:
                yield f"person [{speaker.id}] {_name(speaker.name)}", name_taken_off(entry.body)
        case "assistant":
            calls = calls_of(entry)
            if text or not calls:
                yield "assistant", text
            for call in calls:
                yield f"assistant calls {_name(call.name)}", cut(call.arguments, TOOL_LIMIT)
        case "tool":
            yield f"result of {_name(entry.body.get('name') or 'a call')}", cut(text, TOOL_LIMIT)
        case role:
            yield _name(role), text


def _name(name: object) -> str:
    return bounded(str(name), _NAME_LIMIT)


def _packed(blocks: Iterable[Block], limit: int) -> list[str]:
    parts: list[list[str]] = []
    room = 0
    for block in blocks:
        for shown in _shown(block, limit):
            taken = size(shown)
            if taken > room:
                parts.append([])
                room = limit
            parts[-1].append(shown)
            room -= taken
    return ["".join(part) for part in parts]


def _shown(block: Block, limit: int) -> Sequence[str]:
    """A block as it is read: in one piece of at most `limit` bytes, else in several."""
    speaker, text = block
    whole = _below(speaker, text)
    if size(whole) <= limit:
        return [whole]
    continued = f"{speaker} (continued)"
    room = limit - size(_below(continued, ""))
    # Indenting makes a text of short lines up to twice as long.
    first, *more = pieces(text, room // 2)
    return [_below(speaker, first), *(_below(continued, piece) for piece in more)]


def _below(speaker: str, text: str) -> str:
    return f"{speaker}:\n{indent(text, '  ')}\n"
