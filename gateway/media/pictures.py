"""Pictures as models are shown them: made anew, small, without what stood beside the picture."""

import io
import logging

from PIL import Image

from gateway.outbound.pictures import FORMATS, has_many_scans, made_anew, on_white, saved

log = logging.getLogger(__name__)

LONGEST_SIDE = 1_568
"""Pixels. Providers scale larger ones down themselves, and charge for what they were sent."""
MOST_BYTES = 1_500_000
MOST_PIXELS = 50_000_000
"""Of a picture that is decoded: a small file may hold a huge one."""
_QUALITIES = (85, 70, 50)


def model_picture(data: bytes) -> tuple[bytes, str] | None:
    """The picture in a file as PNG or JPEG, of what moves the first, with its media type; None
    where there is none that can be read in these bounds. Blocks."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS or has_many_scans(data):
                return None
            if image.format == "JPEG":
                image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
            return _written(image, image.format == "JPEG")
    except Exception as error:  # noqa: BLE001 - logged below
        # Decoders of broken and of forged files raise anything; such a file is a document.
        log.debug("no picture that can be read: %r", error)
        return None


def _written(image: Image.Image, was_jpeg: bool) -> tuple[bytes, str] | None:
    made, clear = made_anew(image, LONGEST_SIDE)
    if not was_jpeg:
        data = saved(made, "PNG")
        if len(data) <= MOST_BYTES:
            return data, "image/png"
    if clear:
        made = on_white(made)
    for quality in _QUALITIES:
        data = saved(made, "JPEG", quality=quality)
        if len(data) <= MOST_BYTES:
            return data, "image/jpeg"
    return None
