"""Entries as lines of Pi's session format, version 3, and back: one line and one entry, pure.

In bodies here, entries are named as in the file, by text. What Pi has no place for stands under
"bough" in the line (author, tokens, exact time, the rest of the body), which Pi leaves alone. What
our body has no place for stands under "pi" in the body. So each comes back from the other as it
was.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

from storage.errors import InterchangeError
from storage.interchange.patch import applied, difference
from storage.interchange.pi.message import MOST_TOKENS, from_pi, text_of, to_pi
from storage.records.entries import Json, Kind, message
from storage.records.record_entries import WAITS, RecordKind
from storage.records.speakers import claimed
from storage.records.told_notes import as_claim

OURS = "bough."
SESSION = "bough.session"
"""customType of the last line of an export, where title or leaf would be lost without it."""

_FOREIGN = "pi"
"""Name of the record that holds a line as it was."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LATEST = 253_402_300_799.0
"""Seconds; the end of the year 9999."""
_OTHER_FORM = "form"
"""Key of a body's "pi" for a message that was no message entry."""


@dataclass(frozen=True, slots=True)
class Fields:
    """An entry without its place in a tree."""

    kind: Kind
    body: Json
    author: str
    tokens: int
    time: float


def decode(line: Json, fallback: float) -> Fields:
    """A line without its ids as an entry. `fallback` is its time where it names none.

    InterchangeError where something is missing or of the wrong type.
    """
    ours = line.get("bough", {})
    if not isinstance(ours, dict):
        raise InterchangeError("has something under bough that cannot be read")
    foreign = {key: value for key, value in line.items() if key not in ("id", "parentId", "bough")}
    time = _seconds(ours.get("time", fallback))
    stated = parse_time(line.get("timestamp"))
    base = _decode(foreign, stated if stated is not None else time)
    if not ours:
        return base
    return Fields(
        base.kind,
        as_claim(claimed(_amended(base, ours["body"]))) if "body" in ours else base.body,
        _author(ours.get("author", base.author)),
        _count(ours.get("tokens", base.tokens)),
        time if "time" in ours else base.time,
    )


def encode(entry: Fields) -> Json:
    """The line of an entry, without its ids. Ids of this database's questions and delegations are
    left out: they mean nothing elsewhere."""
    body = without_local_ids(entry.body)
    line = _encode(entry.kind, body, entry.time)
    stated = parse_time(line.get("timestamp"))
    back = _decode(line, stated if stated is not None else entry.time)
    ours: Json = {}
    if entry.author != back.author:
        ours["author"] = entry.author
    if entry.tokens != back.tokens:
        ours["tokens"] = entry.tokens
    if entry.time != stated:
        ours["time"] = entry.time
    if changes := difference(back.body, body):
        ours["body"] = changes
    return line | {"bough": ours} if ours else line


def without_local_ids(body: Json) -> Json:
    if body.get("role") == "tool":
        return {key: value for key, value in body.items() if key != "final"}
    if body.get("record") in WAITS:
        return {key: value for key, value in body.items() if key != "question"}
    return as_claim(body)


def type_of(kind: Kind, body: Json) -> str:
    """What an entry is called in a file: its kind, a foreign line's own type, a record's name."""
    if is_kept_whole(kind, body):
        return str(body["line"].get("type"))
    if kind is Kind.RECORD:
        return f"{kind.value} {body.get('record')}"
    own = body.get("pi", {}).get(_OTHER_FORM, {}).get("set", {})
    return str(own.get("type", kind.value))


def parse_time(text: object) -> float | None:
    """Unix seconds, to the millisecond, of a time in ISO 8601; None where it is none."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
        moment = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        milliseconds = (moment - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        return None
    return max(milliseconds, 0) / 1000


def format_time(time: float) -> str:
    """ISO 8601 to the millisecond, in UTC, as JavaScript writes it."""
    moment = _EPOCH + round(min(max(time, 0.0), _LATEST) * 1000) * _MILLISECOND
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def _decode(line: Json, time: float) -> Fields:
    kind, body = _read(line, time)
    if is_kept_whole(kind, body):
        return Fields(kind, body, "", 0, time)
    if line["type"] == "message":
        # Its message has been compared.
        made = {"type": "message", "timestamp": format_time(time), "message": line["message"]}
    else:
        made = _encode(kind, body, time)
    if changes := difference(made, line):
        body = body | {"pi": body.get("pi", {}) | {_OTHER_FORM: changes}}
    usage = body.get("usage")
    tokens = usage["output"] if kind is Kind.MESSAGE and usage else 0
    return Fields(kind, body, "", tokens, time)


def is_kept_whole(kind: Kind, body: Json) -> bool:
    """Whether it is a line that is kept as it was, but means nothing here."""
    return kind is Kind.RECORD and body["record"] == _FOREIGN


def _read(line: Json, time: float) -> tuple[Kind, Json]:
    """Kind and body of a line, without what only the line has."""
    match line.get("type"):
        case "message":
            body = from_pi(_object(line, "message"), time)
            return (Kind.MESSAGE, body) if body is not None else _kept(line)
        case "custom_message":
            return Kind.MESSAGE, message("user", text_of(line.get("content")))
        case "compaction":
            kept = line.get("firstKeptEntryId", False)
            if not isinstance(kept, str | None):
                raise InterchangeError("is a compaction without firstKeptEntryId")
            before = line.get("tokensBefore", 0)
            body = {
                "summary": _string(line, "summary"),
                "first_kept": kept,
                "tokens_before": before,
            }
            return Kind.COMPACTION, _with_details(body, line)
        case "branch_summary":
            left = line.get("fromId")
            body = {
                "summary": _string(line, "summary"),
                "from": left if isinstance(left, str) else None,
            }
            return Kind.BRANCH_SUMMARY, _with_details(body, line)
        case "label":
            label = line.get("label")
            if not isinstance(label, str | None):
                raise InterchangeError("is a label that is no text")
            return Kind.LABEL, {"label": label or "", "target": _string(line, "targetId")}
        case "model_change":
            provider, model = line.get("provider"), _string(line, "modelId")
            named = isinstance(provider, str) and provider
            return Kind.MODEL_CHANGE, {"model": f"{provider}/{model}" if named else model}
        case "custom":
            return _custom(line)
        case str():
            return _kept(line)
        case _:
            raise InterchangeError("is an entry without a type")


def _custom(line: Json) -> tuple[Kind, Json]:
    name, data = line.get("customType"), line.get("data")
    if isinstance(name, str) and name.startswith(OURS) and isinstance(data, dict):
        called = name.removeprefix(OURS)
        body = {"record": called, **data}
        if called and "record" not in data and "pi" not in data and _is_record(body):
            return Kind.RECORD, as_claim(body)
    return _kept(line)


def _kept(line: Json) -> tuple[Kind, Json]:
    return Kind.RECORD, {"record": _FOREIGN, "line": line}


def _with_details(body: Json, line: Json) -> Json:
    return body | {"details": line["details"]} if "details" in line else body


def _encode(kind: Kind, body: Json, time: float) -> Json:
    """The line of an entry as far as Pi has a place for it."""
    if is_kept_whole(kind, body):
        return dict(body["line"])
    line: Json = {"type": kind.value, "timestamp": format_time(time)}
    match kind:
        case Kind.MESSAGE:
            line["message"] = to_pi(body, time)
        case Kind.COMPACTION:
            line["summary"] = body["summary"]
            line["firstKeptEntryId"] = body["first_kept"]
            line["tokensBefore"] = body.get("tokens_before", 0)
        case Kind.BRANCH_SUMMARY:
            line["fromId"] = body["from"]
            line["summary"] = body["summary"]
        case Kind.LABEL:
            line["targetId"] = body["target"]
            line |= {"label": body["label"]} if body["label"] else {}
        case Kind.MODEL_CHANGE:
            provider, slash, model = body["model"].partition("/")
            line["provider"] = provider if slash else ""
            line["modelId"] = model if slash else provider
        case Kind.RECORD:
            line["type"] = "custom"
            line["customType"] = OURS + body["record"]
            line["data"] = {k: v for k, v in body.items() if k not in ("record", "pi")}
        case _:
            assert_never(kind)
    if "details" in body and kind in (Kind.COMPACTION, Kind.BRANCH_SUMMARY):
        line["details"] = body["details"]
    return applied(line, body.get("pi", {}).get(_OTHER_FORM, {}))


_BESIDE = ("call_entry", "files", "received", "speaker")
"""Keys that say nothing that a line of Pi's says too."""


def _amended(base: Fields, changes: Any) -> Json:
    """The body with what only we have. It must still be one of its kind."""
    if not isinstance(changes, dict):
        raise InterchangeError("has a bough.body that cannot be read")
    body = applied(base.body, changes)
    touched = [*changes.get("set", ()), *changes.get("drop", ())]
    if "pi" in changes.get("set", ()) or ("pi" in body and any(k not in _BESIDE for k in touched)):
        raise InterchangeError("has a bough.body that contradicts the line")
    _check(base.kind, body)
    return body


def _check(kind: Kind, body: Json) -> None:
    """InterchangeError where a body would not be read as one of its kind."""
    sound: bool
    match kind:
        case Kind.MESSAGE:
            sound = _is_message(body)
        case Kind.COMPACTION:
            sound = _texts(body, "summary") and isinstance(body.get("first_kept", 0), str | None)
        case Kind.BRANCH_SUMMARY:
            sound = _texts(body, "summary") and isinstance(body.get("from", 0), str | None)
        case Kind.LABEL:
            sound = _texts(body, "label", "target")
        case Kind.MODEL_CHANGE:
            sound = _texts(body, "model")
        case Kind.RECORD:
            sound = _is_record(body)
        case _:
            assert_never(kind)
    if not sound:
        raise InterchangeError(f"has a bough.body that is no {kind.value}")


def _is_record(body: Json) -> bool:
    if not _texts(body, "record") or body["record"] == _FOREIGN:
        return False
    match body["record"]:
        case RecordKind.SUSPENDED | RecordKind.RESUMED:
            return _texts(body, "tool_call_id", "call_entry")
        case RecordKind.SURPLUS:
            taken = body.get("taken")
            return (
                _texts(body, "call_entry", "result")
                and isinstance(taken, list)
                and all(isinstance(id_, str) for id_ in taken)
            )
        case _:
            return True


def _is_message(body: Json) -> bool:
    if body.get("role") not in ("user", "assistant", "tool"):
        return False
    if not isinstance(body.get("content"), str | None):
        return False
    if body["role"] == "tool" and not _texts(body, "tool_call_id"):
        return False
    calls = body.get("tool_calls", [])
    return (
        isinstance(calls, list) and all(map(_is_call, calls)) and _is_usage(body.get("usage", {}))
    )


def _is_usage(usage: Any) -> bool:
    if not isinstance(usage, dict) or not isinstance(usage.get("cost"), int | float | None):
        return False
    return all(type(usage.get(key, 0)) is int for key in ("input", "output"))


def _is_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return (
        isinstance(function, dict) and _texts(function, "name", "arguments") and _texts(call, "id")
    )


def _texts(body: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(body.get(key), str) for key in keys)


def _string(line: Json, key: str) -> str:
    value = line.get(key)
    if not isinstance(value, str):
        raise InterchangeError(f"is a {line['type']} without {key}")
    return value


def _object(line: Json, key: str) -> Json:
    value = line.get(key)
    if not isinstance(value, dict):
        raise InterchangeError(f"is a {line['type']} without {key}")
    return value


def _author(value: Any) -> str:
    if not isinstance(value, str):
        raise InterchangeError("has a bough.author that is no text")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST_TOKENS:
        raise InterchangeError("has a bough.tokens that is no count")
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InterchangeError("has a bough.time that is no time")
    if not 0 <= value <= _LATEST:
        raise InterchangeError("has a bough.time that is no time")
    return float(value)
