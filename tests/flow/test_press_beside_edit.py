"""A person changes a message while a button below its answer is pressed."""

import asyncio

import pytest

from storage.entries import Kind
from storage.store import Store
from tests.flow.alternatives import ECHO, path
from tests.flow.conftest import gateway


@pytest.mark.parametrize("edit_first", [True, False])
@pytest.mark.parametrize("button", ["◀", "2/2"])
async def test_an_edit_and_a_press_at_once_are_both_done_once(
    store: Store, edit_first: bool, button: str
) -> None:
    async with gateway(ECHO, store=store) as g:
        said = await g.chat.say("one")
        await g.hears("said: one")
        said = await g.chat.edit(said, "two")
        shown = await g.hears("said: two")
        await g.settled()
        both = [g.chat.edit(said, "three"), g.chat.press(shown, button)]
        await asyncio.gather(*(both if edit_first else reversed(both)))
        await g.settled()
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []
        entries = await store.read(lambda tx: tx.tree.entries(1))
        asked = [e.body["content"] for e in entries if e.body.get("role") == "user"]
        assert sorted(asked) == ["one", "three", "two"]
        answers = [e for e in entries if e.kind is Kind.MESSAGE and e.body["role"] == "assistant"]
        assert len(answers) == 3
        texts = [one.text for one in g.chat.shown.values()]
        assert sum("said: three" in text for text in texts) == 1
        # Whoever came last says where the conversation is; it is a whole branch in any case.
        assert await path(store) in (["one", "you said: one"], ["three", "you said: three"],
                                     ["two", "you said: two"])


@pytest.mark.parametrize("edit_first", [True, False])
async def test_a_press_on_the_answer_of_a_turn_that_an_edit_ends_loses_neither(
    store: Store, edit_first: bool
) -> None:
    """The press comes while the edit's own turn runs."""
    slow = {"when": {"last": "slow"}, "reply": {"text": "slowly said", "delay": 0.3}}
    async with gateway([slow, *ECHO], store=store) as g:
        said = await g.chat.say("one")
        await g.hears("said: one")
        said = await g.chat.edit(said, "two")
        shown = await g.hears("said: two")
        await g.settled()
        if edit_first:
            await g.chat.edit(said, "slow")
            await g.chat.press(shown, "◀")
        else:
            await g.chat.press(shown, "◀")
            await g.chat.edit(said, "slow")
        await g.settled()
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []
        entries = await store.read(lambda tx: tx.tree.entries(1))
        asked = [e.body["content"] for e in entries if e.body.get("role") == "user"]
        assert asked.count("slow") == 1
