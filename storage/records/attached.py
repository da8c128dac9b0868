"""Files of a message: what its entry says of them under "files". Contents are kept elsewhere, by
their hash, so an entry is small and every branch shows the same ones. Pure.

What a model and people are told of a file is made of this when they are told. The entry's content
stays what its author said, so an edit of the words is known from one that changes nothing.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from storage.records.entries import Json

KEY = "files"
INBOX = "inbox"
"""Folder of a workspace for what people send."""
HEARD = frozenset({"voice", "audio", "video_note"})
"""Kinds in which somebody speaks, mostly."""
_NAME_LIMIT = 80
_SIGNS = {"voice": "🎤", "audio": "🎵", "video": "🎬", "video_note": "🎬", "animation": "🎬"}
_NAMED = {
    "photo": "picture",
    "sticker": "sticker",
    "voice": "voice message",
    "audio": "audio",
    "video": "video",
    "video_note": "video message",
    "animation": "animation",
}
_PLAIN = str.maketrans("[]<>{}", "()()()")


@dataclass(frozen=True, slots=True)
class Attached:
    kind: str
    """As adapters.events.File has it."""
    name: str = ""
    """As its sender called it; untrusted text."""
    type: str = ""
    """Media type, found out by looking; "" where that says nothing."""
    size: int = 0
    """Bytes."""
    seconds: float = 0.0
    blob: str = ""
    """Hash of the content; "" where it is not kept."""
    shown: str = ""
    """Hash of the picture as models are shown it; "" where it is none."""
    text: str = ""
    """What stands in it, where it is short and text."""
    path: str = ""
    """In the workspace."""
    fault: str = ""
    """Why it is not kept, or cannot be read; on one line."""

    @property
    def blobs(self) -> tuple[str, ...]:
        return tuple(digest for digest in (self.blob, self.shown) if digest)


_TYPES = {field.name: field.type for field in fields(Attached)}


def as_json(file: Attached) -> Json:
    return {key: value for key, value in asdict(file).items() if value or key == "kind"}


def attached(body: Json) -> tuple[Attached, ...]:
    """Of a message's body. It may have been imported, so what cannot be is left out."""
    given = body.get(KEY)
    return tuple(_read(given)) if isinstance(given, list) else ()


def _read(given: list[Any]) -> Iterator[Attached]:
    for one in given:
        if not isinstance(one, dict) or not isinstance(one.get("kind"), str):
            continue
        values = {key: one[key] for key in _TYPES if key in one}
        numbers = all(
            isinstance(values.get(key, 0), int | float) and not isinstance(values.get(key), bool)
            for key in ("size", "seconds")
        )
        words = all(isinstance(values[k], str) for k in values.keys() - {"size", "seconds"})
        if numbers and words:
            yield Attached(**values)


def line(file: Attached) -> str:
    """What is told of a file, on one line, in brackets of ours."""
    what = _NAMED.get(file.kind, "picture" if file.shown else "file")
    if file.shown and file.kind not in ("photo", "sticker"):
        what = "picture"
    name = file.name.translate(_PLAIN)
    name = " ".join("".join(c for c in name if c.isprintable()).split())[:_NAME_LIMIT]
    parts = [f"{what}: {name}" if name else what]
    if file.seconds:
        parts.append(f"{file.seconds:.0f} s")
    if file.size and not file.shown:
        parts.append(_size(file.size))
    if file.path:
        parts.append(f"in the workspace as {file.path}")
    if file.fault:
        parts.append(file.fault.translate(_PLAIN))
    return f"[{', '.join(parts)}]"


def lines(body: Json) -> str:
    """What is told of all files of a message but those whose words are its content."""
    told = (line(file) for file in attached(body) if not (file.kind in HEARD and file.text))
    return "\n".join(told)


def label(body: Json) -> str:
    """The files of a message in a list of messages: signs, and the first one's name."""
    files = attached(body)
    signs = "".join(map(_sign, files))
    name = next((file.name for file in files if file.name), "")
    return f"{signs} {name}".strip()


def _sign(file: Attached) -> str:
    return _SIGNS.get(file.kind, "🖼" if file.shown or file.kind == "photo" else "📎")


def digests(body: Json) -> list[str]:
    """Hashes of the contents that an entry shows."""
    return [digest for file in attached(body) for digest in file.blobs]


def _size(size: int) -> str:
    if size < 1_000:
        return f"{size} bytes"
    if size < 1_000_000:
        return f"{size / 1_000:.0f} KB"
    return f"{size / 1_000_000:.1f} MB"
