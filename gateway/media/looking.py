"""What a fetched file says to a model: a picture, a short text, or only that it is there."""

from dataclasses import dataclass
from functools import partial

from agent.errors import ToolError
from agent.fairness import FairPlaces
from agent.tools.web.reading.process import Reader, read
from agent.tools.web.reading.serving import Page
from gateway.media.pictures import model_picture
from gateway.media.sniffing import is_picture, media_type_of, text_of
from gateway.outbound.pictures import DECODING

SMALL_TEXT = 50_000
"""Bytes of a text that is told whole."""
LONGEST_TEXT = 20_000
"""Characters of a PDF's text that are told."""
_PDF_SECONDS = 20.0
_READERS = FairPlaces(2, "PDFs that are read")
"""Each is a process."""
NOT_SHOWN = "its content is not shown"


@dataclass(frozen=True, slots=True)
class Seen:
    type: str
    """Media type."""
    picture: bytes | None = None
    """As models are shown it."""
    text: str = ""
    fault: str = ""


async def look(data: bytes, claimed: str, whose: str) -> Seen:
    """`claimed`: what its sender or name says it is ("image/png"): no more than a reason to say so
    where it is not. `whose`: the conversation's address."""
    found = media_type_of(data)
    if is_picture(found):
        made = await DECODING.run(whose, partial(model_picture, data))
        if made is not None:
            return Seen(found, picture=made[0])
        return Seen(found, fault="not a readable picture")
    fault = "not a readable picture" if claimed.startswith("image/") else ""
    if found == "application/pdf":
        return await _pdf(data, whose)
    if found == "text/plain" and len(data) > SMALL_TEXT:
        return Seen(found, fault=fault or f"{NOT_SHOWN}: it is longer than {SMALL_TEXT:,} bytes")
    text = text_of(data) or ""
    return Seen(found, text=text, fault=fault or ("" if text else NOT_SHOWN))


async def _pdf(data: bytes, whose: str) -> Seen:
    page = Page(url="", charset="", seconds=_PDF_SECONDS)
    try:
        async with _READERS.place(whose):
            found = await read(Reader.PDF, data, page)
    except ToolError as error:
        return Seen("application/pdf", fault=f"its text cannot be read: {error}")
    text, cut = found.text[:LONGEST_TEXT], len(found.text) > LONGEST_TEXT
    fault = f"cut after {LONGEST_TEXT:,} of {len(found.text):,} characters" if cut else ""
    return Seen("application/pdf", text=text, fault=fault or found.note)
