"""Files on the Discord stand-in: multipart requests, attachments, and the host that serves them."""

import json
import mimetypes
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.stand_ins.discord_checks import ApiError, Json

UPLOAD_LIMIT = 10 * 1024 * 1024
"""Bytes that a bot may send with a message."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A file in a request."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Body:
    """Of a request, whether JSON or multipart. May be read of the same request again."""

    payload: Any
    files: Mapping[int, Sent] = field(default_factory=dict)
    """By the number in "files[0]"."""

    @classmethod
    async def of(cls, request: web.Request) -> "Body":
        if request.content_type != "multipart/form-data":
            content = await request.read()
            return cls(json.loads(content) if content else None)
        form = await request.post()
        payload, files = form["payload_json"], {}
        assert not isinstance(payload, web.FileField)
        for name, value in form.items():
            if isinstance(value, web.FileField) and (number := re.fullmatch(r"files\[(\d)]", name)):
                value.file.seek(0)
                files[int(number[1])] = Sent(value.filename, value.file.read())
        return cls(json.loads(payload), files)


class Cdn:
    """Attachments, and what is asked for of them."""

    def __init__(self, snowflake: Callable[[], int]) -> None:
        self._snowflake = snowflake
        self.origin = "http://127.0.0.1"
        self.contents: dict[str, bytes] = {}
        """By the path of their URL. What is taken out is gone, as after 24 h."""
        self.says_size = True
        """Whether an answer begins with how long it is."""
        self.asked: list[Mapping[str, str]] = []
        """Headers of each request."""

    def add(self, sent: Sent, folder: str) -> Json:
        """An attachment as Discord describes it."""
        number = self._snowflake()
        name = re.sub(r"[^\w.\-]", "_", sent.name)
        path = f"/{folder}/{number}/{name}"
        self.contents[path] = sent.content
        url = f"{self.origin}{path}?ex=0&is=0&hm=0&"
        return {
            "id": str(number),
            "filename": name,
            "size": len(sent.content),
            "url": url,
            "proxy_url": url,
            "content_type": mimetypes.guess_type(name)[0] or "application/octet-stream",
        }

    def attached(
        self, place: int, payload: Json, files: Mapping[int, Sent], before: Sequence[Json] = ()
    ) -> list[Json]:
        """What a message has afterwards: of `before` what the payload lists, all if it has no
        list; and the new ones. ApiError as Discord refuses it."""
        if sum(len(sent.content) for sent in files.values()) > UPLOAD_LIMIT:
            raise ApiError(413, 40005, "Request entity too large")
        given = payload.get("attachments")
        listed = None if given is None else {str(attachment["id"]) for attachment in given}
        known = {attachment["id"] for attachment in before} | set(map(str, files))
        if listed is not None and not listed <= known:
            raise ApiError(400, 50035, "Invalid Form Body: attachments: unknown id")
        kept = [old for old in before if listed is None or old["id"] in listed]
        return [*kept, *(self.add(sent, f"attachments/{place}") for sent in files.values())]

    def content(self, url: str) -> bytes:
        """KeyError where it is gone."""
        return self.contents[url.removeprefix(self.origin).partition("?")[0]]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.headers))
        content = self.contents.get(request.path)
        if content is None:
            return web.Response(status=404, text="This content is no longer available.")
        if self.says_size:
            return web.Response(body=content)
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(content)
        return response
