"""Messages of a context as providers take them. Pure."""

import json

from storage.records.entries import Json

OPENAI = "openai"
"""litellm's name for everything that speaks OpenAI's chat protocol."""


def sendable(message: Json, provider: str) -> Json:
    """A message of the context as providers take it, whatever models wrote into it."""
    sent = {key: value for key, value in message.items() if key != "tool_calls"}
    if provider == OPENAI:
        sent.pop("provider_specific_fields", None)  # litellm's own; strict servers refuse it
    if calls := message.get("tool_calls"):
        sent["tool_calls"] = [_sendable_call(call) for call in calls]
    return sent


def _sendable_call(call: Json) -> Json:
    """A copy, for litellm to change. Arguments must be a JSON object, or a provider refuses the
    whole context for ever."""
    text = call["function"].get("arguments")
    try:
        fine = isinstance(json.loads(text), dict)
    except (TypeError, ValueError, RecursionError):
        fine = False
    if fine:
        return {**call, "function": {**call["function"]}}
    arguments = json.dumps({"not_json": text} if text else {}, ensure_ascii=False)
    return {**call, "function": {**call["function"], "arguments": arguments}}
