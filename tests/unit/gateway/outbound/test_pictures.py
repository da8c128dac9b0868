import io
import os
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from gateway.outbound.pictures import LONGEST_SIDE, MOST_BYTES, shown_picture


def saved(image: Image.Image, form: str, **more: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **more)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


RED = Image.new("RGB", (30, 20), "red")


@pytest.mark.parametrize(
    ("form", "suffix"), [("PNG", ".png"), ("JPEG", ".jpg"), ("GIF", ".png"), ("WEBP", ".png")]
)
def test_pictures_are_known_by_their_content(form: str, suffix: str) -> None:
    shown = shown_picture(saved(RED, form))
    assert shown is not None
    data, named = shown
    assert named == suffix
    assert opened(data).size == (30, 20)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "CMYK"])
def test_every_mode_can_be_shown(mode: str) -> None:
    image = Image.new(mode, (5, 5))
    assert shown_picture(saved(image, "JPEG" if mode == "CMYK" else "PNG")) is not None


def test_what_a_picture_says_of_itself_is_not_sent() -> None:
    exif = Image.Exif()
    exif[0x010E] = "planted secret"
    exif[0x0112] = 6  # turned
    jpeg = saved(RED, "JPEG", exif=exif, comment=b"planted secret") + b"planted secret"
    notes = PngImagePlugin.PngInfo()
    notes.add_text("note", "planted secret")
    png = saved(RED, "PNG", pnginfo=notes, exif=exif) + b"planted secret"
    for data in (jpeg, png):
        assert b"planted secret" in data
        shown = shown_picture(data)
        assert shown is not None
        assert b"planted secret" not in shown[0]
        assert opened(shown[0]).size == (20, 30)


def test_what_moves_stays_a_document() -> None:
    frames = [Image.new("RGB", (5, 5), colour) for colour in ("red", "blue")]
    moving = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert shown_picture(moving) is None


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_a_small_file_of_a_huge_picture_is_not_decoded() -> None:
    header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 99))
    assert shown_picture(bomb) is None


def test_a_large_picture_is_made_smaller() -> None:
    shown = shown_picture(saved(Image.new("RGB", (6_000, 100), "red"), "PNG"))
    assert shown is not None
    assert opened(shown[0]).width == LONGEST_SIDE


def noise(width: int, height: int) -> Image.Image:
    return Image.frombytes("RGB", (width, height), os.urandom(3 * width * height))


def test_a_picture_that_is_heavy_as_png_is_written_as_jpeg() -> None:
    data = saved(noise(2_000, 1_500), "PNG")
    assert len(data) > MOST_BYTES
    shown = shown_picture(data)
    assert shown is not None
    assert shown[1] == ".jpg"
    assert len(shown[0]) <= MOST_BYTES


def test_a_picture_that_is_heavy_anyhow_is_a_document() -> None:
    assert shown_picture(saved(noise(4_000, 4_000), "JPEG", quality=95)) is None


@given(st.binary(max_size=200), st.integers(0, 600))
def test_broken_files_are_documents(junk: bytes, at: int) -> None:
    good = saved(RED, "PNG")
    broken = good[:at] + junk + good[at + 3 :]
    shown = shown_picture(broken)
    assert shown is None or opened(shown[0]).format == "PNG"
    assert shown_picture(junk) is None
