"""HTTP to and from the Telegram stand-in: requests read, answers and failures written."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web
from aiohttp.multipart import BodyPartReader

from tests.stand_ins.telegram_checks import ApiError, Json

FaultKind = Literal[
    "429", "500", "502", "400", "401", "403", "404", "413", "cut_before", "cut_after", "slow"
]
"""502 answers with HTML, like a proxy; a cut is a connection that ends before or after the work."""

_NUMBERS = frozenset(
    [
        "offset",
        "limit",
        "timeout",
        "chat_id",
        "message_id",
        "message_thread_id",
        "cache_time",
        "max_connections",
    ]
)
_SWITCHES = frozenset(["show_alert", "drop_pending_updates", "disable_notification"])
_OBJECTS = frozenset(
    [
        "allowed_updates",
        "caption_entities",
        "commands",
        "entities",
        "link_preview_options",
        "reply_markup",
        "reply_parameters",
        "scope",
    ]
)
_FAILURES = {
    "400": "Bad Request: can't parse entities",
    "401": "Unauthorized",
    "403": "Forbidden: bot was blocked by the user",
    "404": "Not Found",
    "413": "Request Entity Too Large",
    "500": "Internal Server Error",
}


@dataclass
class Fault:
    method: str
    kind: FaultKind
    left: int
    seconds: float
    description: str

    @property
    def error(self) -> ApiError:
        """What it answers, where it is no cut and not slow."""
        if self.kind == "429":
            wait = int(self.seconds)
            text = f"Too Many Requests: retry after {wait}"
            return ApiError(429, self.description or text, retry_after=wait)
        return ApiError(int(self.kind), self.description or _FAILURES[self.kind])


def refusal(error: ApiError) -> web.Response:
    body: Json = {"ok": False, "error_code": error.code, "description": error.description}
    if error.parameters:
        body["parameters"] = error.parameters
    return web.json_response(body, status=error.code)


def bad_gateway() -> web.Response:
    return web.Response(status=502, text="<html>502 Bad Gateway</html>")


async def parameters(request: web.Request, keep: Callable[[str, bytes], str]) -> Json:
    """From the query, a form, multipart or JSON: the Bot API takes them all.

    `keep` takes the name and content of an uploaded file and says under which id it is kept.
    """
    params: Json = dict(request.query)
    if request.content_type == "application/json":
        params.update(await request.json())
    elif request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader) and part.name:
                params[part.name] = await _part(part, keep)
    else:
        params.update(await request.post())
    return {name: _parsed(name, value) for name, value in params.items()}


async def _part(part: BodyPartReader, keep: Callable[[str, bytes], str]) -> Any:
    if part.filename is None:
        return await part.text()
    content = bytes(await part.read(decode=True))
    return {"file": part.filename, "size": len(content), "id": keep(part.filename, content)}


def _parsed(name: str, value: Any) -> Any:
    """Form values are text; a number that is none stays text, for the spec to complain."""
    if not isinstance(value, str):
        return value
    if name in _OBJECTS:
        return json.loads(value)
    if name in _SWITCHES and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if name in _NUMBERS and value.removeprefix("-").isdigit():
        return int(value)
    return value
