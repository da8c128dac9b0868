"""When a context is due to be compacted, and where it is cut. Pure.

A compaction never changes what is there: its entry says from which entry on the path is still told
word for word, and holds a summary of what came before that one. Sizes are tokens: what a model
reported, else an estimate of four bytes to a token.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from agent.runtime.next_step import calls_of
from agent.text.files import files_text
from agent.text.sizing import BYTES_PER_TOKEN, PICTURE_TOKENS, size
from agent.text.untrusted import as_text
from storage.records.attached import attached
from storage.records.entries import Entry, Kind, is_cut
from storage.records.record_entries import RecordKind, is_record
from storage.records.told_notes import notes_content
from storage.tree.paths import from_first_kept

DEFAULT_WINDOW = 128_000
"""Tokens that a model is taken to have room for where its window is not configured."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a path is cut, and what is cut off."""

    first_kept: int
    """The entry from which on everything is kept."""
    summarised: tuple[Entry, ...]
    """What the summary is to speak for, beside what the former one spoke for; upper first. What
    the former compaction kept and this one does not is here. Compactions are not."""
    previous: Entry | None
    """The former compaction: its summary is to be updated."""
    tokens_before: int


def context_tokens(path: Sequence[Entry]) -> int:
    """About how many tokens a model gets of a path, summary included.

    What the newest answer's model reported for its input and output, and an estimate of what came
    after it. Where no answer came after the newest compaction, all of it is estimated: what was
    reported before was for more than is sent now.
    """
    visible = from_first_kept(path)
    followers = 0
    for entry in reversed(visible):
        if entry.kind is Kind.COMPACTION:
            break
        if (reported := _reported(entry)) is not None:
            return reported + followers
        followers += _tokens(entry)
    compaction = newest_compaction(visible)
    summary = "" if compaction is None else as_text(compaction.body.get("summary"))
    return sum(map(_tokens, visible)) + _estimate(summary)


def recent_tokens(window: int | None, threshold: float, keep_recent_tokens: int) -> int:
    """What `cut` is to keep for a model with this window: half of what makes a compaction due
    where `keep_recent_tokens` is all of that or more."""
    limit = _limit(window, threshold)
    return keep_recent_tokens if keep_recent_tokens < limit else int(limit / 2)


def due(
    path: Sequence[Entry], window: int | None, threshold: float, keep_recent_tokens: int
) -> bool:
    """Whether the context takes more than this share of the window (tokens) and can be cut."""
    if context_tokens(path) <= _limit(window, threshold):
        return False
    return cut(path, recent_tokens(window, threshold, keep_recent_tokens)) is not None


def cut(
    path: Sequence[Entry], keep_recent_tokens: int, *, past_waiting: bool = False
) -> Cut | None:
    """Where to cut so that at most so many tokens are kept; more where the last place at which a
    cut is possible leaves more. None where nothing would be gained.

    The cut is before a message of a person or of the model, never between a call and what belongs
    to it: its results, late ones too, and records that it waits. From a call that still waits for
    a person everything is kept, but with `past_waiting`: its result is then told as a late one. A
    person's message is preferred, unless it comes so late that less than half would be kept of what
    could be.
    """
    visible = from_first_kept(path)
    place = _place(visible, _places(visible, past_waiting), keep_recent_tokens)
    if place is None:
        return None
    return Cut(
        first_kept=visible[place].id,
        summarised=tuple(e for e in visible[:place] if e.kind is not Kind.COMPACTION),
        previous=newest_compaction(visible),
        tokens_before=context_tokens(visible),
    )


def newest_compaction(path: Sequence[Entry]) -> Entry | None:
    return next((entry for entry in reversed(path) if entry.kind is Kind.COMPACTION), None)


def has_messages(entries: Iterable[Entry]) -> bool:
    """Whether anything was said in these entries: else there is nothing to summarise."""
    return any(entry.kind is Kind.MESSAGE for entry in entries)


def _limit(window: int | None, threshold: float) -> float:
    return threshold * (window or DEFAULT_WINDOW)


def _place(visible: Sequence[Entry], places: Sequence[int], keep: int) -> int | None:
    """Index of the first entry to keep, one of `places`."""
    kept = list(accumulate(map(_tokens, reversed(visible))))[::-1]
    if not places or kept[0] <= keep:
        return None
    fitting = [at for at in places if kept[at] <= keep]
    if not fitting:
        return places[-1]
    first = fitting[0]
    turn = next((at for at in fitting if _begins_turn(visible[at])), first)
    return turn if 2 * kept[turn] >= kept[first] else first


def _places(visible: Sequence[Entry], past_waiting: bool) -> list[int]:
    """Indices before which a cut is possible, with something said above it."""
    places: list[int] = []
    reach = _reach(visible, past_waiting)
    bound, said = -1, False
    for at, entry in enumerate(visible):
        if said and at > bound and (_begins_turn(entry) or _is_from(entry, "assistant")):
            places.append(at)
        bound = max(bound, reach[at])
        said = said or entry.kind is Kind.MESSAGE
    return places


def _reach(visible: Sequence[Entry], past_waiting: bool) -> list[int]:
    """For each entry the index of the last one that belongs to it: for a call's entry the last
    that tells of its calls, or, unless `past_waiting`, the end of the path while one of them waits;
    else its own."""
    reach = list(range(len(visible)))
    callers: dict[tuple[int | None, str], int] = {}
    waiting: dict[tuple[int, str], int] = {}
    for at, entry in enumerate(visible):
        if _is_from(entry, "assistant"):
            for call in calls_of(entry):
                callers[entry.id, call.id] = callers[None, call.id] = at
            continue
        is_result = _is_from(entry, "tool")
        if not is_result and not _suspends(entry):
            continue
        id_ = str(entry.body.get("tool_call_id"))
        caller = callers.get((entry.body.get("call_entry"), id_))
        if caller is None:
            continue
        reach[caller] = at
        if is_result:
            waiting.pop((caller, id_), None)
        else:
            waiting[caller, id_] = caller
    for caller in () if past_waiting else waiting.values():
        reach[caller] = len(visible)
    return reach


def _begins_turn(entry: Entry) -> bool:
    return entry.kind is Kind.BRANCH_SUMMARY or _is_from(entry, "user")


def _is_from(entry: Entry, role: str) -> bool:
    return entry.kind is Kind.MESSAGE and entry.body.get("role") == role


def _suspends(entry: Entry) -> bool:
    return is_record(entry, RecordKind.SUSPENDED)


def _reported(entry: Entry) -> int | None:
    """Tokens of the context up to this answer as its model counted them; None where it did not."""
    counted_by_it = _is_from(entry, "assistant") and not is_cut(entry)
    usage = entry.body.get("usage") if counted_by_it else None
    if not isinstance(usage, dict):
        return None
    counted = usage.get("input"), usage.get("output")
    return sum(n for n in counted if isinstance(n, int) and n > 0) or None


def _tokens(entry: Entry) -> int:
    """An estimate of what a model gets of an entry; nothing of a compaction."""
    match entry.kind:
        case Kind.MESSAGE:
            calls = entry.body.get("tool_calls")
            written = json.dumps(calls, ensure_ascii=False) if calls else ""
            pictures = sum(1 for file in attached(entry.body) if file.shown)
            said = as_text(entry.body.get("content")) + files_text(entry.body) + written
            return _estimate(said) + pictures * PICTURE_TOKENS
        case Kind.BRANCH_SUMMARY:
            return _estimate(as_text(entry.body.get("summary")))
        case Kind.RECORD:
            told = is_record(entry, RecordKind.SUSPENDED, RecordKind.SURPLUS)
            return _estimate(as_text(entry.body.get("result")) if told else notes_content(entry))
        case _:
            return 0


def _estimate(text: str) -> int:
    return -(-size(text) // BYTES_PER_TOKEN)
