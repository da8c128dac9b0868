"""What a model and people are shown of a server's result. Pure.

Everything in it is untrusted: it stands in a fence, is bounded, and a file's kind is what its bytes
say, not what the server does. What does not fit is kept whole as a file of the workspace.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from agent.text.fencing import fence
from agent.text.sizing import head, share, size, tail
from agent.text.untrusted import visible
from storage.records.entries import Json

MOST_SHOWN = 40_000
"""Bytes of a result that a model is shown."""
SHARE = 16
"""A result is at most this part of the context window of who reads it."""
MOST_PARTS = 100
MOST_VALUES = 100_000
"""Of structured content."""
MOST_FILES = 20
MOST_PICTURES = 10
"""That people are shown; the others are files."""
FOLDER = "mcp"
"""In the workspace."""
LONGEST_LINK = 500
_SIGNS = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"%PDF-", "pdf"),
    (b"OggS", "ogg"),
    (b"ID3", "mp3"),
    (b"fLaC", "flac"),
)
_PICTURES = ("png", "jpg", "gif", "webp")


def room_for(window: int | None) -> int:
    """Bytes of a result for a model with this context window, in tokens."""
    return share(window, SHARE, MOST_SHOWN)


@dataclass(frozen=True, slots=True)
class Kept:
    """A part that becomes a file."""

    path: str
    """In the workspace. It is made of the content, so the same has the same."""
    data: bytes
    picture: bool


@dataclass(slots=True)
class Shown:
    text: str = ""
    files: list[Kept] = field(default_factory=list)


def shown(
    result: Json, server: str, tool: str, room: int, hide: Callable[[str], str] = str
) -> Shown:
    """Of a tools/call result, mended. `tool`: the server's own name of it; `hide` takes secrets out
    of text."""
    found = Shown()
    parts = result.get("content", [])
    lines = [_part(part, server, found.files) for part in parts[:MOST_PARTS]]
    if left := len(parts) - MOST_PARTS:
        lines += [f"[{left} more parts were left out]"] if left > 0 else []
    if (structured := _structured(result, parts)) is not None:
        lines.append(structured)
    text = hide(visible("\n".join(line for line in lines if line)))
    body = _bounded(text, server, room, found.files) if text else "[the result is empty]"
    fenced = fence("result", body, server=server, tool=visible(tool)[:LONGEST_LINK])
    failed = result.get("isError") is True
    found.text = f"Error: the tool says that it failed.\n{fenced}" if failed else fenced
    return found


def _bounded(text: str, server: str, room: int, files: list[Kept]) -> str:
    """The beginning and the end where it is too long, with the file that has the whole."""
    if size(text) <= room:
        return text
    data = text.encode("utf-8", "replace")
    kept = _kept(data, server, "txt")
    files.append(kept)
    first, last = head(text, room * 3 // 4), tail(text, room // 4)
    whole = f"[{len(data):,} bytes; the whole is the file {kept.path}. Here it is cut.]"
    return f"{first}\n{whole}\n{last}"


def _part(part: Mapping[str, Any], server: str, files: list[Kept]) -> str:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            return _binary(data, kind, server, files)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return f"[resource {_short(uri)}]\n{text}\n[end of the resource]"
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)}}:
            return f"[resource {_short(uri)}] {_binary(data, 'data', server, files)}"
        case {"type": "resource_link", "uri": str(uri)}:
            more = [part.get(key) for key in ("name", "title", "mimeType", "description")]
            words = [_short(one) for one in more if isinstance(one, str) and one != uri]
            return f"[link to a resource: {' · '.join([_short(uri), *words])}]"
        case _:
            return f"[a part of an unknown kind: {_short(json.dumps(part, ensure_ascii=False))}]"


def _binary(data: str, kind: str, server: str, files: list[Kept]) -> str:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{kind} that is not valid base64; it was thrown away]"
    if not content:
        return f"[{kind} without content]"
    kept = _kept(content, server, _extension(content))
    if kept not in files:
        if len(files) >= MOST_FILES:
            return f"[{kind} that was thrown away: a result has at most {MOST_FILES} files]"
        files.append(kept)
    return f"[{kind}: {len(content):,} bytes, kept as the file {kept.path}]"


def _kept(content: bytes, server: str, extension: str) -> Kept:
    name = f"{sha256(content).hexdigest()[:16]}.{extension}"
    return Kept(f"{FOLDER}/{server}/{name}", content, extension in _PICTURES)


def _extension(content: bytes) -> str:
    if content[:4] == b"RIFF" and content[8:12] in (b"WEBP", b"WAVE"):
        return "webp" if content[8:12] == b"WEBP" else "wav"
    for sign, extension in _SIGNS:
        if content.startswith(sign):
            return extension
    return "bin" if b"\0" in content[:4_096] or not _is_text(content) else "txt"


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _structured(result: Json, parts: list[Json]) -> str | None:
    """Structured content, where no text says the same already: servers are to say it twice."""
    content = result.get("structuredContent")
    if not isinstance(content, dict):
        return None
    if any(_says(part, content) for part in parts[:MOST_PARTS]) or _say_together(parts, content):
        return None
    if not _few(content):
        return "[structured content that was thrown away: it has too many values]"
    return json.dumps(content, ensure_ascii=False, indent=1)


def _few(content: Json) -> bool:
    """Whether there are so few values that to write them down is done at once."""
    left: list[Any] = [content]
    seen = 0
    while left:
        one = left.pop()
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        seen += len(inner)
        if seen > MOST_VALUES:
            return False
        left += inner
    return True


def _says(part: Mapping[str, Any], content: Json) -> bool:
    text = part.get("text")
    if not isinstance(text, str):
        return False
    # FastMCP wraps what is no object: {"result": "the text"}, {"result": [1, 2]}.
    if content == {"result": text}:
        return True
    said = _value(text)
    return said is not _NOTHING and (said == content or {"result": said} == content)


_NOTHING = object()


def _value(text: str) -> object:
    """What a text says in JSON, _NOTHING where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOTHING


def _say_together(parts: list[Json], content: Json) -> bool:
    """FastMCP makes a part of each item of a list: {"result": [ITEM, ITEM]}."""
    items = content.get("result")
    texts = [part.get("text") for part in parts]
    if set(content) != {"result"} or not isinstance(items, list) or len(items) != len(texts):
        return False
    return all(
        isinstance(text, str) and (text == item or _value(text) == item)
        for text, item in zip(texts, items, strict=True)
    )


def pictures(files: list[Kept]) -> Iterator[Kept]:
    """Those that people are shown."""
    found = 0
    for kept in files:
        if kept.picture and found < MOST_PICTURES:
            found += 1
            yield kept


def _short(text: str) -> str:
    return " ".join(visible(text[: LONGEST_LINK * 4]).split())[:LONGEST_LINK]
