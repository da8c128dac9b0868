"""Text measured and cut to fit a model's window. Pure.

Sizes are bytes of UTF-8, about four to a token: close for English and code, and on the safe side
for scripts whose characters cost a token each.
"""

BYTES_PER_TOKEN = 4
PICTURE_TOKENS = 1_000
"""About what a picture takes of a window."""
LEAST_SHARE = 1_000
"""Bytes of a share, however small the window is."""


def share(window: int | None, part: int, most: int) -> int:
    """Bytes that may be shown at once to who has a context window of so many tokens (None: it is
    not known): one of `part` equal parts of it, at least LEAST_SHARE, and at most `most`."""
    if window is None:
        return most
    return max(LEAST_SHARE, min(most, window * BYTES_PER_TOKEN // part))


def size(text: str) -> int:
    """Bytes of UTF-8; a lone surrogate counts three."""
    return len(_encode(text))


def head(text: str, limit: int) -> str:
    """The longest beginning of at most `limit` bytes, cut at a line's end where one is near."""
    if _fits(text, limit):
        return text
    raw = _encode(text[: max(limit, 0)])
    end = max(limit, 0)
    while 0 < end < len(raw) and _inside_character(raw[end]):
        end -= 1
    line = raw.rfind(b"\n", end // 2, end)
    return _decode(raw[: line + 1 if line >= 0 else end])


def tail(text: str, limit: int) -> str:
    """The longest end of at most `limit` bytes, cut at a line's start where one is near."""
    if _fits(text, limit):
        return text
    raw = _encode(text[-limit:]) if limit > 0 else b""
    start = max(len(raw) - limit, 0)
    while start < len(raw) and _inside_character(raw[start]):
        start += 1
    line = raw.find(b"\n", start, start + (len(raw) - start) // 2)
    return _decode(raw[line + 1 if line >= 0 else start :])


def pieces(text: str, limit: int) -> list[str]:
    """The text in order, in pieces of at most `limit` bytes (at least four); joined, they are it.

    No piece but the last is smaller than about half the limit.
    """
    if limit < BYTES_PER_TOKEN:
        raise ValueError("a piece must have room for a character")
    found = []
    while not _fits(text, limit):
        found.append(head(text, limit))
        text = text[len(found[-1]) :]
    return [*found, text]


def _fits(text: str, limit: int) -> bool:
    return len(text) <= limit and size(text) <= limit


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _inside_character(byte: int) -> bool:
    return byte & 0xC0 == 0x80
