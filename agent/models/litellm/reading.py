"""A provider's answer, as litellm gives it, as a reply."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any
from uuid import uuid4

from agent.models.base import ModelErrorKind, Reply, Request, Stop, ToolCall
from agent.models.litellm.errors import model_error
from agent.models.litellm.prompt_cache import cache_use
from agent.models.litellm.usage import CachePrices, own_price
from agent.models.thinking import split_thinking
from agent.models.usage import count as token_count
from agent.models.usage import dollars, estimated_input, estimated_output
from agent.text.untrusted import storable
from storage.records.entries import Json, Usage

_STOPS: dict[str, Stop] = {
    "length": "length",
    "content_filter": "filter",
}
_BLOCKED = "the provider's content filter withheld the answer"


def in_text(response: Any) -> Any:
    """An answer in one piece whose message has its text as text, and its thinking apart from it: a
    model that refuses may say so in a field of its own, others think between tags. Changes it."""
    for choice in response.choices[:1]:
        message = choice.message
        own = getattr(message, "provider_specific_fields", None) or {}
        if not message.content and (refusal := own.pop("refusal", None)):
            message.content = str(refusal)
        if not isinstance(message.content, str):
            continue
        said, thoughts = split_thinking(message.content, cut=choice.finish_reason == "length")
        found = getattr(message, "reasoning_content", None) or thoughts
        if found:
            message.content = said.lstrip("\n") or None
            message.reasoning_content = found
    return response


def read(request: Request, response: Any, listed: CachePrices) -> Reply:
    spec = request.spec
    if not response.choices:
        raise model_error(spec, ModelErrorKind.BAD_REPLY, "it answered without any choice")
    choice = response.choices[0]
    raw = storable(choice.message.model_dump(), nones=False)
    calls = _name_calls(raw.get("tool_calls") or [])
    content = raw.get("content") or ""
    stop: Stop = _STOPS.get(choice.finish_reason, "")
    if stop == "filter" and not content and not calls:
        raise model_error(spec, ModelErrorKind.BAD_REQUEST, _BLOCKED)
    kept = {key: value for key, value in raw.items() if value not in (None, [], {})}
    if (thoughts := kept.pop("reasoning", None)) and "reasoning_content" not in kept:
        kept["reasoning_content"] = thoughts  # Groq's name for it
    reply = Reply(
        content,
        tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in calls
        ),
        Usage(calls=1),
        {**kept, "role": "assistant", "content": content},
        stop=stop,
    )
    return replace(reply, usage=_usage(request, reply, response, listed))


def _name_calls(calls: list[Json]) -> list[Json]:
    """Give every call an id of its own, a name, and arguments in text; changes them in place."""
    taken: set[str] = set()
    numbers: dict[str, Iterator[int]] = {}
    for call in calls:
        for key in [key for key, value in call.items() if value in (None, {}, [])]:
            del call[key]  # Snowflake's empty `custom` beside a function, for one
        id_ = wanted = call.get("id") or f"call_{uuid4().hex}"
        while id_ in taken:
            id_ = f"{wanted}-{next(numbers.setdefault(wanted, count(2)))}"
        call["id"] = id_
        taken.add(id_)
        function = call.setdefault("function", {})
        arguments = function.get("arguments") or "{}"
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        function.update(name=function.get("name") or "", arguments=arguments)
    return calls


def _usage(request: Request, reply: Reply, response: Any, listed: CachePrices) -> Usage:
    """What the provider counted; our estimate where it did not, or said what cannot be."""
    used = getattr(response, "usage", None)
    read = token_count(getattr(used, "prompt_tokens", None))
    written = token_count(getattr(used, "completion_tokens", None))
    by_litellm = response._hidden_params.get("response_cost") if read else None
    read, written = read or estimated_input(request), written or estimated_output(reply)
    cache = cache_use(used, read)
    cost = own_price(request.spec, read, written, cache, listed)
    return Usage(read, written, 1, dollars(by_litellm if cost is None else cost), cache.read)
