"""A model that follows written rules instead of thinking: for demos, benches and tests.

It is used as any other model, with a file of rules in its name:

    [models.parent]
    model = "scripted:rules.yaml"

The file is YAML. The first rule that fits a request decides the reply:

    rules:
      - when:
          last: 'weather in (\\w+)'       # found in the text of the last user or tool message
        reply:
          text: "Let me ask around."
          tool_calls:
            - name: delegate_task
              arguments: {goal: "Find out the weather in {1}"}
      - when: {tier: worker, turn: 0, tools: report_outcome}
        reply:
          tool_calls:
            - {name: report_outcome, arguments: {condition: 1, branch: ok, evidence: "21 °C"}}
          usage: {input: 900, output: 40, cached: 800}
      - when: {last: hello}
        times: 1
        reply: {error: rate_limit, retry_after: 2}
      - reply: {text: "You said: {last}", delay: 0.5}

`when` holds any of these; what is left out fits everything:

- `tier`: the name of the tier or preset that is asked, or its model string;
- `last`: a Python regular expression, searched in the text of the last user or tool message,
  without the line that says when it was received;
- `seen`: one, or a list of them, each searched in the texts of all user and tool messages, the
  newest first: what the task was, or what an earlier call found;
- `system`: one that is searched in the system message;
- `tools`: a tool name, or a list of them, all of which must be offered;
- `turn`: how many assistant messages follow the last user message.

`times`: how often the rule is used (of one load of the file) before it is passed over.

`reply` holds `text`, `tool_calls` (each a `name` and `arguments`: a mapping, or a string that is
sent as it is, broken or not), `usage` (tokens; else about one for four characters), `delay`
(seconds before anything comes), `pace` (seconds between two words of an answer that is streamed),
or `error` (auth, rate_limit, context_length, bad_request, unavailable, bad_reply), with
`retry_after` (seconds), a `text` that says what failed, and `begins`: what a streamed answer says
before it breaks off.

In texts and arguments {last} stands for the text of the last user or tool message, {last_tool} for
that of the last tool message, {1}, {2} … for the groups of `last` and then of each of `seen`.
Everything else in braces stays as it is.
"""

import asyncio
import itertools
import json
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
)

from agent.models.base import (
    Heard,
    ModelError,
    ModelErrorKind,
    ModelSpec,
    Reply,
    Request,
    ToolCall,
    call_json,
    price,
)
from agent.models.usage import MOST_TOKENS
from agent.text.fault_words import fault_words
from storage.records.entries import Json, Usage, message
from storage.records.speakers import without_received

CHARACTERS_PER_TOKEN = 4
Groups = tuple[str | None, ...]
"""What the groups of patterns found."""
_WORD = re.compile(r"\S+\s*|\s+")
_TEMPLATE = re.compile(r"\{(last|last_tool|\d+)\}")


class ScriptError(ValueError):
    """A file of rules that cannot be used. The text names the file, the rule and the field."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _check_pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return value


Pattern = Annotated[str, AfterValidator(_check_pattern)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class When(_Part):
    tier: str | None = None
    last: Pattern | None = None
    seen: Annotated[tuple[Pattern, ...], BeforeValidator(_as_list)] = ()
    system: Pattern | None = None
    tools: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()
    turn: int | None = Field(default=None, ge=0)


class Call(_Part):
    name: str
    arguments: dict[str, JsonValue] | str = {}


class Spent(_Part):
    """Tokens."""

    input: int = Field(ge=0, le=MOST_TOKENS)
    output: int = Field(ge=0, le=MOST_TOKENS)
    cached: int = Field(default=0, ge=0, le=MOST_TOKENS)
    """Of the input."""


class Answer(_Part):
    text: str = ""
    begins: str = ""
    tool_calls: tuple[Call, ...] = ()
    usage: Spent | None = None
    delay: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    pace: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    error: ModelErrorKind | None = None
    retry_after: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Rule(_Part):
    reply: Answer
    when: When = When()
    times: int | None = Field(default=None, ge=1)


class ScriptedModel:
    """A model whose replies follow rules: equal requests in equal order get equal replies."""

    def __init__(self, rules: Sequence[Rule], source: str = "the script") -> None:
        """`source` is where the rules are from, for the reply where no rule fits."""
        self._rules = tuple(rules)
        self._left = [rule.times for rule in self._rules]
        self._source = source

    @classmethod
    def load(cls, path: str | Path) -> "ScriptedModel":
        """Read a YAML file. Blocks. ScriptError where it cannot be read or is not right."""
        path = Path(path)
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ScriptError(f"{path}: {error.strerror}") from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ScriptError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
        return cls(_read_rules(path, data), str(path))

    async def complete(self, request: Request) -> Reply:
        seen = _see(request)
        chosen = self._choose(request, seen)
        if chosen is None:
            text = f"No rule of {self._source} fits this message: {seen.last[:200]}"
            return _reply(request, seen, Answer(text=text), ())
        answer, groups = chosen
        if answer.delay:
            await asyncio.sleep(answer.delay)
        said = _fill(answer.text if answer.error is None else answer.begins, seen, groups)
        if request.heard is not None:
            await _say(said, request.heard, answer.pace)
        if answer.error is not None:
            why = _fill(answer.text, seen, groups) or f"the script says {answer.error}"
            partial = said if request.heard is not None else ""
            raise ModelError(answer.error, why, retry_after=answer.retry_after, partial=partial)
        return _reply(request, seen, answer, groups)

    def _choose(self, request: Request, seen: "_Seen") -> tuple[Answer, Groups] | None:
        """The answer of the first rule that fits, with what its `last` and `seen` found."""
        for number, rule in enumerate(self._rules):
            left = self._left[number]
            if left == 0 or not _fits(rule.when, request, seen):
                continue
            groups = _found(rule.when, seen)
            if groups is None:
                continue
            if left is not None:
                self._left[number] = left - 1
            return rule.reply, groups
        return None


class ScriptedFiles:
    """The model behind every name "scripted:FILE". A file is loaded once, when it is first used."""

    def __init__(self) -> None:
        self._loaded: dict[str, ScriptedModel] = {}
        self._loading = asyncio.Lock()

    async def complete(self, request: Request) -> Reply:
        """BAD_REQUEST where the file cannot be used."""
        path = request.spec.model.partition(":")[2]
        try:
            model = await self._model(path)
        except ScriptError as error:
            raise ModelError(ModelErrorKind.BAD_REQUEST, str(error)) from error
        return await model.complete(request)

    async def _model(self, path: str) -> ScriptedModel:
        async with self._loading:
            if path not in self._loaded:
                self._loaded[path] = await asyncio.to_thread(ScriptedModel.load, path)
            return self._loaded[path]


def _read_rules(path: Path, data: object) -> list[Rule]:
    if not isinstance(data, dict) or not isinstance(data.get("rules"), list):
        raise ScriptError(f"{path}: must be a mapping with a list named rules")
    if unknown := [key for key in data if key != "rules"]:
        raise ScriptError(f"{path}: {unknown[0]!r} is not known; only rules is")
    return [_read_rule(path, number, item) for number, item in enumerate(data["rules"], start=1)]


def _read_rule(path: Path, number: int, item: object) -> Rule:
    try:
        return Rule.model_validate(item)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        where = f"rule {number}: {field}" if field else f"rule {number}"
        words = fault_words(first["type"], first["msg"], first.get("ctx", {}))
        raise ScriptError(f"{path}: {where}: {words or 'is no value of this key'}") from error


@dataclass(frozen=True, slots=True)
class _Seen:
    """What rules look at in a request."""

    last: str
    last_tool: str
    texts: tuple[str, ...]
    """Of users and tools, the newest first."""
    system: str
    turn: int
    offered: frozenset[str]
    """Names of the tools that may be called."""
    calls: frozenset[str]
    """Ids of the tool calls made so far."""
    size: int
    """Characters in all."""


def _see(request: Request) -> _Seen:
    last = last_tool = system = ""
    turn = size = 0
    calls: set[str] = set()
    texts: list[str] = []
    for item in request.messages:
        text = _text(item)
        size += len(text)
        match item.get("role"):
            case "system":
                system = f"{system}\n{text}" if system else text
            case "user":
                text = without_received(text)
                last, turn = text, 0
                texts.append(text)
            case "tool":
                last = last_tool = text
                texts.append(text)
            case "assistant":
                turn += 1
                calls.update(str(call.get("id")) for call in item.get("tool_calls") or ())
    named = frozenset(tool["function"]["name"] for tool in request.tools)
    offered = frozenset[str]() if request.tool_choice == "none" else named
    newest = tuple(reversed(texts))
    return _Seen(last, last_tool, newest, system, turn, offered, frozenset(calls), size)


def _text(item: Json) -> str:
    """The text of a message; of one made of parts, that of its text parts."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _fits(when: When, request: Request, seen: _Seen) -> bool:
    """Everything but `last` and `seen`, whose groups are needed afterwards."""
    return (
        when.tier in (None, request.spec.name, request.spec.model)
        and (when.system is None or re.search(when.system, seen.system) is not None)
        and seen.offered.issuperset(when.tools)
        and when.turn in (None, seen.turn)
    )


def _found(when: When, seen: _Seen) -> Groups | None:
    """The groups of `last`, then those of each of `seen`; None where one is not there."""
    groups: list[str | None] = []
    searched = [(pattern, seen.texts) for pattern in when.seen]
    if when.last is not None:
        searched.insert(0, (when.last, (seen.last,)))
    for pattern, texts in searched:
        match = next(filter(None, (re.search(pattern, text) for text in texts)), None)
        if match is None:
            return None
        groups += match.groups()
    return tuple(groups)


def _reply(request: Request, seen: _Seen, answer: Answer, groups: Groups) -> Reply:
    text = _fill(answer.text, seen, groups)
    ids = _fresh_ids(seen.calls)
    calls = tuple(
        ToolCall(next(ids), call.name, _arguments(call, seen, groups)) for call in answer.tool_calls
    )
    usage = _usage(request.spec, answer.usage or _estimate(seen, text, calls))
    return Reply(text, calls, usage, _raw(text, calls))


async def _say(text: str, heard: Heard, pace: float) -> None:
    """Word by word."""
    for word in _WORD.findall(text):
        heard(word)
        if pace:
            await asyncio.sleep(pace)


def _arguments(call: Call, seen: _Seen, groups: Groups) -> str:
    if isinstance(call.arguments, str):
        return _fill(call.arguments, seen, groups)
    return json.dumps(_fill_all(call.arguments, seen, groups), ensure_ascii=False)


def _fill_all(value: JsonValue, seen: _Seen, groups: Groups) -> JsonValue:
    match value:
        case str():
            return _fill(value, seen, groups)
        case list():
            return [_fill_all(item, seen, groups) for item in value]
        case dict():
            return {key: _fill_all(item, seen, groups) for key, item in value.items()}
        case _:
            return value


def _fill(template: str, seen: _Seen, groups: Groups) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name == "last":
            return seen.last
        if name == "last_tool":
            return seen.last_tool
        if not 1 <= int(name) <= len(groups):
            return found[0]
        return groups[int(name) - 1] or ""

    return _TEMPLATE.sub(value, template)


def _fresh_ids(taken: Set[str]) -> Iterator[str]:
    """call_1, call_2 …, without those that stand in the context already."""
    names = (f"call_{number}" for number in itertools.count(len(taken) + 1))
    return (name for name in names if name not in taken)


def _estimate(seen: _Seen, text: str, calls: Sequence[ToolCall]) -> Spent:
    written = len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
    return Spent(
        input=seen.size // CHARACTERS_PER_TOKEN + 1, output=written // CHARACTERS_PER_TOKEN + 1
    )


def _usage(spec: ModelSpec, spent: Spent) -> Usage:
    cost = price(spec, spent.input, spent.output, spent.cached)
    return Usage(spent.input, spent.output, 1, cost, spent.cached)


def _raw(text: str, calls: Sequence[ToolCall]) -> Json:
    made = [call_json(call) for call in calls]
    return message("assistant", text, **({"tool_calls": made} if made else {}))
