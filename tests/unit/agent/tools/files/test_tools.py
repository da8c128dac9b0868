import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.base import ToolCall
from agent.tools.base import Call, Done, run_call, schemas, toolbox
from agent.tools.files.tools import LIST_LIMIT, PAGE_BYTES, Cached, file_tools, page
from agent.tools.files.workspace import FileState, Workspace


class Bench:
    """The tools over one folder per session, called as a model calls them."""

    def __init__(
        self, root: Path, *, cached: Cached | None = None, search_seconds: float = 30.0
    ) -> None:
        self.root = root
        self.seen: list[tuple[int, str, str]] = []
        self.tools = toolbox(
            *file_tools(
                lambda session: Workspace(root / str(session)),
                seen=lambda call, what, path: self.seen.append((call.session, what, path)),
                cached=cached,
                search_seconds=search_seconds,
            )
        )

    async def call(self, name: str, **arguments: object) -> str:
        return await self.call_in(1, name, arguments)

    async def call_in(self, session: int, name: str, arguments: Mapping[str, object]) -> str:
        call = ToolCall("c1", name, json.dumps(dict(arguments)))
        outcome = await run_call(
            self.tools, call, session=session, entry=7, address="terminal:1", person=""
        )
        assert isinstance(outcome, Done)
        return outcome.text

    def put(self, path: str, data: bytes, session: int = 1) -> FileState:
        workspace = Workspace(self.root / str(session))
        workspace.write(path, data)
        return workspace.stat(path).state


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_all_tools_but_edits_may_be_run_twice(bench: Bench) -> None:
    names = ["read_file", "write_file", "edit_file", "list_files", "search_files"]
    assert list(bench.tools) == names
    once = [name for name, tool in bench.tools.items() if not tool.traits.repeatable]
    assert once == ["edit_file"]
    assert json.dumps(schemas(bench.tools))


# write_file and read_file


async def test_what_is_written_is_read_back_without_any_addition(bench: Bench) -> None:
    text = "first\r\n\n  grüße 🌳\nno end of line"
    assert await bench.call("write_file", path="a/b.txt", content=text) == (
        "Wrote a/b.txt: 37 bytes, 4 lines."
    )
    assert await bench.call("read_file", path="a/b.txt") == text


async def test_the_same_write_twice_has_the_same_result(bench: Bench) -> None:
    first = await bench.call("write_file", path="a.txt", content="one\n")
    assert await bench.call("write_file", path="a.txt", content="one\n") == first
    assert await bench.call("read_file", path="a.txt") == "one\n"


async def test_an_empty_file_is_said_to_be_empty(bench: Bench) -> None:
    assert await bench.call("write_file", path="a", content="") == "Wrote a: 0 bytes, 0 lines."
    assert await bench.call("read_file", path="a") == "[the file is empty]"


async def test_a_part_of_a_file_comes_with_its_place_and_how_to_go_on(bench: Bench) -> None:
    bench.put("a.txt", b"".join(b"line %d\n" % n for n in range(1, 11)))
    assert await bench.call("read_file", path="a.txt", limit=2) == (
        "[lines 1–2 of 10; go on with offset=3]\nline 1\nline 2\n"
    )
    assert await bench.call("read_file", path="a.txt", offset=9) == (
        "[lines 9–10 of 10]\nline 9\nline 10\n"
    )
    assert await bench.call("read_file", path="a.txt", offset=11) == (
        "Error: offset: a.txt has only 10 lines; nothing was done"
    )


async def test_ten_megabytes_are_read_in_parts_that_join_to_the_whole(bench: Bench) -> None:
    line = "é" + "x" * 9_996 + "\n"
    whole = line * 1_000
    written = await bench.call("write_file", path="big.txt", content=whole)
    assert written == "Wrote big.txt: 9,999,000 bytes, 1,000 lines."
    parts: list[str] = []
    offset: int | None = 1
    while offset is not None:
        text = await bench.call("read_file", path="big.txt", offset=offset)
        head, part = text.split("\n", 1)
        assert len(part.encode()) <= PAGE_BYTES
        parts.append(part)
        offset = int(head.rpartition("offset=")[2][:-1]) if "offset=" in head else None
    assert "".join(parts) == whole


async def test_a_line_that_is_longer_than_a_page_is_cut_and_that_is_said(bench: Bench) -> None:
    bench.put("a.txt", ("é" * 150_000 + "\nnext\n").encode())
    text = await bench.call("read_file", path="a.txt")
    head, part = text.split("\n", 1)
    assert head == (
        "[line 1 of 2, cut: it has 300,001 bytes, these are the first 200,000; go on with offset=2]"
    )
    assert part == "é" * 100_000


@pytest.mark.parametrize("data", [b"\x00\x01", b"caf\xe9", b"text\0text", b"\x89PNG\r\n"])
async def test_a_binary_file_is_refused_with_its_size(bench: Bench, data: bytes) -> None:
    bench.put("a.bin", data)
    assert await bench.call("read_file", path="a.bin") == (
        f"Error: a.bin: a binary file of {len(data)} bytes, not UTF-8 text; nothing was done"
    )


@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
    st.integers(1, 5),
)
def test_the_parts_of_every_text_join_to_the_whole(text: str, limit: int) -> None:
    data = text.encode()
    total = data.count(b"\n") + (not data.endswith(b"\n"))
    parts = [page("a", data, offset, limit) for offset in range(1, total + 1, limit)]
    if len(parts) > 1:
        parts = [part.split("\n", 1)[1] for part in parts]
    assert "".join(parts) == text


@pytest.mark.parametrize("path", ["../1/a.txt", "/etc/passwd", "d/../../2/a.txt", "", "."])
async def test_no_tool_leaves_the_folder_of_its_session(
    bench: Bench, tmp_path: Path, path: str
) -> None:
    bench.put("a.txt", b"mine")
    bench.put("a.txt", b"another's", session=2)
    for name, more in (("read_file", {}), ("write_file", {"content": "x"})):
        text = await bench.call_in(1, name, {"path": path, **more})
        assert text.startswith("Error: ") and text.endswith("; nothing was done")
    if path not in ("", "."):
        for name, more in (("list_files", {}), ("search_files", {"pattern": "."})):
            text = await bench.call_in(1, name, {"path": path, **more})
            assert text.startswith("Error: ") and text.endswith("; nothing was done")
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.txt")) == [
        "1/a.txt",
        "2/a.txt",
    ]
    assert bench.seen == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {}),
        ("read_file", {"path": 1}),
        ("read_file", {"path": "a", "offset": 0}),
        ("read_file", {"path": "a", "limit": -1}),
        ("read_file", {"path": "a", "lines": 3}),
        ("write_file", {"path": "a"}),
        ("write_file", {"path": "a", "content": ["x"]}),
        ("write_file", {"path": "a", "content": "x", "append": True}),
        ("list_files", {"depth": 0}),
        ("list_files", {"depth": 1_000}),
        ("search_files", {"pattern": ""}),
        ("search_files", {"pattern": "x" * 1_001}),
        ("search_files", {"pattern": "a", "glob": ""}),
    ],
)
async def test_wrong_arguments_are_an_error_that_names_the_field(
    bench: Bench, tmp_path: Path, name: str, arguments: dict[str, object]
) -> None:
    text = await bench.call_in(1, name, arguments)
    assert text.startswith("Error: ") and text.endswith("; nothing was done")
    assert list(tmp_path.iterdir()) == []


async def test_missing_files_and_folders_are_said(bench: Bench) -> None:
    text = "Error: no/such: there is no such file or folder; nothing was done"
    assert await bench.call("read_file", path="no/such") == text
    assert await bench.call("list_files", path="no/such") == text
    assert await bench.call("search_files", path="no/such", pattern="x") == text


async def test_writes_at_once_all_end_and_leave_one_content_whole(bench: Bench) -> None:
    contents = [letter * 10_000 for letter in "abcdef"]
    async with asyncio.TaskGroup() as group:
        for content in contents:
            group.create_task(bench.call("write_file", path="d/a.txt", content=content))
    assert await bench.call("read_file", path="d/a.txt") in contents
    assert await bench.call("list_files") == "d/\nd/a.txt (10,000 bytes)"


# What was seen, and what was handed over


async def test_the_observer_is_told_of_reads_and_writes_that_were_done(bench: Bench) -> None:
    await bench.call_in(3, "write_file", {"path": "./a//b.txt", "content": "x"})
    await bench.call_in(3, "read_file", {"path": "a/b.txt"})
    await bench.call_in(4, "read_file", {"path": "a/b.txt"})
    assert bench.seen == [(3, "wrote", "a/b.txt"), (3, "read", "a/b.txt")]


def handing(path: str, content: str, state: Callable[[], FileState]) -> Cached:
    def cached(call: Call, asked: str) -> tuple[str, FileState] | None:
        return (content, state()) if (call.session, asked) == (1, path) else None

    return cached


async def test_an_unchanged_handed_file_is_answered_from_the_handoff(tmp_path: Path) -> None:
    state = Bench(tmp_path).put("d/a.txt", b"on the disk\n")
    # A content of its own shows where the answer comes from.
    bench = Bench(tmp_path, cached=handing("d/a.txt", "one\ntwo\n", lambda: state))
    assert await bench.call("read_file", path="./d/a.txt") == "one\ntwo\n"
    assert await bench.call("read_file", path="d/a.txt", offset=2) == "[lines 2–2 of 2]\ntwo\n"
    assert bench.seen == [(1, "read", "d/a.txt")] * 2
    bench.put("d/a.txt", b"another's", session=2)
    assert await bench.call_in(2, "read_file", {"path": "d/a.txt"}) == "another's"


async def test_a_handed_file_that_changed_is_read_anew_and_that_is_said(tmp_path: Path) -> None:
    state = Bench(tmp_path).put("a.txt", b"old\n")
    bench = Bench(tmp_path, cached=handing("a.txt", "old\n", lambda: state))
    await bench.call("write_file", path="a.txt", content="new\n")
    assert await bench.call("read_file", path="a.txt") == (
        "[changed since the handoff; this is the file as it is now]\nnew\n"
    )


async def test_a_handed_file_that_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    state = Bench(tmp_path).put("a.txt", b"old\n")
    bench = Bench(tmp_path, cached=handing("a.txt", "old\n", lambda: state))
    (tmp_path / "1/a.txt").unlink()
    assert await bench.call("read_file", path="a.txt") == (
        "Error: a.txt: there is no such file or folder; it was there at the handoff and is gone "
        "since; nothing was done"
    )
    (tmp_path / "1/a.txt").symlink_to("/etc/passwd")
    assert "links are not followed" in await bench.call("read_file", path="a.txt")


# list_files


async def test_a_listing_shows_sizes_kinds_and_unusual_names(bench: Bench, tmp_path: Path) -> None:
    assert await bench.call("list_files") == "[the folder is empty]"
    bench.put("src/main.py", b"x" * 1_234)
    bench.put("src/deep/a.txt", b"")
    (tmp_path / "1/link").symlink_to("/")
    os.mkfifo(tmp_path / "1/pipe")
    (tmp_path / "1/two\nlines").write_bytes(b"")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/1/caf\xe9")).mkdir()
    assert (await bench.call("list_files")).splitlines() == [
        "caf\\udce9/ [name shown escaped]",
        "link (link, not followed)",
        "pipe (special file)",
        "src/",
        "two\\nlines (0 bytes) [name shown escaped]",
        "src/deep/",
        "src/main.py (1,234 bytes)",
    ]
    assert await bench.call("list_files", path="src/", depth=1) == (
        "src/deep/\nsrc/main.py (1,234 bytes)"
    )


async def test_a_listing_is_cut_at_its_limit_and_says_so(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    for number in range(LIST_LIMIT):
        (tmp_path / f"1/{number:03}").touch()
    lines = (await bench.call("list_files")).splitlines()
    assert len(lines) == LIST_LIMIT and lines[-1] == "499 (0 bytes)"
    (tmp_path / "1/500").touch()
    lines = (await bench.call("list_files")).splitlines()
    assert lines[-2:] == [
        "499 (0 bytes)",
        "[cut after 500; list a folder below, or with less depth]",
    ]


# search_files


async def test_a_search_gives_the_lines_that_match_with_their_place(bench: Bench) -> None:
    bench.put("a.py", b"import os\nimport re\r\nx = 1\n")
    bench.put("d/b.py", "# импорт import\n".encode())
    bench.put("d/c.txt", b"import\n")
    assert await bench.call("search_files", pattern=r"\bimport\b", glob="*.py") == (
        "a.py:1: import os\na.py:2: import re\nd/b.py:1: # импорт import"
    )
    assert await bench.call("search_files", pattern="^import$", path="d") == "d/c.txt:1: import"
    assert await bench.call("search_files", pattern="(?i)IMPORT", path="d/c.txt") == (
        "d/c.txt:1: import"
    )
    assert await bench.call("search_files", pattern="nothing", glob="d/*") == (
        "[no match; 2 files were searched]"
    )
    assert bench.seen == []


async def test_an_empty_workspace_is_searched_without_a_match(bench: Bench) -> None:
    assert await bench.call("search_files", pattern="x") == "[no match; 0 files were searched]"


async def test_what_was_not_searched_is_said(bench: Bench, tmp_path: Path) -> None:
    bench.put("a.bin", b"x\0x")
    bench.put("latin.txt", b"caf\xe9 x\n")
    bench.put("long.txt", b"y" * 2_001 + b"x\nx\n" + b"z" * 100_000 + b"\nx\n")
    (tmp_path / "1/link").symlink_to("/etc/passwd")
    assert (await bench.call("search_files", pattern="x")).splitlines() == [
        "latin.txt:1: caf\ufffd x",
        "long.txt:2: x",
        "long.txt:4: x",
        "[not searched: 1, binary or not to be opened]",
        "[searched up to character 2,000 only: 2 long lines]",
    ]
    assert "links are not followed" in await bench.call("search_files", pattern="x", path="link")


async def test_the_hits_are_cut_at_their_limit_and_that_is_said(bench: Bench) -> None:
    bench.put("a.txt", b"x\n" * 100)
    lines = (await bench.call("search_files", pattern="x")).splitlines()
    assert len(lines) == 100 and lines[-1] == "a.txt:100: x"
    bench.put("b.txt", b"x\n")
    lines = (await bench.call("search_files", pattern="x")).splitlines()
    assert lines[100:] == ["[cut after 100; narrow pattern, path or glob]"]


@pytest.mark.parametrize(
    "pattern", ["(", "[z-a]", "*", "(?P<a>x)(?P<a>y)", "(" * 900, "x{99999999999}"]
)
async def test_a_pattern_that_is_none_is_an_error(bench: Bench, pattern: str) -> None:
    text = await bench.call("search_files", pattern=pattern)
    assert text.startswith("Error: pattern: not a regular expression (")


async def test_a_catastrophic_pattern_is_stopped_and_keeps_what_was_found(tmp_path: Path) -> None:
    bench = Bench(tmp_path, search_seconds=2.0)
    bench.put("a.txt", b"xxy\n" + b"x" * 100 + b"\n")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    text = await bench.call("search_files", pattern=r"(x+x+)+y")
    ticking.cancel()
    assert text == (
        "a.txt:1: xxy\n[stopped after 2 s, not everything was searched; "
        "use a simpler pattern, or narrow path or glob]"
    )
    assert ticks > 1


async def test_many_searches_at_once_all_answer(bench: Bench) -> None:
    bench.put("a.txt", b"x\n")
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(bench.call("search_files", pattern=p)) for p in ["x", "^x$"] * 5]
    assert [task.result() for task in tasks] == ["a.txt:1: x"] * 10
