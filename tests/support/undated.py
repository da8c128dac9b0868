"""Requests without the lines that say when messages were received, for tests of other things."""

from collections.abc import Iterable
from dataclasses import replace

from agent.models.base import Request
from storage.records.entries import Json
from storage.records.speakers import without_received


def undated(messages: Iterable[Json]) -> list[Json]:
    return [_undated(each) if each.get("role") == "user" else each for each in messages]


def undated_request(request: Request) -> Request:
    return replace(request, messages=undated(request.messages))


def _undated(message: Json) -> Json:
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": without_received(content)}
    if isinstance(content, list):
        parts = [
            {**part, "text": without_received(part["text"])} if part.get("type") == "text" else part
            for part in content
        ]
        return {**message, "content": parts}
    return message
