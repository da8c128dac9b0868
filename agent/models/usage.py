"""What a call used, as model servers say it: untrusted, so bounded before it is booked.

A negative count would refill a budget, an absurd one would empty it, and one that is not a number
would lose the reply. What cannot be is replaced by our own estimate.
"""

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import replace

from agent.models.base import Reply, Request, price
from agent.text.sizing import BYTES_PER_TOKEN, PICTURE_TOKENS, size
from agent.text.untrusted import quote
from storage.records.entries import Json, Usage

log = logging.getLogger(__name__)

MOST_TOKENS = 20_000_000
"""Of one call: twice the largest context there is."""
MOST_DOLLARS = 10_000.0
"""For one call."""


def count(value: object) -> int | None:
    """A number of tokens; None where it is none that can be."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= MOST_TOKENS else None


def dollars(value: object) -> float | None:
    """What a call cost; None where it is not known or cannot be."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MOST_DOLLARS else None


def readable_usage(given: object) -> Json | None:
    """A server's usage object with only those numbers that can be; None where it is no object."""
    if given is None:
        return None
    if not isinstance(given, dict):
        log.warning("a model server's usage is no object but %s; estimated", quote(given))
        return None
    kept = {name: value for name, one in given.items() if (value := _number(name, one)) is not None}
    wrong = {
        name: one
        for name, one in given.items()
        if name in ("prompt_tokens", "completion_tokens") and one is not None and name not in kept
    }
    if wrong:
        log.warning("a model server's usage cannot be: %s; estimated", quote(str(wrong), 200))
    return kept


def _number(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return {key: found for key, one in value.items() if (found := count(one)) is not None}
    return dollars(value) if name == "cost" else count(value)


def estimated_input(request: Request) -> int:
    """Tokens, by the size of what is sent."""
    parts = [part for message in request.messages for part in _pictures(message)]
    worded = [_worded(message) for message in request.messages] if parts else request.messages
    sent = json.dumps([list(worded), list(request.tools)], ensure_ascii=False)
    return size(sent) // BYTES_PER_TOKEN + 1 + len(parts) * PICTURE_TOKENS


def _pictures(message: Json) -> list[Json]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [part for part in parts if part.get("type") == "image_url"]


def _worded(message: Json) -> Json:
    """Without pictures: what they cost has nothing to do with the length of what is sent."""
    if not (pictures := _pictures(message)):
        return message
    return message | {"content": [part for part in message["content"] if part not in pictures]}


def estimated_output(reply: Reply) -> int:
    """Tokens, by the size of what was said."""
    calls = sum(size(call.name) + size(call.arguments) for call in reply.tool_calls)
    return (size(reply.content) + calls) // BYTES_PER_TOKEN + 1


def metered(request: Request, reply: Reply) -> Reply:
    """The reply with a usage that can be booked."""
    used = reply.usage
    read, written = count(used.input), count(used.output)
    cached = min(count(used.cached) or 0, read or 0)
    cost = dollars(used.cost)
    can_be = read is not None and written is not None and cached == used.cached
    if can_be and cost == used.cost:
        return reply
    log.warning("%s: a usage that cannot be; estimated", quote(reply.model or request.spec.model))
    if read is None or written is None:
        read = estimated_input(request) if read is None else read
        written = estimated_output(reply) if written is None else written
        cost = None
    if cost is None:
        cost = dollars(price(request.spec, read, written, cached))
    return replace(reply, usage=Usage(read, written, used.calls, cost, cached))
