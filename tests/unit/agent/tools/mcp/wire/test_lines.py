import itertools

from hypothesis import given
from hypothesis import strategies as st

from agent.tools.mcp.wire.lines import LineSplitter, TooLong
from agent.tools.mcp.wire.pace import Pace, cost


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=10), st.integers(1, 40))
def test_however_it_comes_in_the_lines_are_the_same(
    data: bytes, cuts: list[int], limit: int
) -> None:
    splitter, found = LineSplitter(limit), []
    places = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]
    for start, end in itertools.pairwise(places):
        found += splitter.feed(data[start:end])
    *lines, _ = data.split(b"\n")
    assert len(found) == len(lines)
    for line, made in zip(lines, found, strict=True):
        if len(line) <= limit:
            assert made == line
        else:
            assert isinstance(made, TooLong) and made.size == len(line)
            assert line.startswith(made.head) and line.endswith(made.tail)


def test_a_line_without_end_takes_no_memory() -> None:
    splitter = LineSplitter(1_000)
    for _ in range(1_000):
        assert splitter.feed(b"x" * 10_000) == []
    assert splitter.skipped == 10_000_000
    (line,) = splitter.feed(b"end\n")
    assert isinstance(line, TooLong)
    assert line.tail.endswith(b"xend") and len(line.head) + len(line.tail) <= 8_192
    assert splitter.feed(b"short\n") == [b"short"]


def test_a_burst_passes_and_a_flood_waits() -> None:
    pace = Pace(rate=100)
    assert pace.spend(100, now=5.0) == 0
    assert pace.spend(100, now=5.0) == 1.0
    assert pace.spend(50, now=8.0) == 0
    assert cost(10, messages=2) > cost(10)
