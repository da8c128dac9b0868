"""What is left of an entry whose words are gone: its place in the tree, what pairs calls with their
results, and a salted hash of what it was. Pure.

A tree with tombstones is a tree: numbers, branches, forks and contexts are what they were. Whoever
still has the words (an export, a backup) can show by the hash that they are the true ones, as long
as the salt is kept.
"""

import hmac
import re
from collections.abc import Collection, Iterator
from typing import Any

from storage.json_text import clean, dumps
from storage.records.attached import KEY as FILES
from storage.records.entries import Entry, Json, Kind, content_text
from storage.records.record_entries import RecordKind
from storage.records.speakers import Speaker, speaker_of, spoken

KEY = "tombstone"
PREFIX = '{"tombstone":{"by":"'
"""With which the body of a tombstone begins, as it is stored."""
FORGOTTEN = "[forgotten]"
EXPIRED = "[no longer kept]"
UNNAMED = "forgotten"
"""The name of a record that says nothing any more, and of a tool whose name is none."""
PSEUDONYM = "forgotten:"
"""With which begins what stands for somebody who was forgotten."""
_NAME = re.compile(r"[\w.-]{1,100}\Z")
_KEPT = {
    RecordKind.SUSPENDED: ("tool_call_id", "call_entry", "question"),
    RecordKind.RESUMED: ("tool_call_id", "call_entry", "question"),
    RecordKind.SURPLUS: ("call_entry", "taken", "result"),
    RecordKind.FAN: ("row", "arm", "model"),
    RecordKind.STOPPED: (),
}
"""Fields of records that hold the tree together, and no words."""
_QUOTED = re.compile(r"In reply to (?P<who>[^\n]{1,200}):\n(?:>[^\n]*(?:\n|\Z))+")


def is_tombstone(body: Json) -> bool:
    return isinstance(body.get(KEY), dict)


def is_empty(body: Json) -> bool:
    """Whether it is a tombstone with no words of anybody in it."""
    words = (FORGOTTEN, EXPIRED, None, "")
    return is_tombstone(body) and all(body.get(name) in words for name in ("content", "summary"))


def tombstone(entry: Entry, by: str, salt: str) -> Json:
    """The body that takes the place of an entry's. `by`: the pseudonym of who was forgotten, or the
    name of the salt; the hash that an earlier tombstone keeps stays."""
    words = FORGOTTEN if by.startswith(PSEUDONYM) else EXPIRED
    left: Json = _cleaned(_left(entry, words))
    return _marked(entry, by, salt) | left


def without_quotation(entry: Entry, names: Collection[str], by: str, salt: str) -> Json | None:
    """The body of somebody else's message without what it quotes of one of these; None where it
    quotes none of them."""
    speaker = speaker_of(entry.body)
    if speaker is None:
        return None
    given, found = _unquoted(speaker.given, names)
    if not found:
        return None
    body = entry.body
    files = {FILES: body[FILES]} if FILES in body else {}
    said = spoken(_id(body, speaker), speaker.name, given, speaker.typed)
    return _marked(entry, by, salt) | {"role": "user", **_cleaned(said), **files}


def without_decision(
    entry: Entry, named: re.Pattern[str], answer: re.Pattern[str], by: str, salt: str
) -> Json | None:
    """The body of an entry that nobody wrote, without who decided a question and in which words;
    None where it tells of no such thing. `named` is found where one is named, `answer` where one
    is named or answers."""
    body = entry.body
    if is_tombstone(body) or ":" in entry.author:  # somebody wrote it
        return None
    changed: Any = None
    data = body.get("data")
    if body.get("record") == RecordKind.DELEGATION and isinstance(data, dict):
        answers = data.get("kind") == "answered"
        if answers and named.search(str(data.get("name", ""))):
            hidden = {name: FORGOTTEN for name in ("name", "words") if data.get(name)}
            changed = {**body, "data": {**data, **hidden}}
    elif body.get("role") in ("user", "tool"):
        content = content_text(body.get("content"))
        if named.search(content):
            changed = {**body, "content": answer.sub(FORGOTTEN, content)}
    return None if changed is None else _marked(entry, by, salt) | _cleaned(changed)


def hash_of(entry: int, body: Json, salt: str) -> str:
    """Hex, of what an entry held: HMAC-SHA256 over its id and its body as JSON."""
    return hmac.new(salt.encode(), f"{entry}:{dumps(body)}".encode(), "sha256").hexdigest()


def pseudonym_of(identity: str, salt: str) -> str:
    """What stands for a person who was forgotten: nobody can tell who it was without the salt."""
    return PSEUDONYM + hmac.new(salt.encode(), identity.encode(), "sha256").hexdigest()[:24]


def _marked(entry: Entry, by: str, salt: str) -> Json:
    return {KEY: {"by": by, "hash": hash_of(entry.id, entry.body, salt)}}


def _left(entry: Entry, words: str) -> Json:
    body = entry.body
    match entry.kind:
        case Kind.MESSAGE:
            return _message(body, words)
        case Kind.COMPACTION:
            return {"summary": words, **_taken(body, "first_kept", "tokens_before")}
        case Kind.BRANCH_SUMMARY:
            return {"summary": words, **_taken(body, "from")}
        case Kind.LABEL:
            return {"label": "", **_taken(body, "target")}
        case Kind.MODEL_CHANGE:
            return _taken(body, "model")
        case Kind.RECORD:
            name = body.get("record")
            kept = next((fields for kind, fields in _KEPT.items() if kind == name), None)
            return {"record": UNNAMED} if kept is None else {"record": name, **_taken(body, *kept)}


def _message(body: Json, words: str) -> Json:
    content = body.get("content")
    silent = not (content.strip() if isinstance(content, str) else content)
    left: Json = {"role": body.get("role"), "content": None if silent else words}
    left |= _taken(body, "tool_call_id", "call_entry", "model", "stop")
    if body.get("role") == "tool" and "name" in body:
        left["name"] = _tool(body["name"])
    if isinstance(calls := body.get("tool_calls"), list) and calls:
        left["tool_calls"] = list(_calls(calls))
    return left


def _calls(calls: list[Any]) -> Iterator[Json]:
    for call in calls:
        held = call if isinstance(call, dict) else {}
        function = held.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        asked = {"name": _tool(name), "arguments": "{}"}
        yield {"id": held.get("id"), "type": "function", "function": asked}


def _tool(name: Any) -> str:
    return name if isinstance(name, str) and _NAME.match(name) else UNNAMED


def _taken(body: Json, *names: str) -> Json:
    return {name: body[name] for name in names if name in body}


def _unquoted(given: str, names: Collection[str]) -> tuple[str, bool]:
    found = False

    def gone(match: re.Match[str]) -> str:
        nonlocal found
        if match["who"] not in names:
            return match[0]
        found = True
        return f"In reply to somebody:\n> {FORGOTTEN}\n"

    return _QUOTED.sub(gone, given), found


def _id(body: Json, speaker: Speaker) -> str:
    held = body.get("speaker")
    return str(held["id"]) if isinstance(held, dict) and "id" in held else speaker.id


def _cleaned(value: Any) -> Any:
    """Without what makes JSON be written in another way than it begins."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key)): _cleaned(each) for key, each in value.items()}
        case list():
            return [_cleaned(each) for each in value]
        case _:
            return value
