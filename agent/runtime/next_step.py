"""What comes next in a session, read from the end of its path. Pure.

A turn keeps no state of its own: whoever holds a path, after a crash too, knows from it whether
the model must be called, which tool calls are still to be run, or that nothing is to be done.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agent.models.base import REQUIRED, ToolCall
from agent.tools.think import ThinkTool
from storage.records.entries import Entry, Json, Kind, is_cut
from storage.records.record_entries import SurplusCalls, SuspendedCall, held_in


@dataclass(frozen=True, slots=True)
class CallModel:
    """The model's word is next: somebody spoke, or its own broke off."""


@dataclass(frozen=True, slots=True)
class RunTools:
    """These calls of this entry have no result yet, and wait for nobody."""

    entry: Entry
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Suspended:
    """Every call that is left waits for a person."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The model has answered."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nobody has said anything yet."""


Next = CallModel | RunTools | Suspended | Ended | Nothing


def next_step(path: Sequence[Entry]) -> Next:
    caller, followers = _last_turn_of_speech(path)
    if caller is None:
        return CallModel() if any(e.kind is Kind.MESSAGE for e in followers) else Nothing()
    if any(not _answers(entry, caller) for entry in followers if entry.kind is Kind.MESSAGE):
        return CallModel()
    calls = calls_of(caller)
    if not calls:
        return CallModel() if is_cut(caller) else Ended(caller)
    answered = {e.body["tool_call_id"] for e in followers if e.kind is Kind.MESSAGE}
    suspended = (held_in(e, SuspendedCall) for e in followers)
    waiting = {s.tool_call_id for s in suspended if s is not None and s.call_entry == caller.id}
    calls = taken_calls(calls, followers, caller)
    left = tuple(c for c in calls if c.id not in answered and c.id not in waiting)
    if left:
        return RunTools(caller, left)
    return CallModel() if answered else Suspended()


def calls_of(entry: Entry) -> tuple[ToolCall, ...]:
    """The tool calls of an assistant entry."""
    return tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in entry.body.get("tool_calls") or ()
    )


def taken_calls(
    calls: Sequence[ToolCall], followers: Sequence[Entry], caller: Entry
) -> tuple[ToolCall, ...]:
    """Those of an entry's calls that are to be run: all, unless it had too many."""
    for entry in followers:
        surplus = held_in(entry, SurplusCalls)
        if surplus is not None and surplus.call_entry == caller.id:
            return tuple(call for call in calls if call.id in surplus.taken)
    return tuple(calls)


def rounds(path: Sequence[Entry]) -> int:
    """Model calls since something came from outside: what an iteration limit counts."""
    count, caller = 0, None
    for entry in path[_last_said(path) :]:
        if entry.kind is not Kind.MESSAGE:
            continue
        match entry.body["role"]:
            case "assistant":
                count, caller = count + (not entry.body.get("handed")), entry
            case "tool" if caller is not None and _goes_on(entry, caller):
                pass
            case _:
                count = 0
    return count


EQUAL_FAILURES = 3
"""Of one call, after which the model is told that it repeats itself; the next one ends the run."""
REPEATS = (
    "\n\n[This call has failed with the same error in three of your replies. Do not make it again: "
    "change it, or say in text what you could not do. Once more, and you are stopped.]"
)
"""At the end of the result that tells it."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """The model went on with a call that failed each time, though it was told."""

    tool: str
    times: int
    error: str


def failed_before(path: Sequence[Entry], call: ToolCall, error: str) -> int:
    """In how many replies this very call got this very error, since something new came."""
    return _failures(path)[0][call.name, call.arguments, error]


def repeated(path: Sequence[Entry]) -> Repeated | None:
    """The call for which a run is to end; it was told so before."""
    counts, again = _failures(path)
    if again is None:
        return None
    return Repeated(again[0], counts[again], again[2])


_Failure = tuple[str, str, str]
"""Tool, arguments, error."""


def _failures(path: Sequence[Entry]) -> tuple[Counter[_Failure], _Failure | None]:
    """In how many replies each call failed alike, and the one that was made again after the model
    was told. What a person says, and a result that is new, begin the count anew."""
    counts: Counter[_Failure] = Counter()
    again: _Failure | None = None
    calls: dict[tuple[int, str], ToolCall] = {}
    counted: set[tuple[int, _Failure]] = set()
    told: set[_Failure] = set()
    known: set[_Failure] = set()
    for entry in path[_last_said(path) :]:
        if entry.kind is not Kind.MESSAGE:
            continue
        if entry.body["role"] == "assistant":
            calls |= {(entry.id, call.id): call for call in calls_of(entry)}
        caller = entry.body.get("call_entry", 0)
        call = calls.get((caller, entry.body.get("tool_call_id", "")))
        if call is None:
            continue
        content = str(entry.body["content"])
        failure = (call.name, call.arguments, content.removesuffix(REPEATS))
        if not content.startswith("Error: "):
            if failure not in known and call.name != ThinkTool.name:
                counts.clear()
                told.clear()
                again = None
            known.add(failure)
        elif (caller, failure) not in counted:
            counted.add((caller, failure))
            counts[failure] += 1
            again = failure if failure in told else again
            if content.endswith(REPEATS):
                told.add(failure)
    return counts, again


def said_before(path: Sequence[Entry]) -> frozenset[str]:
    """The texts that the model wrote beside its calls since a person spoke, without cut ones."""
    return frozenset(
        str(entry.body["content"] or "").strip()
        for entry in path[_last_said(path) :]
        if entry.kind is Kind.MESSAGE
        and entry.body["role"] == "assistant"
        and not is_cut(entry)
        and not entry.body.get("handed")
    )


END_NOW = {"end_now": True}
"""What a message has besides, after which nothing but a final tool's call is wanted."""


def wish(path: Sequence[Entry], final: Sequence[str], limit: int) -> str:
    """Which tool the next call of the model must call, if any: one that ends the run, where it
    should have come, and in the last of `limit` steps."""
    last = next((entry for entry in reversed(path) if entry.kind is Kind.MESSAGE), None)
    late = last is not None and bool(last.body.get("end_now"))
    if not final or not (late or rounds(path) == limit - 1):
        return ""
    return final[0] if len(final) == 1 else REQUIRED


def _last_said(path: Sequence[Entry]) -> int:
    """Where in the path a person spoke last; its beginning where nobody did."""
    backwards = range(len(path) - 1, 0, -1)
    said = (i for i in backwards if path[i].kind is Kind.MESSAGE and path[i].body["role"] == "user")
    return next(said, 0)


def suspended_calls(path: Sequence[Entry]) -> dict[tuple[int, str], int]:
    """(assistant entry, call id) → question, of calls that wait on this path without a result."""
    waiting = {
        (s.call_entry, s.tool_call_id): s.question
        for s in (held_in(e, SuspendedCall) for e in path)
        if s is not None
    }
    for entry in path:
        if entry.kind is Kind.MESSAGE and entry.body["role"] == "tool":
            waiting.pop((entry.body.get("call_entry", 0), entry.body["tool_call_id"]), None)
    return waiting


def results_of(path: Sequence[Entry], caller: Entry, call: ToolCall) -> list[Entry]:
    """What was appended as the result of a call, later parts too."""
    return [
        entry
        for entry in path
        if entry.kind is Kind.MESSAGE
        and _answers(entry, caller)
        and entry.body["tool_call_id"] == call.id
    ]


def _last_turn_of_speech(path: Sequence[Entry]) -> tuple[Entry | None, list[Entry]]:
    """The last assistant entry, and everything after it."""
    followers: list[Entry] = []
    for entry in reversed(path):
        if entry.kind is Kind.MESSAGE and entry.body["role"] == "assistant":
            return entry, followers[::-1]
        if entry.kind not in (Kind.LABEL, Kind.MODEL_CHANGE):
            followers.append(entry)
    return None, followers[::-1]


def _answers(entry: Entry, caller: Entry) -> bool:
    return entry.body["role"] == "tool" and entry.body.get("call_entry") == caller.id


def _goes_on(entry: Entry, caller: Entry) -> bool:
    """It is what came of a call, and not what whoever runs the agent has to say about it."""
    return _answers(entry, caller) and not entry.body.get("correction")


def tool_message(
    call: ToolCall,
    entry: int,
    text: str,
    final: Sequence[int] = (),
    changed: Sequence[str] = (),
) -> Json:
    """The body of a call's result. `entry` is the assistant entry that holds the call: providers
    use the same call id more than once. `final`: the delegations whose result it is. `changed`:
    files that a command changed."""
    more = {"changed": list(changed)} if changed else {}
    return {
        "role": "tool",
        "content": text,
        "tool_call_id": call.id,
        "name": call.name,
        "call_entry": entry,
        "final": list(final),
        **more,
    }
