"""What is read of commands, whatever they say."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.settings import MOST_VARIABLE_BYTES, MOST_VARIABLES
from agent.text.sizing import LEAST_SHARE, size
from agent.tools.terminal.sandbox import seccomp
from agent.tools.terminal.sandbox.bubblewrap import BASE
from agent.tools.terminal.sandbox.output import TAIL, Output, readable, shown_of
from agent.tools.terminal.sandbox.process import BEGAN
from agent.tools.terminal.shell import left
from agent.tools.terminal.telling import SHOWN, shown_for
from storage.records.tools.commands import Shell

BEFORE = Shell("src", {"A": "1"})
ROOT = "/srv/w/7"


@given(st.binary(max_size=400), st.booleans())
def test_whatever_a_command_says_of_its_end_is_bounded_and_stays_inside(
    said: bytes, begins: bool
) -> None:
    shell = left(BEGAN * begins + said, ROOT, BASE, BEFORE).shell
    assert not shell.directory.startswith("/") and ".." not in shell.directory.split("/")
    assert len(shell.environment) <= MOST_VARIABLES
    assert sum(map(len, shell.environment.values())) <= MOST_VARIABLE_BYTES


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=20),
    st.dictionaries(
        st.from_regex(r"V[A-Z]{3,8}", fullmatch=True),
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30),
        max_size=5,
    ),
)
def test_directory_and_exports_come_back_as_they_were(name: str, exported: dict[str, str]) -> None:
    pairs = "".join(f"{key}={value}\0" for key, value in (BASE | exported).items())
    said = BEGAN + f"{ROOT}/a{name}\0PWD=x\0{pairs}".encode()
    found = left(said, ROOT, BASE, BEFORE)
    assert found.shell.directory == f"a{name}"
    changed = {key: value for key, value in exported.items() if BASE.get(key) != value}
    assert found.shell.environment == changed


@pytest.mark.parametrize("end", [b"", b"/srv/w/7/x\0A=2", b"/srv/w/7/x"])
def test_what_was_cut_short_changes_nothing(end: bytes) -> None:
    assert left(BEGAN + end, ROOT, BASE, BEFORE).shell == BEFORE


def test_exports_that_are_too_much_to_be_said_are_noted() -> None:
    for end in (b"/srv/w/7/x\0", b"/srv/w/7/x\0A=" + b"2" * 300_000):
        found = left(BEGAN + end, ROOT, BASE, BEFORE)
        assert found.shell == BEFORE and "it exported too much" in found.notes[0]


@given(st.lists(st.binary(max_size=300), max_size=30), st.integers(0, 2_000))
def test_output_keeps_its_beginning_and_counts_everything(chunks: list[bytes], kept: int) -> None:
    output, said = Output(kept), b"".join(chunks)
    for chunk in chunks:
        output.add(chunk)
    assert output.total == len(said)
    assert output.whole() == said  # less than kept and TAIL together


def test_what_does_not_fit_is_left_out_of_the_middle() -> None:
    output = Output(1_000)
    for _ in range(1_000):
        output.add(b"x" * 999 + b"\n")
    output.add(b"the end")
    assert len(output.whole()) <= 1_000 + 2 * TAIL + 60
    assert f"[{output.left_out:,} bytes were not kept]".encode() in output.whole()
    assert output.last_line() == "the end"


@given(st.binary(max_size=3_000), st.integers(300, 600))
def test_what_is_shown_is_bounded_and_plain(said: bytes, limit: int) -> None:
    output = Output(100_000)
    output.add(said * 3)
    text = shown_of(output, limit, "see x")
    assert size(text) <= limit + 80
    assert "\x1b" not in text and "\u202e" not in text and "\0" not in text


def test_a_line_that_is_written_over_is_shown_as_it_stands() -> None:
    assert readable(b"10%\r50%\r100%\r\nnext\x1b[1mbold\x1b[0m\r") == "100%\nnextbold"


def test_what_is_shown_depends_on_who_reads() -> None:
    assert shown_for(None) == shown_for(1_000_000) == SHOWN
    assert shown_for(1) == LEAST_SHARE < shown_for(16_000) < SHOWN


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_path_through_the_filter_ends_in_a_verdict(machine: str) -> None:
    program = seccomp.program(machine)
    assert program is not None
    steps = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    assert len(steps) < 4_096
    for at, (code, yes, no, _) in enumerate(steps):
        assert code in (0x20, 0x15, 0x25, 0x45, 0x06, 0x54)
        if code in (0x15, 0x45):
            assert at + 1 + max(yes, no) < len(steps)
    assert steps[-1][0] == 0x06
    assert seccomp.program("riscv64") is None
