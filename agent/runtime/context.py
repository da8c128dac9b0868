"""What a model gets to see of a path: pure, and the same for the same path for ever.

A provider refuses a conversation in which a tool call is not directly followed by its result. Here
every call gets exactly one: the real one, where it came before anything else was said, or a
synthetic one. What comes later is told as a user message, where it stands, because what a model
has seen must not change afterwards.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agent.models.media.pictures import picture_part
from agent.models.replay import replayed
from agent.text.files import files_text
from storage.records.attached import attached
from storage.records.entries import Entry, Json, Kind, is_cut, message
from storage.records.record_entries import RecordKind, is_put_off, is_record
from storage.records.speakers import guarded, received_line, speaker_of, told
from storage.records.told_notes import notes_content
from storage.tree.paths import from_first_kept, has_compaction

WAITING = "No result yet: waiting for a decision. It will be told in a later message."
INTERRUPTED = "No result: interrupted, outcome unknown."
CUT_OFF = (
    "<cut off>\nYour message above broke off there: it was interrupted, or the connection was "
    "lost. People have read it that far.\n</cut off>"
)
"""Told as a user message: providers refuse a conversation that ends in an assistant's."""
PUT_OFF = (
    "<put off>\nWhat stands above was not answered yet: somebody else is answered first. It comes "
    "again, for who wrote it. Do nothing for it now.\n</put off>"
)
NOT_RUN = "Error: not run, see the first such result above."


def context(path: Sequence[Entry], model: str | None = None) -> list[Json]:
    """The path as messages in OpenAI's chat shape, without a system message.

    `path` may be whole or begin at the first kept entry of its newest compaction. An assistant
    message that `model` itself wrote gets back what only that model understands (thinking blocks,
    signatures).

    Of calls that share an id within one assistant message only the first is sent; a second result
    for the id is then told as a user message, like any result that has no call.
    """
    return grown(None, path, model).messages


@dataclass(frozen=True, slots=True)
class Company:
    """Since when people on a path are told apart."""

    opens: bool | None = None
    """Whether the first message of a person says whose it is; None where there is none yet."""
    joined: int | None = None
    """The place of the first message that does, where one before it does not."""

    def noting(self, entry: Entry, at: int) -> "Company":
        """With one more message, at this place."""
        if entry.body.get("role") != "user" or self.opens or self.joined is not None:
            return self
        speaks = speaker_of(entry.body) is not None
        if self.opens is None:
            return Company(speaks)
        return Company(False, at) if speaks else self


@dataclass(frozen=True, slots=True)
class Context:
    """A context, and how far it will stay as it is."""

    messages: list[Json]
    """Shared with what it grows into: not to be changed."""
    model: str | None
    settled_messages: int
    settled: int
    """Entries of its path. To what stands behind these, more may still be added."""
    first: Entry | None
    last: Entry | None
    """Of the settled ones."""
    company: Company

    def begins(self, path: Sequence[Entry], model: str | None) -> bool:
        """Whether it is the beginning of a path's context. Entries never change, so a path is the
        same as far as its ends are."""
        return (
            model == self.model
            and 0 < self.settled <= len(path)
            and path[0] is self.first
            and path[self.settled - 1] is self.last
            and not has_compaction(path[self.settled :])
        )


def grown(before: Context | None, path: Sequence[Entry], model: str | None) -> Context:
    """The context of a path; where one is its beginning, that costs what came since."""
    if before is not None and before.begins(path, model):
        messages, start = before.messages[: before.settled_messages], before.settled
        fresh, company = path[start:], before.company
    else:
        fresh, company = from_first_kept(path), Company()
        messages, start = _summarised(fresh), len(path) - len(fresh)
    settled_messages, entries, company = _tell(fresh, model, messages, company)
    settled = start + entries
    first, last = (path[0], path[settled - 1]) if settled else (None, None)
    return Context(messages, model, settled_messages, settled, first, last, company)


STEP = 2_000
"""Entries that are told at a time."""


def steps(
    before: Context | None, path: Sequence[Entry], model: str | None, at_once: int = STEP
) -> list[int]:
    """How far to let a context grow at a time until it is that of the whole path: others want the
    interpreter in between. The newest compaction is within the first step."""
    if before is not None and before.begins(path, model):
        told = before.settled
    else:
        compactions = (at for at in reversed(range(len(path))) if path[at].kind is Kind.COMPACTION)
        told = next(compactions, 0) if has_compaction(path) else 0
    return [*range(told + at_once, len(path), at_once), len(path)]


def conversation(context: Context, system: str, company: str) -> list[Json]:
    """The instructions, and the context below them. `company` is told besides where people are told
    apart: with the instructions where that is so from the first message on, else in front of the
    first such message, for what a model has been told must not change afterwards."""
    messages, at = context.messages, context.company.joined
    if company and context.company.opens:
        system = f"{system}\n\n{company}"
    elif company and at is not None:
        messages = [*messages[:at], message("user", company), *messages[at:]]
    return [message("system", system), *messages]


def _summarised(visible: Sequence[Entry]) -> list[Json]:
    """What stands for all that is compacted."""
    compaction = next((e for e in reversed(visible) if e.kind is Kind.COMPACTION), None)
    return [] if compaction is None else [_summary("the conversation so far", compaction)]


def _tell(
    entries: Sequence[Entry], model: str | None, messages: list[Json], company: Company
) -> tuple[int, int, Company]:
    """Add what entries say to the messages; how many of the messages, and of the entries, nothing
    can be added to any more, and who spoke."""
    group: _Group | None = None
    settled = 0, 0
    for at, entry in enumerate(entries):
        if group is not None:
            if group.takes(entry):
                continue
            messages += group.messages()
            group = None
        match entry.kind:
            case Kind.MESSAGE:
                if calls := _calls(entry, model):
                    settled = len(messages), at
                    group = _Group(entry.id, _message(entry, model) | {"tool_calls": calls})
                elif entry.body.get("role") == "tool":
                    messages.append(_late_result(entry))
                else:
                    company = company.noting(entry, len(messages))
                    messages.append(_message(entry, model))
                    if is_cut(entry):
                        messages.append(message("user", CUT_OFF))
            case Kind.BRANCH_SUMMARY:
                messages.append(_summary("a branch that was left", entry))
            case Kind.RECORD:
                if notes := notes_content(entry):
                    messages.append(message("user", notes))
                elif is_put_off(entry):
                    messages.append(message("user", PUT_OFF))
            case Kind.COMPACTION | Kind.LABEL | Kind.MODEL_CHANGE:
                pass
    if group is None:
        return len(messages), len(entries), company
    messages += group.messages()
    return *settled, company


@dataclass(slots=True)
class _Group:
    """An assistant message with calls, and what belongs to it: it is open for tool entries, and
    ends with anything else that is not a label or a record."""

    id: int
    """The assistant entry. Where a result says whose it is (`call_entry`), it must be this one's:
    providers use the same call id more than once."""
    message: Json
    results: dict[str, Json] = field(default_factory=dict)
    """By call id."""
    suspended: dict[str, str] = field(default_factory=dict)
    """Call id → what the model is told while a person decides."""
    taken: frozenset[str] | None = None
    """Ids of the calls that were looked at, where the message had more than that; else None."""
    refusal: str = ""
    """What the model is told about the others."""
    ids: frozenset[str] = field(init=False)
    """Of all calls."""
    late: list[Json] = field(default_factory=list)
    """Tool entries that are no call's first result: told after the group, which must not be
    broken."""

    def __post_init__(self) -> None:
        self.ids = frozenset(self._call_ids())

    def takes(self, entry: Entry) -> bool:
        """Whether the entry belongs to this group; then it is in."""
        match entry.kind:
            case Kind.LABEL:
                return True
            case Kind.RECORD:
                if is_record(entry, RecordKind.SUSPENDED) and self._owns(entry):
                    told = _text(entry.body.get("result"))
                    id_ = _text(entry.body.get("tool_call_id"))
                    self.suspended[id_] = f"{WAITING}\n{told}".strip()
                elif is_record(entry, RecordKind.SURPLUS) and self._owns(entry):
                    self.taken = frozenset(map(_text, entry.body.get("taken") or ()))
                    self.refusal = _text(entry.body.get("result"))
                return not is_put_off(entry)
            case Kind.MESSAGE if entry.body.get("role") == "tool":
                self._take_result(entry)
                return True
            case _:
                return False

    def messages(self) -> Iterable[Json]:
        yield self.message
        refusal = self.refusal
        for id_ in self._call_ids():
            content = self.suspended.get(id_, INTERRUPTED)
            if self.taken is not None and id_ not in self.taken:
                content, refusal = refusal, NOT_RUN
            synthetic: Json = {"role": "tool", "tool_call_id": id_, "content": content}
            yield self.results.get(id_, synthetic)
        yield from self.late

    def _take_result(self, entry: Entry) -> None:
        id_ = _text(entry.body.get("tool_call_id"))
        if self._owns(entry) and id_ in self.ids and id_ not in self.results:
            self.results[id_] = _message(entry, None)
        else:
            self.late.append(_late_result(entry))

    def _owns(self, entry: Entry) -> bool:
        return entry.body.get("call_entry") in (None, self.id)

    def _call_ids(self) -> list[str]:
        return [call["id"] for call in self.message["tool_calls"]]


def _message(entry: Entry, model: str | None) -> Json:
    body = entry.body
    content = body.get("content")
    if body["role"] == "user" and isinstance(content, str):
        content = _with_files(told(body) or "", body)
    message: Json = {"role": body["role"], "content": content}
    if "tool_call_id" in body:
        message["tool_call_id"] = body["tool_call_id"]
    if "name" in body and body["role"] == "tool":
        message["name"] = body["name"]  # of others, providers may read it as who speaks
    if message["content"] is None and not body.get("tool_calls"):
        message["content"] = ""
    if "raw" in body:
        message |= replayed(_raw(entry, model))
    return message


def _with_files(said: str, body: Json) -> str | list[Json]:
    """What a person said, what came with it, and when. Pictures are named by their hashes: they
    are put in for the model that is asked (agent.models.media.pictures)."""
    files = attached(body)
    named = files_text(body) if files else ""
    text = "\n".join(part for part in (said, named, received_line(body)) if part)
    shown = [picture_part(file.shown) for file in files if file.shown]
    return [{"type": "text", "text": text}, *shown] if shown else text


def _calls(entry: Entry, model: str | None) -> list[Json]:
    """The calls of an assistant message, the first one of each id."""
    if not entry.body.get("tool_calls") or entry.body.get("role") != "assistant":
        return []
    raw = _raw_calls(entry, model)
    calls: dict[str, Json] = {}
    for call in entry.body["tool_calls"]:
        id_ = _text(call.get("id"))
        calls.setdefault(id_, call | {"id": id_} | replayed(raw.get(id_, {})))
    return list(calls.values())


def _raw(entry: Entry, model: str | None) -> Json:
    """The provider's own message, where `model` wrote this one."""
    raw = entry.body.get("raw") if model and entry.body.get("model") == model else None
    return raw if isinstance(raw, dict) else {}


def _raw_calls(entry: Entry, model: str | None) -> dict[str, Json]:
    """By id. A message that was imported may hold anything here."""
    calls = _raw(entry, model).get("tool_calls")
    if not isinstance(calls, list):
        return {}
    return {_text(call.get("id")): call for call in calls if isinstance(call, dict)}


def _late_result(entry: Entry) -> Json:
    names = {"tool": entry.body.get("name"), "call": entry.body.get("tool_call_id")}
    which = "".join(f' {key}="{_one_line(value)}"' for key, value in names.items() if value)
    text = guarded(_text(entry.body.get("content")))
    return {"role": "user", "content": f"<late result{which}>\n{text}\n</late result>"}


def _one_line(value: object) -> str:
    """An attribute of a tag. An imported call may be called anything."""
    return " ".join(_text(value).split())


def _summary(of: str, entry: Entry) -> Json:
    text = guarded(_text(entry.body.get("summary")))
    return {"role": "user", "content": f"<summary of {of}>\n{text}\n</summary of {of}>"}


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)
