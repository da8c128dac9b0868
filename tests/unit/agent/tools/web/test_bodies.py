"""Unpacking gives what was packed, in small steps, and never more than there is room for."""

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolError
from agent.tools.web.bodies import STEP, Unpacker, charset_named, text_of

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    "identity": lambda data: data,
    "gzip": gzip.compress,
    "GZip ": gzip.compress,
    "deflate": zlib.compress,
}


def raw(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def unpacked(encoding: str, data: bytes, *, cut: int = 1_000, room: int = 10_000_000) -> bytes:
    unpacker = Unpacker(encoding, room)
    pieces = [
        piece
        for start in range(0, len(data), cut)
        for piece in unpacker.feed(data[start : start + cut])
    ]
    assert all(len(piece) <= STEP for piece in pieces)
    return b"".join(pieces)


@pytest.mark.parametrize("encoding", PACKED)
@given(data=st.binary(max_size=2_000), cut=st.integers(1, 500))
def test_what_was_packed_comes_out_however_it_arrives(encoding: str, data: bytes, cut: int) -> None:
    assert unpacked(encoding, PACKED[encoding](data), cut=cut) == data


@given(st.binary(max_size=2_000), st.integers(2, 500))
def test_deflate_without_its_head_is_understood(data: bytes, cut: int) -> None:
    assert unpacked("deflate", raw(data), cut=cut) == data


def test_a_file_of_several_parts_with_padding_is_read_to_its_end() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + b"\0" * 100
    assert unpacked("gzip", packed) == unpacked("gzip", packed, cut=1) == b"one two"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_unpacked_only_as_far_as_there_is_room(encoding: str) -> None:
    bomb = PACKED[encoding](bytes(50_000_000))
    unpacker = Unpacker(encoding, 1_000_000)
    assert sum(map(len, unpacker.feed(bomb))) == 1_000_000
    assert unpacker.full
    assert list(unpacker.feed(bomb)) == []


def test_all_that_is_inside_comes_out_though_everything_was_fed_at_once() -> None:
    data = bytes(5 * STEP)
    assert unpacked("gzip", gzip.compress(data), cut=10**9) == data


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "x" * 500])
def test_an_encoding_nobody_asked_for_is_an_error(encoding: str) -> None:
    with pytest.raises(ToolError, match="packs its answer"):
        Unpacker(encoding, 100)


@given(st.binary(min_size=1, max_size=200))
def test_broken_data_is_an_error_in_words_or_some_bytes(data: bytes) -> None:
    for encoding in ("gzip", "deflate"):
        try:
            unpacked(encoding, data)
        except ToolError as error:
            assert "unpacked" in str(error)


@given(st.binary(max_size=200), st.text(max_size=20))
def test_any_bytes_are_some_text(data: bytes, charset: str) -> None:
    assert isinstance(text_of(data, charset), str)


@pytest.mark.parametrize(
    "name", ["zip", "base64", "idna", "punycode", "rot13", "utf-7", "raw_unicode_escape"]
)
def test_a_codec_that_is_no_charset_is_not_used(name: str) -> None:
    assert charset_named(name) is None


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("ä€".encode(), "", "ä€"),
        ("ä€ ok".encode("cp1252"), "", "ä€ ok"),
        ("ä€".encode("cp1252"), "ISO-8859-1", "ä€"),
        ("\ufeffä".encode("utf-16-le"), "", "ä"),
        ("こ".encode("shift_jis"), "Shift_JIS", "こ"),
        ("ä".encode()[:1], "", "\ufffd"),
    ],
)
def test_a_text_is_read_as_browsers_do(data: bytes, charset: str, text: str) -> None:
    assert text_of(data, charset) == text
