"""A person changes a message while a button below its answer is pressed."""

import asyncio

import pytest

from storage.store import Store
from tests.flow.alternatives import ECHO
from tests.flow.conftest import Gateway, gateway
from tests.flow.test_edited_messages import OFFER


async def accounted_for(g: Gateway, store: Store, edited: str) -> None:
    """The edited text stands in the tree once, answered unless the press ended its turn, or the
    person was offered to ask it anew, because the press had left its branch before."""
    entries = await store.read(lambda tx: tx.tree.entries(1))
    asked = [e.body["content"] for e in entries if e.body.get("role") == "user"]
    answers = [e.body["content"] for e in entries if e.body.get("role") == "assistant"]
    offers = sum(OFFER in one.text for one in g.chat.shown.values())
    assert asked.count(edited) + offers == 1
    assert answers.count(f"you said: {edited}") + answers.count(f"{edited}ly said") <= 1
    for text in ("one", "two"):
        assert asked.count(text) == answers.count(f"you said: {text}") == 1


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
        await accounted_for(g, store, "three")


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
        await accounted_for(g, store, "slow")
