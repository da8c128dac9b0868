"""Any text, cut into any pieces, arrives whole."""

import json
from itertools import pairwise

import hypothesis.strategies as st
from hypothesis import given

from agent.models.heard import Listener
from agent.models.litellm.chunks import Gathered
from agent.models.litellm.sse import Events
from storage.json_text import clean
from tests.support.model_streams import STOP, chunk

BREAKS = ("\n\n", "\r\n\r\n", "\r\r")


@given(data=st.data())
def test_any_text_in_any_pieces_arrives_whole(data: st.DataObject) -> None:
    text = data.draw(st.text(alphabet=st.characters(), max_size=60))
    units = text.encode("utf-16-le", "surrogatepass")
    places = data.draw(st.lists(st.integers(0, len(units) // 2)))
    cuts = [0, *sorted(2 * place for place in places), len(units)]
    pieces = [units[a:b].decode("utf-16-le", "surrogatepass") for a, b in pairwise(cuts)]
    ascii_only = data.draw(st.booleans())
    events = []
    for piece in pieces:
        plain = ascii_only or clean(piece) != piece
        line = json.dumps(chunk(content=piece), ensure_ascii=plain)
        events.append(f"data: {line}{data.draw(st.sampled_from(BREAKS))}".encode())
    raw = b"".join(events) + STOP
    heard: list[str] = []
    reader, gathered = Events(), Gathered(Listener(heard.append))
    at = 0
    while at < len(raw):
        size = data.draw(st.integers(1, len(raw)))
        for event in reader.feed(raw[at : at + size]):
            gathered.add(event)
        at += size
    for event in reader.end():
        gathered.add(event)
    assert reader.done
    assert gathered.text == clean(text)
    if text.strip():
        assert "".join(heard) == clean(text)


def test_a_line_that_comes_in_many_pieces_is_put_together_once() -> None:
    """It stood still for minutes: each piece copied all that was there."""
    reader = Events()
    assert list(reader.feed(b'data: {"a": "')) == []
    for _ in range(60_000):
        assert not list(reader.feed(b"x" * 1_000))
    (found,) = reader.feed(b'"}\n')
    assert len(found["a"]) == 60_000_000
