import asyncio
import io
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.media.looking import LONGEST_TEXT, NOT_SHOWN, SMALL_TEXT, look
from gateway.media.sniffing import media_type_of
from gateway.outbound.pictures import DECODING
from tests.support.pdfs import pdf
from tests.support.photos import picture


def packed() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "a" * 1_000_000)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (picture(form="PNG"), "image/png"),
        (picture(form="JPEG"), "image/jpeg"),
        (picture(form="GIF"), "image/gif"),
        (picture(form="WEBP"), "image/webp"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "image/heic"),
        (b"\0\0\0\x18ftypisom\0\0\0\0", "video/mp4"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        (b"RIFF\0\0\0\0what", "application/octet-stream"),
        (b"OggS\0", "audio/ogg"),
        (packed(), "application/zip"),
        (b"\xef\xbb\xbfwords", "text/plain"),
        ("wörter\r\n".encode(), "text/plain"),
        ("wörter".encode("utf-16"), "application/octet-stream"),
        (b"\xff\xfe\xfd", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_a_file_is_known_by_its_beginning(data: bytes, found: str) -> None:
    assert media_type_of(data) == found


@pytest.mark.parametrize("data", [packed(), b"\0\0\0\x18ftypheic\0\0\0\0", picture()[:-300]])
async def test_what_only_claims_to_be_a_picture_is_said_to_be_none(data: bytes) -> None:
    seen = await look(data, "image/png", "telegram:1")
    assert (seen.picture, seen.fault) == (None, "not a readable picture")


async def test_a_picture_is_seen_whatever_it_is_called() -> None:
    seen = await look(picture(), "application/zip", "telegram:1")
    assert seen.picture is not None
    assert (seen.type, seen.fault) == ("image/jpeg", "")


async def test_a_text_is_told_whole_or_said_to_be_too_long() -> None:
    assert (await look(b"x" * SMALL_TEXT, "", "telegram:1")).text == "x" * SMALL_TEXT
    long = await look(b"x" * (SMALL_TEXT + 1), "text/plain", "telegram:1")
    assert long.text == ""
    assert long.fault == f"{NOT_SHOWN}: it is longer than 50,000 bytes"


async def test_a_pdf_is_told_up_to_a_bound_and_a_broken_one_is_said_to_be() -> None:
    seen = await look(pdf("a page of words"), "application/pdf", "telegram:1")
    assert "a page of words" in seen.text
    assert len(seen.text) <= LONGEST_TEXT
    assert "its text cannot be read" in (await look(b"%PDF-1.7 no more", "", "telegram:1")).fault


@pytest.mark.parametrize("data", [b"", b"\0\1\2", packed(), b"OggS\0"])
async def test_of_everything_else_it_is_said_that_it_is_not_shown(data: bytes) -> None:
    assert (await look(data, "", "telegram:1")).fault == NOT_SHOWN


async def test_pictures_that_take_for_ever_keep_only_their_own_conversation_waiting() -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    let_go = threading.Event()
    hostile = [
        asyncio.create_task(DECODING.run("telegram:hostile", let_go.wait)) for _ in range(12)
    ]
    await asyncio.sleep(0)
    assert (await look(picture(), "image/png", "telegram:other")).picture is not None
    assert not any(task.done() for task in hostile)
    let_go.set()
    await asyncio.gather(*hostile)
