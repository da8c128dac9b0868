"""What becomes of a conversation when its PostgreSQL is cut off, or away for a while."""

import asyncio

import pytest

from agent.models.base import Reply, Request
from storage.store import Store
from tests.flow.conftest import SpyModel, gateway
from tests.flow.test_escalation import GONE
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.parametrize("database", ["postgres"], indirect=True)

ECHO = [{"reply": {"text": "you said: {last}"}}]


class Held(SpyModel):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__(ECHO)
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def complete(self, request: Request) -> Reply:
        self.asked.set()
        await self.may_answer.wait()
        self.may_answer.clear()
        return await super().complete(request)


async def test_connections_that_are_cut_during_a_turn_are_not_noticed(
    store: Store, database: str, postgres_server: PostgresServer
) -> None:
    model = Held()
    async with gateway(store=store, model=model) as g:
        for number in range(3):
            model.asked.clear()
            await g.chat.say(f"message {number}")
            await model.asked.wait()
            await asyncio.to_thread(postgres_server.cut, database)
            model.may_answer.set()
            await g.hears(f"you said: message {number}")
            await g.settled()
        assert g.chat.texts() == [f"you said: message {number}" for number in range(3)]


async def test_what_is_said_while_the_server_is_away_is_answered_when_it_is_back(
    store: Store, postgres_server: PostgresServer
) -> None:
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("before")
        await g.hears("you said: before")
        await g.settled()
        postgres_server.stop()
        try:
            said = asyncio.create_task(g.chat.say("during"))
            await asyncio.sleep(0.2)  # it is tried in vain
        finally:
            postgres_server.start()
        await said
        await g.hears("you said: during")
        await g.settled()
        assert g.chat.texts() == ["you said: before", "you said: during"]


async def test_a_question_outlives_a_restart_of_the_server(
    store: Store, postgres_server: PostgresServer
) -> None:
    async with gateway(GONE, store=store) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
        await g.settled()
        postgres_server.stop()
        postgres_server.start()
        await g.chat.press(question, "Other outcomes…")
        await g.settled()
        await g.chat.press(question, "Page wants a login")
        assert '"resolved_by": "human"' in (await g.hears("result: ")).text
