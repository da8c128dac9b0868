"""A handoff made to fit a child's context. Pure. What is cut or dropped is said, never silent."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from agent.delegation.handoff.model import HandedCommand, Hydrated, HydratedFile, Probe
from agent.delegation.handoff.render import (
    FRAME,
    call_of,
    command_text,
    file_text,
    item_text,
    probe_text,
    result_of,
)
from agent.text.sizing import BYTES_PER_TOKEN, head, size, tail
from agent.text.untrusted import quote

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
_NAMED = 3
_FILES_NAMED = 10
_NAME = 60
"""How many of what was dropped are named, and characters of a name."""
_MISSES = 20
"""Items in a row that found no place, after which the rest is not tried."""
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
        *(file.path + file.text for file in hydrated.files),
        *(probe.probe + probe.result for probe in hydrated.probes),
        *(command.cmd + command.tail for command in hydrated.commands),
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
        given = self._hydrated
        dead_ends = self._keep("dead ends", given.dead_ends, _item_cost, _shorter_text, str)
        probes = self._keep("results", given.probes, _probe_cost, _shorter_probe, _probe_name)
        last_first = given.commands[::-1]
        commands = self._keep(
            "commands", last_first, _command_cost, _shorter_command, _command_name
        )
        files = self._keep_files(given.files)
        said = _said([*self._dropped, *self._cut, *given.cuts], self._part)
        return Hydrated(files, commands[::-1], probes, dead_ends, said)

    def _keep(
        self,
        what: str,
        items: Sequence[T],
        cost: Callable[[T], int],
        shorter: Callable[[T, int], T],
        name: Callable[[T], str],
    ) -> tuple[T, ...]:
        """What there is room for, each item whole or cut to its part of the budget."""
        kept: list[T] = []
        dropped: list[T] = []
        misses = 0
        for number, item in enumerate(items):
            if misses == _MISSES:
                dropped += items[number:]
                break
            allowed = min(self._room, self._part)
            whole = allowed >= _MIN_PIECE and cost(item) <= allowed
            fitted = item if whole else _longest(item, cost, shorter, allowed)
            if fitted is None:
                dropped.append(item)
                misses += 1
                continue
            kept.append(fitted)
            misses = 0
            self._room -= cost(fitted)
            if not whole:
                self._cut.append(f"of the {what}, {quote(name(item), _NAME)} is cut")
        self._note_dropped(what, [name(item) for item in dropped[:_NAMED]], len(dropped))
        return tuple(kept)

    def _keep_files(self, files: Sequence[HydratedFile]) -> tuple[HydratedFile, ...]:
        kept: dict[int, HydratedFile] = {}
        for number, file in enumerate(files):
            if len(file.text) <= self._room and _file_cost(file) <= self._room:
                kept[number] = file
                self._room -= _file_cost(file)
        dropped = []
        for number, file in enumerate(files):
            if number in kept:
                continue
            fitted = _longest(file, _file_cost, _shorter_file, self._room)
            if fitted is None:
                dropped.append(file.path)
                continue
            kept[number] = fitted
            self._room -= _file_cost(fitted)
            self._cut.append(f"{quote(file.path, _NAME)}: {fitted.note}")
        self._note_dropped("files", dropped[:_FILES_NAMED], len(dropped))
        return tuple(kept[number] for number in sorted(kept))

    def _note_dropped(self, what: str, names: Sequence[str], count: int) -> None:
        if count:
            named = ", ".join(quote(name, _NAME) for name in names)
            more = f" and {count - len(names):,} more" if count > len(names) else ""
            self._dropped.append(f"{what} dropped: {named}{more}")


def _longest(
    item: T, cost: Callable[[T], int], shorter: Callable[[T, int], T], allowed: int
) -> T | None:
    """The item with as much of its text as costs no more than is allowed; None where that is
    next to nothing."""
    if allowed < _MIN_PIECE or cost(best := shorter(item, _MIN_PIECE)) > allowed:
        return None
    low, high = _MIN_PIECE + 1, allowed
    while low <= high:
        middle = (low + high) // 2
        made = shorter(item, middle)
        if cost(made) <= allowed:
            best, low = made, middle + 1
        else:
            high = middle - 1
    return best


def _shorter_text(text: str, limit: int) -> str:
    return f"{head(text, limit)}… [cut, {len(text):,} characters in all]"


def _shorter_probe(probe: Probe, limit: int) -> Probe:
    return replace(probe, result=_shorter_text(probe.result, limit))


def _probe_name(probe: Probe) -> str:
    return probe.probe


def _shorter_command(command: HandedCommand, limit: int) -> HandedCommand:
    end = tail(command.tail, limit)
    return replace(command, tail=f"[cut, {len(command.tail):,} characters in all] …{end}")


def _command_name(command: HandedCommand) -> str:
    return command.cmd


def _shorter_file(file: HydratedFile, limit: int) -> HydratedFile:
    text = head(file.text, limit)
    if text.endswith("\n"):
        lines = file.text.count("\n") + (not file.text.endswith("\n"))
        where = f"only lines 1-{text.count(chr(10)):,} of {lines:,}"
    else:
        where = f"only the first {len(text):,} of {len(file.text):,} characters"
    note = f"{file.note}; {where}" if file.note else where
    return HydratedFile(file.path, text, None, note)


def _said(lines: Sequence[str], room: int) -> tuple[str, ...]:
    """The cuts, in at most `room` bytes; those that find no place are counted."""
    if sum(map(_item_cost, lines)) <= room:
        return tuple(lines)
    kept: list[str] = []
    room -= _item_cost(_more_cuts(len(lines)))
    for line in lines:
        if _item_cost(line) <= room:
            kept.append(line)
            room -= _item_cost(line)
    return (*kept, _more_cuts(len(lines) - len(kept)))


def _more_cuts(count: int) -> str:
    return f"and {count:,} more that are not listed here"
