"""Jobs and turns whose session moved before they came to their end."""

import asyncio
from typing import Any

import pytest

from agent.models.base import Reply, Request
from storage.errors import LeafMoved
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP, bound, command, talk
from tests.flow.conftest import SpyModel, gateway
from tests.flow.walking import numbers

SUMMARY: dict[str, Any] = {
    "when": {"system": "^You condense a branch"},
    "reply": {"text": "SUMMARY of it"},
}


class HeldSummaries(SpyModel):
    """Never comes to the end of a summary."""

    def __init__(self) -> None:
        super().__init__([SUMMARY, *ECHO])
        self.began = asyncio.Event()

    async def complete(self, request: Request) -> Reply:
        reply = await super().complete(request)
        if reply.content.startswith("SUMMARY"):
            self.began.set()
            await asyncio.Event().wait()
        return reply

    def summaries(self) -> int:
        first = (str(request.messages[0]["content"]) for request in self.requests)
        return sum(text.startswith("You condense") for text in first)


class OneByOne(SpyModel):
    """Each answer waits until it may end."""

    def __init__(self, rules: list[dict[str, Any]]) -> None:
        super().__init__(rules)
        self.may_end = asyncio.Semaphore(0)
        self._began = asyncio.Semaphore(0)

    async def begins(self) -> None:
        await self._began.acquire()

    async def complete(self, request: Request) -> Reply:
        self._began.release()
        await self.may_end.acquire()
        return await super().complete(request)


async def test_who_goes_back_before_the_summary_is_written_is_told_that_there_is_none(
    store: Store,
) -> None:
    model = HeldSummaries()
    async with gateway(store=store, model=model) as g:
        await talk(g, "one")
        await talk(g, "two")
        moved = await command(g, "/branch 3")
        await g.chat.press(moved, "Bring a summary along")
        await model.began.wait()
        await g.chat.say("/goto 4")
        await g.hears("No branch was left that could be summarised.")
        await g.settled()
        assert await numbers(store) == [1, 2, 3, 4]
        assert model.summaries() == 1


async def test_a_branch_that_went_on_is_neither_summarised_again_nor_left(store: Store) -> None:
    model = HeldSummaries()
    config = {"session": {"branch_summaries": "auto"}}
    async with gateway(store=store, model=model, config=config) as g:
        await talk(g, "one")
        await talk(g, "two")
        await g.chat.say("/branch 3")
        await model.began.wait()
        await g.chat.say("/goto 3")
        await g.hears("nothing was moved")
        await g.settled()
        assert await numbers(store) == [1, 2, 3]
        assert model.summaries() == 1


async def test_talk_that_waits_is_answered_after_a_move_that_came_second(store: Store) -> None:
    model = OneByOne(ECHO)
    async with gateway(store=store, model=model, config={"session": {"busy": "queue"}}) as g:
        await g.chat.say("one")
        await model.begins()
        await g.chat.say("two")
        await g.chat.say("three")
        model.may_end.release()
        await model.begins()
        session = await bound(store)
        assert session is not None
        with pytest.raises(LeafMoved):
            async with g.app.router.context.turns.still(session):
                raise LeafMoved("somebody was faster")
        model.may_end.release()
        await g.hears("so be it", count=2)
        assert "three" in str(g.model.requests[-1].messages[-1])


async def test_whoever_waits_at_the_depth_limit_is_told(store: Store) -> None:
    model = OneByOne(ECHO)
    config = {"session": {"busy": "queue", "max_depth": 2}}
    async with gateway(store=store, model=model, config=config) as g:
        await g.chat.say("one", chat=GROUP, private=False)
        await model.begins()
        for user in ("2", "3"):
            await g.chat.say("more", chat=GROUP, user=user, private=False)
        model.may_end.release()
        await g.hears("which is the limit", chat=GROUP, count=2)


async def test_an_error_of_a_provider_is_shown_as_it_is(store: Store) -> None:
    rules = [{"reply": {"error": "bad_request", "text": "*no* [summary](http://x)"}}]
    async with gateway(rules, store=store) as g:
        await g.chat.say("hello")
        await g.hears(r"\*no\* `[summary](http://x)`")
