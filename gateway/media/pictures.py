"""Pictures as models are shown them: made anew, small, without what stood beside the picture."""

import io
import logging
import threading

from PIL import Image, ImageOps

from gateway.outbound.pictures import FORMATS

log = logging.getLogger(__name__)

LONGEST_SIDE = 1_568
"""Pixels. Providers scale larger ones down themselves, and charge for what they were sent."""
MOST_BYTES = 1_500_000
MOST_PIXELS = 50_000_000
"""Of a picture that is decoded: a small file may hold a huge one."""
_QUALITIES = (85, 70, 50)
_ONE_AT_A_TIME = threading.Lock()
"""Decoded, the largest takes some hundred megabytes, whatever its file has: four of them at once
would be more than a small machine has."""


def model_picture(data: bytes) -> tuple[bytes, str] | None:
    """The picture in a file as PNG or JPEG, of what moves the first, with its media type; None
    where there is none that can be read in these bounds. Blocks."""
    try:
        with _ONE_AT_A_TIME, Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                return None
            if image.format == "JPEG":
                image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
            return _written(image, image.format == "JPEG")
    except Exception as error:  # noqa: BLE001 - logged below
        # Decoders of broken and of forged files raise anything; such a file is a document.
        log.debug("no picture that can be read: %r", error)
        return None


def _written(image: Image.Image, was_jpeg: bool) -> tuple[bytes, str] | None:
    clear = image.has_transparency_data
    mode = "RGBA" if clear else "RGB"
    made = image if image.mode == mode else image.convert(mode)
    made.thumbnail((LONGEST_SIDE, LONGEST_SIDE))  # before it is copied: it may be huge
    made = ImageOps.exif_transpose(made)
    made.info.clear()  # comments and profiles would be written again
    if not was_jpeg:
        out = io.BytesIO()
        made.save(out, "PNG")
        if out.tell() <= MOST_BYTES:
            return out.getvalue(), "image/png"
    if clear:
        ground = Image.new("RGB", made.size, "white")
        ground.paste(made, mask=made.getchannel("A"))
        made = ground
    for quality in _QUALITIES:
        out = io.BytesIO()
        made.save(out, "JPEG", quality=quality)
        if out.tell() <= MOST_BYTES:
            return out.getvalue(), "image/jpeg"
    return None
