"""Prompt caches of providers: what marks where one may end, and what a call used of it. Pure.

Most providers find by themselves how far a request begins like an earlier one. Claude's wants to be
told up to where a request is worth keeping; what it kept is found again by whoever sends the same
beginning, byte for byte.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.models.usage import count
from storage.records.entries import Json

_MARK: Json = {"cache_control": {"type": "ephemeral"}}
_OF_CLAUDE = frozenset({"bedrock", "bedrock_converse", "vertex_ai", "openrouter"})
"""litellm's names of providers, beside Anthropic, that take Claude's marks for Claude."""


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Tokens of a call's input."""

    read: int = 0
    """That the cache had."""
    written: int = 0
    """That were put there."""


def takes_marks(model: str, provider: str) -> bool:
    return provider == "anthropic" or (provider in _OF_CLAUDE and "claude" in model.casefold())


def marked(messages: Sequence[Json]) -> list[Json]:
    """The messages with Claude's marks, three of the four it takes: the instructions, before which
    it puts the tools; where the last request of this session ended; and the end."""
    answers = [at for at, said in enumerate(messages) if said.get("role") == "assistant"]
    places = {len(messages) - 1}
    if messages and messages[0].get("role") == "system":
        places.add(0)
    if answers:
        places.add(answers[-1] - 1)
    return [
        _marked(message) if at in places and message.get("content") else message
        for at, message in enumerate(messages)
    ]


def _marked(message: Json) -> Json:
    """A message in parts (with a picture) is marked at its last: litellm passes over a mark beside
    them."""
    content = message["content"]
    if not isinstance(content, list):
        return message | _MARK
    return message | {"content": [*content[:-1], content[-1] | _MARK]}


def cache_use(used: object, read: int) -> CacheUse:
    """What a provider said of its cache, as far as that can be: `read` is all of the input."""
    details = getattr(used, "prompt_tokens_details", None)
    cached = _first(details, "cached_tokens") or _first(used, "cache_read_input_tokens")
    written = _first(details, "cache_creation_tokens")
    written = written or _first(used, "cache_creation_input_tokens")
    cached = min(cached, read)
    return CacheUse(cached, min(written, read - cached))


def _first(said: object, name: str) -> int:
    value = said.get(name) if isinstance(said, Mapping) else getattr(said, name, None)
    return count(value) or 0
