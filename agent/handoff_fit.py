"""A handoff made to fit a child's context. Pure. What is cut or dropped is said, never silent."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from agent.handoff import HandedCommand, Hydrated, HydratedFile, Probe
from agent.handoff_text import (
    FRAME,
    call_of,
    command_text,
    file_text,
    item_text,
    probe_text,
    result_of,
)
from agent.measure import BYTES_PER_TOKEN, head, size, tail
from agent.plain import quote

SHARE = 0.25
"""Of a child's context window that a handoff may take, where nothing else is configured."""
DEFAULT_WINDOW = 128_000
"""Tokens of a context window that is not configured."""
MIN_BUDGET = 300
"""Tokens under which no budget counts: what it takes to say that something was left out."""
_PARTS = 8
"""One dead end, result or command gets at most this part of the budget, the cuts get one too."""
_MIN_PIECE = 80
"""Bytes under which no piece of a text is worth showing."""
_NAME = 80
_FENCE = 40
_LONGEST_ID = "handoff_1000000"

T = TypeVar("T")


def budget(window: int | None, share: float = SHARE) -> int:
    """Tokens for a handoff to a child with this context window."""
    return int((window or DEFAULT_WINDOW) * share)


def tokens(hydrated: Hydrated) -> int:
    """About what the handoff takes of a child's context: its texts, and its commands in whichever
    form is longer."""
    return -(-_size_of(hydrated) // BYTES_PER_TOKEN)


def prune(hydrated: Hydrated, budget_tokens: int) -> Hydrated:
    """The handoff in at most this many tokens (or MIN_BUDGET, if that is more).

    One that fits comes back as it is. Else room goes to dead ends, then probe results, then
    commands, the last ones first, then files. Of a dead end or a result the beginning is kept, of
    a command the end of its output. Files are whole where possible, in their order; what is left
    of the room goes to the beginnings of the others, cut at a line.
    """
    limit = max(budget_tokens, MIN_BUDGET) * BYTES_PER_TOKEN
    if _least_size(hydrated) <= limit and _size_of(hydrated) <= limit:
        return hydrated
    return _Pruning(hydrated, limit).pruned()


def _least_size(hydrated: Hydrated) -> int:
    """A quick lower bound of the size: most of what is too much need not be written out."""
    fenced = len(hydrated.files) + len(hydrated.commands) + len(hydrated.probes)
    texts = [
        *(file.text for file in hydrated.files),
        *(probe.result for probe in hydrated.probes),
        *(command.tail for command in hydrated.commands),
        *hydrated.dead_ends,
    ]
    return fenced * _FENCE + sum(len(text.strip()) for text in texts)


def _size_of(hydrated: Hydrated) -> int:
    return size(FRAME) + sum(
        [
            *map(_file_cost, hydrated.files),
            *map(_probe_cost, hydrated.probes),
            *map(_command_cost, hydrated.commands),
            *map(_item_cost, hydrated.dead_ends),
            *map(_item_cost, hydrated.cuts),
        ]
    )


def _file_cost(file: HydratedFile) -> int:
    return size(file_text(file)) + 1


def _probe_cost(probe: Probe) -> int:
    return size(probe_text(probe)) + 1


def _item_cost(text: str) -> int:
    return size(item_text(text)) + 1


def _command_cost(command: HandedCommand) -> int:
    messages = [call_of(_LONGEST_ID, command), result_of(_LONGEST_ID, command)]
    as_calls = size(json.dumps(messages, ensure_ascii=False))
    return max(as_calls, size(command_text(command)) + 1)


class _Pruning:
    """The room that is left, and what was lost for want of it."""

    def __init__(self, hydrated: Hydrated, limit: int) -> None:
        self._hydrated = hydrated
        self._part = limit // _PARTS
        self._room = limit - size(FRAME) - self._part
        self._dropped: list[str] = []
        self._cut: list[str] = []

    def pruned(self) -> Hydrated:
        dead_ends = self._dead_ends(self._hydrated.dead_ends)
        probes = self._probes(self._hydrated.probes)
        commands = self._commands(self._hydrated.commands)
        files = self._files(self._hydrated.files)
        said = _said([*self._dropped, *self._cut, *self._hydrated.cuts], self._part)
        return Hydrated(files, commands, probes, dead_ends, said)

    def _dead_ends(self, texts: Sequence[str]) -> tuple[str, ...]:
        kept = []
        for number, text in enumerate(texts, start=1):
            made = self._take(text, _item_cost, lambda n, text=text: _beginning(text, n))  # type: ignore[misc]
            if made is None:
                continue
            kept.append(made)
            if made != text:
                self._cut.append(f"dead end {number} is cut")
        self._note_dropped("dead ends", len(texts) - len(kept), len(texts), [])
        return tuple(kept)
