"""Pictures of a session's messages in files of sessions: written as Pi's image blocks, and kept
again when such a file, or one in OpenAI's shape, is taken in."""

import asyncio
import base64
import binascii
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gateway.media.pictures import model_picture
from gateway.outbound.pictures import DECODING
from storage.blobs.base import BlobStore
from storage.interchange.arriving import Arriving, Entries
from storage.interchange.pi.message import text_of
from storage.records.attached import KEY, Attached, as_json, attached
from storage.records.entries import Entry, ImportedEntry, Json

MOST_PICTURES = 200
"""Of one file that is taken in."""
_NAMED = re.compile(r"(?:\n?\[image: [\w/+.-]+\])+\Z")
_ONE = 20_000_000
"""Bytes of one of them."""


def pictures_from(blobs: BlobStore, loop: asyncio.AbstractEventLoop) -> Callable[[Entry], Entry]:
    """Gives an entry its pictures. For a thread beside the event loop, in which it waits."""

    def shown(entry: Entry) -> Entry:
        if KEY not in entry.body:
            return entry
        return asyncio.run_coroutine_threadsafe(_shown(blobs, entry), loop).result()

    return shown


def _with_files(bodies: Sequence[Json]) -> list[int]:
    """Which of them name files or hold pictures: few of many."""
    return [
        place
        for place, body in enumerate(bodies)
        if KEY in body or (body.get("role") == "user" and _pictures(body))
    ]


async def _shown(blobs: BlobStore, entry: Entry) -> Entry:
    pictures = [file.shown for file in attached(entry.body) if file.shown]
    found = [data for one in pictures if (data := await blobs.get(one)) is not None]
    if not found:
        return entry
    said = str(entry.body.get("content") or "")
    blocks: list[Json] = [{"type": "text", "text": said}] if said else []
    blocks += [
        {
            "type": "image",
            "data": base64.b64encode(data).decode("ascii"),
            "mimeType": "image/png" if data.startswith(b"\x89PNG") else "image/jpeg",
        }
        for data in found
    ]
    # As such a line is read: a text that names its pictures, and the blocks beside it.
    more = {"content": text_of(blocks), "pi": entry.body.get("pi", {}) | {"blocks": blocks}}
    return replace(entry, body=entry.body | more)


def keep_pictures(blobs: BlobStore, arriving: Arriving, whose: str) -> Arriving:
    """What is taken in, its pictures kept here. What a file says is kept here already is not
    believed: it would show its reader what others sent. `whose`: the conversation's address."""
    return replace(arriving, parts=_with_kept(blobs, arriving.parts, whose))


async def _with_kept(
    blobs: BlobStore, parts: AsyncIterator[Entries], whose: str
) -> AsyncIterator[Entries]:
    left = MOST_PICTURES
    async for part in parts:
        entries = list(part)
        for place in _with_files([one.draft.body for one in part]):
            one = entries[place]
            given = _pictures(one.draft.body) if one.draft.body.get("role") == "user" else []
            kept = [await _kept(blobs, data, whose) for data in given[:left]]
            left -= len(kept)
            entries[place] = _with(one, [digest for digest in kept if digest])
        yield entries


def _pictures(body: Json) -> list[str]:
    """In base64, of either shape."""
    pi, openai = body.get("pi"), body.get("openai")
    blocks = pi.get("blocks") if isinstance(pi, dict) else None
    changes = openai.get("set") if isinstance(openai, dict) else None
    parts = changes.get("content") if isinstance(changes, dict) else None
    found: list[str] = []
    for part in [*_listed(blocks), *_listed(parts)]:
        match part:
            case {"type": "image", "data": str(data)}:
                found.append(data)
            case {"type": "image_url", "image_url": {"url": str(url)}} if url.startswith("data:"):
                found.append(url.partition(";base64,")[2])
    return found


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


async def _kept(blobs: BlobStore, encoded: str, whose: str) -> str:
    """Its hash; "" where it is no picture."""
    if len(encoded) > _ONE * 4 // 3:
        return ""
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return ""
    made = await DECODING.run(whose, partial(model_picture, data))
    return "" if made is None else await blobs.put(made[0])


def _with(one: ImportedEntry, kept: Sequence[str]) -> ImportedEntry:
    body = one.draft.body
    claimed = attached(body)
    if not (kept or KEY in body):
        return one
    named = [file for file in claimed if file.shown]
    fresh = [
        replace(named[at] if at < len(named) else Attached("photo"), blob=digest, shown=digest)
        for at, digest in enumerate(kept)
    ]
    others = [replace(file, blob="", shown="", path="") for file in claimed if not file.shown]
    body = {key: value for key, value in body.items() if key != KEY}
    if files := [as_json(file) for file in (*fresh, *others)]:
        body[KEY] = files
    pi = body.get("pi")
    if kept and isinstance(pi, dict) and "blocks" in pi:
        rest = {key: value for key, value in pi.items() if key != "blocks"}
        body = {key: value for key, value in body.items() if key != "pi"}
        body |= {"pi": rest} if rest else {}
        body["content"] = _NAMED.sub("", str(body.get("content") or ""))
    return replace(one, draft=replace(one.draft, body=body))
