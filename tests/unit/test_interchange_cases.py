"""Files that others may bring: what is taken in can be lived with, what is refused says why."""

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from agent.compaction import context_tokens, cut
from agent.summary_files import FileList
from agent.summary_parts import blocks_of
from agent.tail import next_step, rounds, suspended_calls
from gateway.sessions_view import tree_view
from gateway.signposts import words
from storage.context import context
from storage.entries import Entry, Json
from storage.errors import InterchangeError
from storage.interchange import read_session, take_in
from storage.search import terms_of, text_of
from storage.store import Transaction
from tests.session_files import (
    HEADER,
    NOW,
    STAMP,
    assistant,
    call,
    compaction,
    file_of,
    in_store,
    line,
    result,
    said,
    user,
)
from tests.tool_calls import dangling
from tests.unit.test_interchange_round_trip import foreign_files, texts, values

KEYS = (
    "role content tool_calls tool_call_id name raw usage model call_entry record question result "
    "first_kept tokens_before details summary label target from pi openai set drop blocks form"
).split()


def lived_with(data: bytes) -> None:
    """Take a file in, and look at each of its entries as the gateway does."""

    def work(tx: Transaction) -> None:
        session = take_in(tx, read_session(data, NOW))
        json.dumps(tree_view(tx, session.id))
        for entry in tx.tree.entries(session.id):
            walked(tx.tree.context_path(entry.id))
            terms_of(text_of(entry))
            assert isinstance(words(entry), str)

    in_store(work)


def walked(path: tuple[Entry, ...]) -> None:
    models = {model for e in path if isinstance(model := e.body.get("model"), str)}
    for model in (None, *models):
        messages = context(path, model)
        assert dangling(messages) == []
        json.dumps(messages)
    next_step(path)
    rounds(path)
    suspended_calls(path)
    context_tokens(path)
    cut(path, 1)
    FileList.of(path)
    list(blocks_of(path))


bodies = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
ours = st.fixed_dictionaries(
    {},
    optional={
        "body": st.fixed_dictionaries(
            {}, optional={"set": bodies, "drop": st.lists(st.sampled_from(KEYS))}
        ),
        "author": texts,
        "tokens": st.integers(0, 9),
    },
)
records = st.builds(
    lambda name, data: {"type": "custom", "customType": f"bough.{name}", "data": data},
    st.sampled_from(["suspended", "failed", "system", "session", "label", "pi"]) | texts,
    bodies,
)


@settings(max_examples=300, deadline=None)
@given(foreign_files(), st.data())
def test_whatever_is_taken_in_can_be_lived_with(lines: list[Json], data: st.DataObject) -> None:
    for place in range(1, len(lines)):
        lines[place] |= data.draw(
            st.just({}) | st.builds(lambda own: {"bough": own}, ours) | records
        )
    try:
        lived_with(file_of(*lines))
    except InterchangeError as error:
        assert str(error)
