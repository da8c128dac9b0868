"""What arrives unpacked, in small steps and never more than there is room for; and as text."""

import codecs
import re
import zlib
from collections.abc import Iterator

from agent.errors import ToolError

STEP = 262_144
"""Bytes that are unpacked at once, a millisecond's work."""
_PIECE = 32_768
"""Bytes that are decoded at once."""
ACCEPTED = "gzip, deflate"
_GZIP, _ZLIB, _RAW = 31, 15, -15
_NAME = re.compile(r"[a-z]{1,10}\Z")
_CHARSETS = re.compile(
    r"(?:utf-?8|utf-?16(?:le|be)?|iso-?8859-\d{1,2}|windows-\d{3,4}|cp\d{3,4}"
    r"|gb18030|big5-hkscs|euc-jp|iso-2022-jp|koi8-[ru]|mac-?(?:roman|cyrillic))\Z"
)
"""Of what Python can decode, what pages are written in."""
_AS_BROWSERS = {
    name: codec
    for codec, names in {
        "cp1252": "us-ascii ascii latin1 latin-1 iso-8859-1 iso8859-1",
        "cp1254": "iso-8859-9 iso8859-9 latin5",
        "cp874": "tis-620 iso-8859-11 windows-874",
        "gb18030": "gb2312 gb_2312-80 gb_2312 gbk x-gbk chinese",
        "big5hkscs": "big5 big5-hkscs x-x-big5 cn-big5",
        "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms_kanji ms932",
        "cp949": "euc-kr euckr ks_c_5601-1987 ksc5601 ksc_5601 korean windows-949",
        "euc-jp": "x-euc-jp",
        "utf-16-le": "utf-16 utf16",
    }.items()
    for name in names.split()
}
"""What pages call so is more than that: the standard of the web lists it."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Unpacker:
    """One body's content encoding undone. Feed it what arrives; ToolError for what is broken."""

    def __init__(self, encoding: str, room: int) -> None:
        """`room`: bytes that may come out in all. ToolError for an encoding nobody asked for."""
        self._kind = encoding.strip().lower()
        self.room = room
        match self._kind:
            case "" | "identity":
                self._inner = None
            case "gzip" | "x-gzip":
                self._inner = zlib.decompressobj(_GZIP)
            case "deflate":
                self._inner = zlib.decompressobj(_ZLIB)
            case _:
                name = self._kind if _NAME.match(self._kind) else "something else"
                raise ToolError(f"the server packs its answer as {name}, unasked")
        self._fresh = True

    @property
    def full(self) -> bool:
        """There was more than there is room for."""
        return self.room <= 0

    @property
    def broken_off(self) -> bool:
        """The packing has an end, which did not come."""
        return self._inner is not None and not self._inner.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the data becomes, in pieces of at most STEP bytes. Ends when it is full."""
        more = bool(data)
        while more and not self.full:
            limit = min(STEP, self.room)
            piece, data = self._step(data, limit)
            # A piece of the full size may have left some inside.
            more = bool(data) or len(piece) == limit
            self.room -= len(piece)
            if piece:
                yield piece

    def _step(self, data: bytes, limit: int) -> tuple[bytes, bytes]:
        if self._inner is None:
            return data[:limit], data[limit:]
        if self._inner.eof:
            if self._kind == "deflate" or not data.startswith(b"\x1f"):
                return b"", b""  # padding behind the end
            self._inner = zlib.decompressobj(_GZIP)
        try:
            piece = self._inner.decompress(data, limit)
        except zlib.error:
            if self._kind != "deflate" or not self._fresh:
                raise ToolError("the page is packed in a way that cannot be unpacked") from None
            # Some servers leave the head away that the standard asks for.
            self._inner = zlib.decompressobj(_RAW)
            self._fresh = False
            return b"", data
        self._fresh = False
        return piece, self._inner.unused_data or self._inner.unconsumed_tail


def charset_named(name: str) -> str | None:
    """The codec of a name that a page or a server gives; None for one that is not text."""
    name = name.strip().strip("'\"").lower()
    if (meant := _AS_BROWSERS.get(name)) is not None:
        return meant
    if not _CHARSETS.match(name):
        return None
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


def text_of(body: bytes, declared: str) -> str:
    """A text by its own mark, else by the declared charset, else as UTF-8 where it is that; never
    an error, for what cannot be read becomes U+FFFD."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], name)
    if (codec := charset_named(declared)) is not None:
        return _decoded(body, codec)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        # A text that was cut may end inside a character.
        cut = error.reason == "unexpected end of data"
        return _decoded(body, "utf-8" if cut else "cp1252")


def _decoded(body: bytes, codec: str) -> str:
    """In small steps: where nothing fits the codec, each byte takes long, and a thread keeps the
    event loop waiting as long as one of them takes."""
    decoder = codecs.getincrementaldecoder(codec)("replace")
    pieces = [decoder.decode(body[at : at + _PIECE]) for at in range(0, len(body), _PIECE)]
    return "".join([*pieces, decoder.decode(b"", final=True)])
