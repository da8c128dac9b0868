"""Files that are read in a process of its own give what they give when they are read here."""

import pytest

from storage.errors import InterchangeError
from storage.interchange import reading
from storage.interchange.api import read_session
from storage.interchange.arriving import PART, head_of
from storage.interchange.reading import BROKE_OFF, read_apart
from storage.records.entries import ImportedEntry, Json
from tests.support.session_files import (
    HEADER,
    NOW,
    assistant,
    call,
    compaction,
    file_of,
    line,
    result,
    said,
    user,
)

LINES = [
    user("a", None, "caf\u00e9 \U0001f600"),
    assistant("b", "a", call("c1", where={"deep": [1, 2.5, None, True, 10**40]})),
    result("c", "b", "c1"),
    compaction("d", "c", "b"),
    line("custom", "e", "d", customType="theirs", data={"kept": ["whole"]}),
    *(user(f"u{n}", f"u{n - 1}" if n else "e", f"line {n} " + 300 * "x") for n in range(1_000)),
    assistant("z", "u999", said("done")),
]


def long_file(*more: Json) -> bytes:
    data = file_of(HEADER, *LINES, *more)
    assert len(data) > reading.SHORT
    return data


async def given(data: bytes) -> list[ImportedEntry]:
    async with read_apart(data, NOW) as arriving:
        return [entry async for part in arriving.parts for entry in part]


async def test_a_long_file_comes_in_parts_as_it_is_read_at_once() -> None:
    data = long_file()
    whole = read_session(data, NOW)
    async with read_apart(data, NOW) as arriving:
        assert arriving.head == head_of(whole)
        parts = [part async for part in arriving.parts]
    assert len(parts) == 1 + len(whole.entries) // PART
    assert tuple(entry for part in parts for entry in part) == whole.entries


async def test_a_short_file_gives_the_same() -> None:
    data = file_of(HEADER, *LINES[:5])
    assert tuple(await given(data)) == read_session(data, NOW).entries


async def test_a_fault_in_a_long_file_names_its_line_before_anything_is_given() -> None:
    with pytest.raises(InterchangeError, match=r"line 1008: its parent .* is not in the file"):
        await given(long_file(user("y", "nobody")))


async def test_who_does_not_want_the_rest_need_not_take_it() -> None:
    async with read_apart(long_file(), NOW) as arriving:
        assert len(await anext(arriving.parts)) == PART


async def test_a_process_that_ends_early_is_a_file_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reading, "_MODULE", "json.tool")
    with pytest.raises(InterchangeError, match=BROKE_OFF):
        await given(b"no JSON" + bytes(reading.SHORT))
    assert "json.tool (status 1) says: Extra data" in caplog.text
