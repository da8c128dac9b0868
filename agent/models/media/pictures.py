"""Pictures in a request: a context names them by their hash, and here, just before a model is
asked, they are put in, or told in words where it does not see."""

import base64
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from agent.models.base import Model, ModelError, ModelErrorKind, Reply, Request
from storage.records.entries import Json

log = logging.getLogger(__name__)

BLOB = "blob:"
"""Before the hash, where OpenAI's shape has a URL."""
SHOWN = 10
"""The newest pictures of a request that are shown, so that a long conversation stays bounded."""
_STEP = 5
"""The older ones go so many at a time: what a request begins with changes seldom, which is what
prompt caches go by."""
UNSEEN = "[not shown: this model does not see pictures]"
OLDER = "[not shown any more: only the newest pictures are]"
REFUSED = "[not shown: this model cannot read this picture]"
GONE = "[not shown: the picture is not there any more]"

_NO_PICTURES = re.compile(
    r"image|vision|multi-?modal|mmproj|content.{0,20}(must be|should be|expected).{0,10}str",
    re.IGNORECASE,
)

Content = Callable[[str], Awaitable[bytes | None]]
"""What is kept under a hash."""


def picture_part(digest: str) -> Json:
    """A picture in a message of a context."""
    return {"type": "image_url", "image_url": {"url": BLOB + digest}}


def pictures_in(messages: Sequence[Json]) -> Iterator[tuple[int, int, str]]:
    """Place of the message, place of the part, hash."""
    for at, message in enumerate(messages):
        content = message.get("content")
        if not isinstance(content, list):
            continue
        for place, part in enumerate(content):
            if isinstance(part, dict) and part.get("type") == "image_url":
                url = part["image_url"]["url"]
                if url.startswith(BLOB):
                    yield at, place, url.removeprefix(BLOB)


_Place = tuple[str, str | None]
"""A model, with its server."""


@dataclass(frozen=True, slots=True)
class Seeing:
    """A model that is asked with pictures, or, where it is known not to see, without. One that
    refuses them is asked once more without, and not shown any from then on in this process; but
    where it saw others, or is said to, only those that it refused are kept from it."""

    model: Model
    content: Content
    _blind: set[_Place] = field(default_factory=set, init=False)
    """That refused pictures, and never took one."""
    _taken: set[tuple[_Place, str]] = field(default_factory=set, init=False)
    """Pictures that were taken, by their hashes."""
    _refused: set[tuple[_Place, str]] = field(default_factory=set, init=False)
    """Pictures that were among refused ones, and were never taken."""

    async def complete(self, request: Request) -> Reply:
        found = list(pictures_in(request.messages))
        if not found:
            return await self.model.complete(request)
        place = (request.spec.model, request.spec.api_base)
        if request.spec.sees is False or place in self._blind:
            return await self.model.complete(_blindly(request))
        refused = {(at, part) for at, part, one in found if (place, one) in self._refused}
        request = _with(request, dict.fromkeys(refused, _words(REFUSED)))
        found = [one for one in found if one[:2] not in refused]
        shown = {(place, one) for _, _, one in found[_first_shown(found) :]}
        try:
            reply = await self.model.complete(await self._shown(request, found))
        except ModelError as error:
            if error.partial or not shown or not _refuses(error):
                raise
            log.info("%s refuses pictures; it is asked without: %s", request.spec.model, error)
        else:
            self._taken.update(shown)
            return reply
        reply = await self.model.complete(_blindly(request))
        if request.spec.sees or any(at == place for at, _ in self._taken):
            self._refused.update(shown - self._taken)
        else:
            self._blind.add(place)
        return reply

    async def _shown(self, request: Request, found: list[tuple[int, int, str]]) -> Request:
        first = _first_shown(found)
        parts: dict[tuple[int, int], Json] = {}
        for at, place, _ in found[:first]:
            parts[at, place] = _words(OLDER)
        for at, place, digest in found[first:]:
            data = await self.content(digest)
            parts[at, place] = _words(GONE) if data is None else _url(data)
        return _with(request, parts)


def _first_shown(found: Sequence[object]) -> int:
    """Of so many pictures, the first that is shown."""
    too_many = max(0, len(found) - SHOWN)
    return -(-too_many // _STEP) * _STEP


def _blindly(request: Request) -> Request:
    found = pictures_in(request.messages)
    plain = _with(request, {(at, place): _words(UNSEEN) for at, place, _ in found})
    return replace(plain, messages=[_as_text(message) for message in plain.messages])


def _as_text(message: Json) -> Json:
    """In one text: models that do not see often take no parts at all."""
    content = message.get("content")
    if not isinstance(content, list) or any(part.get("type") != "text" for part in content):
        return message
    return message | {"content": "\n".join(part["text"] for part in content)}


def _with(request: Request, parts: dict[tuple[int, int], Json]) -> Request:
    """The request with other parts in some places. What it shares with others is not changed."""
    changed = {at for at, _ in parts}
    messages = [
        message
        | {
            "content": [
                parts.get((at, place), part) for place, part in enumerate(message["content"])
            ]
        }
        if at in changed
        else message
        for at, message in enumerate(request.messages)
    ]
    return replace(request, messages=messages)


def _words(text: str) -> Json:
    return {"type": "text", "text": text}


def _url(data: bytes) -> Json:
    kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
    encoded = base64.b64encode(data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{encoded}"}}


def _refuses(error: ModelError) -> bool:
    refused = (ModelErrorKind.BAD_REQUEST, ModelErrorKind.AUTH, ModelErrorKind.UNAVAILABLE)
    return error.kind in refused and _NO_PICTURES.search(str(error)) is not None
