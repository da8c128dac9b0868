import io
import os
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gateway.media.pictures import LONGEST_SIDE, MOST_BYTES, model_picture
from gateway.outbound.pictures import shown_picture
from tests.support.photos import picture


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def png_of(width: int, height: int) -> bytes:
    """A PNG that says it has this size, and holds nothing of it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    ends = chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + ends


@pytest.mark.parametrize(
    ("form", "kind"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/png"), ("WEBP", "image/png")],
)
def test_a_picture_is_made_anew_as_png_or_jpeg(form: str, kind: str) -> None:
    made = model_picture(picture("red", (30, 20), form) + b"planted")
    assert made is not None
    data, found = made
    assert (found, opened(data).size) == (kind, (30, 20))
    assert b"planted" not in data


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "CMYK"])
def test_every_mode_is_taken(mode: str) -> None:
    out = io.BytesIO()
    Image.new(mode, (5, 5)).save(out, "JPEG" if mode == "CMYK" else "PNG")
    assert model_picture(out.getvalue()) is not None


@pytest.mark.parametrize("size", [(4_000, 10), (10, 4_000), (1_600, 1_600)])
def test_a_long_side_is_cut_down_and_a_turned_one_stands_upright(size: tuple[int, int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, "JPEG", exif=exif)
    made = model_picture(out.getvalue())
    assert made is not None
    shown = opened(made[0])
    assert max(shown.size) == LONGEST_SIDE
    assert (shown.width > shown.height) == (size[1] > size[0])
    assert not shown.getexif()


def test_what_does_not_compress_becomes_a_jpeg_of_bounded_size() -> None:
    out = io.BytesIO()
    Image.frombytes("RGBA", (1_600, 1_600), os.urandom(1_600 * 1_600 * 4)).save(out, "PNG")
    made = model_picture(out.getvalue())
    assert made is not None
    assert made[1] == "image/jpeg"
    assert len(made[0]) <= MOST_BYTES


@pytest.mark.parametrize(
    "data",
    [b"", b"\x89PNG\r\n\x1a\n", png_of(100_000, 100_000), png_of(9, 9), picture()[:-300]],
    ids=["nothing", "only its head", "a bomb", "a lie", "cut"],
)
def test_what_cannot_be_read_is_none(data: bytes) -> None:
    assert model_picture(data) is None


@given(st.binary(max_size=200), st.integers(0, 600))
def test_a_damaged_picture_never_fails(noise: bytes, at: int) -> None:
    whole = picture("blue", (40, 30))
    model_picture(whole[:at] + noise + whole[at + len(noise) :])


def scans(many: int) -> bytes:
    """A JPEG whose last part is there so many times more."""
    out = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(out, "JPEG", progressive=True)
    data = out.getvalue()
    last = data[data.rfind(b"\xff\xda") : -2]
    return data[:-2] + last * many + data[-2:]


def test_what_stands_behind_a_jpeg_or_in_its_other_parts_is_no_scan() -> None:
    data = scans(0)
    noise = b"\xff\xda" * 1_000
    assert model_picture(data + noise) is not None
    comment = b"\xff\xfe" + (len(noise) + 2).to_bytes(2, "big") + noise
    assert model_picture(data[:2] + comment + data[2:]) is not None


def test_a_jpeg_that_would_be_decoded_for_ever_is_none() -> None:
    assert model_picture(scans(0)) is not None
    assert model_picture(scans(20)) is not None
    assert model_picture(scans(100_000)) is None
    assert shown_picture(scans(20)) is not None
    assert shown_picture(scans(100_000)) is None
