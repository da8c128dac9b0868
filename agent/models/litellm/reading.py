"""A provider's answer, as litellm gives it, as a reply."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any
from uuid import uuid4

from agent.models.base import ModelErrorKind, Reply, Request, ToolCall
from agent.models.litellm.errors import model_error
from agent.models.litellm.prompt_cache import cache_use
from agent.models.litellm.usage import CachePrices, own_price
from agent.models.usage import count as token_count
from agent.models.usage import dollars, estimated_input, estimated_output
from agent.text.untrusted import storable
from storage.records.entries import Json, Usage


def read(request: Request, response: Any, listed: CachePrices) -> Reply:
    spec = request.spec
    if not response.choices:
        raise model_error(spec, ModelErrorKind.BAD_REPLY, "it answered without any choice")
    choice = response.choices[0]
    raw = storable(choice.message.model_dump(), nones=False)
    calls = _name_calls(raw.get("tool_calls") or [])
    content = raw.get("content") or ""
    if choice.finish_reason == "content_filter" and not content and not calls:
        text = "the provider's content filter withheld the answer"
        raise model_error(spec, ModelErrorKind.BAD_REQUEST, text)
    kept = {key: value for key, value in raw.items() if value not in (None, [], {})}
    reply = Reply(
        content,
        tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in calls
        ),
        Usage(calls=1),
        {**kept, "role": "assistant", "content": content},
    )
    return replace(reply, usage=_usage(request, reply, response, listed))


def _name_calls(calls: list[Json]) -> list[Json]:
    """Give every call an id of its own, a name, and arguments in text; changes them in place."""
    taken: set[str] = set()
    numbers: dict[str, Iterator[int]] = {}
    for call in calls:
        id_ = wanted = call.get("id") or f"call_{uuid4().hex}"
        while id_ in taken:
            id_ = f"{wanted}-{next(numbers.setdefault(wanted, count(2)))}"
        call["id"] = id_
        taken.add(id_)
        function = call["function"]
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
