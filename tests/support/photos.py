"""Small pictures for tests."""

import io

from PIL import Image


def picture(color: str = "red", size: tuple[int, int] = (40, 30), form: str = "JPEG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, form)
    return out.getvalue()
