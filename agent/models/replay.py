"""What a provider's message holds that only the same model may be shown again."""

from collections.abc import Iterable

from storage.records.entries import Json

_REPLAYED_KEYS = ("thinking_blocks", "reasoning_content", "provider_specific_fields")


def without_replay(messages: Iterable[Json]) -> list[Json]:
    """Messages of a context for another model than it was made for: without what only the first
    one understands."""
    return [_without_replay(message) for message in messages]


def _without_replay(message: Json) -> Json:
    kept = {key: value for key, value in message.items() if key not in _REPLAYED_KEYS}
    if calls := kept.get("tool_calls"):
        kept["tool_calls"] = [_without_replay(call) for call in calls]
    return kept


def replayed(raw: Json) -> Json:
    return {key: raw[key] for key in _REPLAYED_KEYS if raw.get(key)}
