"""Pictures that come from outside, made anew before people's programs show them.

What is sent on was written by this program: no metadata, no places where it was taken, nothing
behind the picture's end.
"""

import io
import logging
import re

from PIL import Image, ImageOps

from agent.fairness import FairThreads

log = logging.getLogger(__name__)

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
MOST_PIXELS = 25_000_000
"""Of a picture that is decoded: a small file may hold a huge one."""
LONGEST_SIDE = 4_096
"""Pixels of a side as it is shown; Telegram refuses pictures of more than 10,000 in all."""
MOST_BYTES = 8_000_000
"""Of a picture as it is shown; a larger one is written as JPEG, or is a document."""
_QUALITY = 90
_MOST_SCANS = 100
"""Of a JPEG. Others have about ten; each takes as long as the whole picture to decode, and a file
of 20 MB has room for a million."""
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd8\xff]")
_SCAN, _END = 0xDA, 0xD9
DECODING = FairThreads(2, "pictures")
"""For all that decodes or draws pictures. Decoded, the largest takes some hundred megabytes,
whatever its file has: four of them at once would be more than a small machine has."""


def shown_picture(data: bytes) -> tuple[bytes, str] | None:
    """The picture in a file as PNG or JPEG, with the suffix of its name; None where it holds none
    that can be shown: then it is a document. What moves is one, it would stand still. Blocks."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS or getattr(image, "is_animated", False):
                return None
            if has_many_scans(data):
                return None
            was_jpeg = image.format == "JPEG"
            if was_jpeg:
                image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
            return _written(image, was_jpeg)
    except Exception as error:  # noqa: BLE001 - logged below
        # Decoders of broken and of forged files raise anything; such a file is a document.
        log.debug("no picture that can be shown: %r", error)
        return None


def _written(image: Image.Image, was_jpeg: bool) -> tuple[bytes, str] | None:
    made, clear = made_anew(image, LONGEST_SIDE)
    if not was_jpeg:
        data = saved(made, "PNG")
        if len(data) <= MOST_BYTES:
            return data, ".png"
    data = saved(on_white(made) if clear else made, "JPEG", quality=_QUALITY)
    return (data, ".jpg") if len(data) <= MOST_BYTES else None


def has_many_scans(data: bytes) -> bool:
    """Whether it is a JPEG that takes for ever to decode. What stands in its other parts, or behind
    its end, as the films of some telephones do, is not looked at."""
    scans, at = 0, 2 if data.startswith(b"\xff\xd8") else len(data)
    while (found := _MARKER.search(data, at)) is not None and scans <= _MOST_SCANS:
        at = found.start()
        if data[at + 1] == _END:
            break
        scans += data[at + 1] == _SCAN
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return scans > _MOST_SCANS


def made_anew(image: Image.Image, longest_side: int) -> tuple[Image.Image, bool]:
    """The pixels alone, upright, in these bounds; and whether some of them are transparent."""
    clear = image.has_transparency_data
    mode = "RGBA" if clear else "RGB"
    made = image if image.mode == mode else image.convert(mode)
    made.thumbnail((longest_side, longest_side))  # before it is copied: it may be huge
    made = ImageOps.exif_transpose(made)
    made.info.clear()  # comments and profiles would be written again
    return made, clear


def on_white(image: Image.Image) -> Image.Image:
    ground = Image.new("RGB", image.size, "white")
    ground.paste(image, mask=image.getchannel("A"))
    return ground


def saved(image: Image.Image, form: str, **options: int) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()
