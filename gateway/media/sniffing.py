"""What a file is, by its first bytes: names and media types are its sender's words. Pure."""

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
)
_OF_MP4 = {
    b"M4A ": "audio/mp4",
    b"heic": "image/heic",
    b"mif1": "image/heic",
    b"avif": "image/avif",
}
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_UNKNOWN = "application/octet-stream"
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")


def media_type_of(data: bytes) -> str:
    for beginning, found in _BEGINNINGS:
        if data.startswith(beginning):
            return found
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], _UNKNOWN)
    if data[4:8] == b"ftyp":
        return _OF_MP4.get(data[8:12], "video/mp4")
    return "text/plain" if text_of(data) is not None else _UNKNOWN


def text_of(data: bytes) -> str | None:
    """The file as text; None where it is none."""
    if not data or not _CONTROLS.isdisjoint(data[:65_536]):
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def is_picture(media_type: str) -> bool:
    return media_type in ("image/png", "image/jpeg", "image/gif", "image/webp")
