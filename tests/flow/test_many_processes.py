"""Several processes of one gateway on one PostgreSQL: here several gateways in one process, each
with a store of its own."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from adapters.recording import RecordingAdapter, Shown
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.processes.roles import Role
from gateway.processes.shares import CLOCK
from gateway.retention import service
from gateway.running.service import App
from gateway.turns.policy import interruptions
from storage.records.chats.people import RightDraft
from storage.records.chats.people import Role as RightRole
from storage.records.entries import SessionDraft, SessionKind
from storage.records.questions import Choice, QuestionDraft
from storage.records.retention.forgetting import Step
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.flow.conftest import PATIENCE, SpyModel
from tests.flow.delegating import calls
from tests.flow.scheduling import HEARD, ON, planted, rules

ACCESS = {"access": {"allow": ["telegram:*"], "owners": ["telegram:1"]}}


@dataclass
class Processes:
    """One chat platform, and the gateways behind it."""

    chat: RecordingAdapter
    apps: dict[str, App]
    models: dict[str, SpyModel]

    async def hears(self, text: str, *, chat: str = "1", count: int = 1) -> Shown:
        def holding(shown: list[Shown]) -> list[Shown]:
            return [one for one in shown if text in one.text and one.conversation.chat == chat]

        async with asyncio.timeout(PATIENCE):
            shown = await self.chat.wait_for(lambda shown: len(holding(shown)) >= count)
        return holding(shown)[-1]


@asynccontextmanager
async def processes(
    url: str, rules: Sequence[dict[str, Any]], *roles: str, config: dict[str, Any] | None = None
) -> AsyncIterator[Processes]:
    """One of each role, which are named by it."""
    chat = RecordingAdapter(name="telegram")
    world = Processes(chat, {}, {})
    settings = Config.model_validate({**ACCESS, "storage": {"url": url}, **(config or {})})
    async with AsyncExitStack() as stack:
        for name in roles:
            world.models[name] = SpyModel(rules)
            world.apps[name] = await bootstrap(
                settings,
                adapters=[chat],
                store=await SqlStore.open(url),
                model=world.models[name],
                role=Role(name),
            )
            await stack.enter_async_context(_running(world.apps[name]))
        yield world


@asynccontextmanager
async def _running(app: App) -> AsyncIterator[None]:
    ready = asyncio.Event()
    task = asyncio.create_task(app.run(ready=ready))
    try:
        async with asyncio.timeout(PATIENCE):
            await ready.wait()
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


ROLES = ("ingress", "worker", "delivery")
ECHO = [{"reply": {"text": "You said: {last}"}}]


async def test_what_one_takes_in_another_answers_and_a_third_sends(url: str) -> None:
    async with processes(url, ECHO, *ROLES) as world:
        for number in range(5):
            await world.chat.say(f"word {number}")
            await world.hears(f"You said: word {number}")
        assert len(world.models["worker"].requests) == 5
        assert not world.models["ingress"].requests
        assert not world.models["delivery"].requests


async def test_talk_that_one_takes_in_interrupts_the_turn_of_another(url: str) -> None:
    rules: list[dict[str, Any]] = [
        {"reply": {"text": "never", "delay": 60}, "times": 1},
        {"reply": {"text": "both are answered"}},
    ]
    async with processes(url, rules, *ROLES) as world:
        await world.chat.say("slow")
        await world.models["worker"].called("parent")
        await world.chat.say("go on")
        await world.hears("both are answered")


async def test_a_fault_in_looking_for_talk_ends_no_process_and_it_is_looked_for_again(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interruptions, "LOOK_EVERY", 0.2)
    rules: list[dict[str, Any]] = [
        {"reply": {"text": "never", "delay": 60}, "times": 1},
        {"reply": {"text": "both are answered"}},
    ]
    async with processes(url, rules, *ROLES) as world:
        looking = world.apps["worker"].upkeep.interruptions
        works, failed = looking.cut, asyncio.Event()

        def cut(session: int) -> None:
            if failed.is_set():
                return works(session)
            failed.set()
            raise LookupError("a fault of ours")

        looking.cut = cut
        await world.chat.say("slow")
        await world.models["worker"].called("parent")
        await world.chat.say("go on")
        await world.hears("both are answered")
        assert failed.is_set()


async def test_stop_reaches_the_process_that_works(url: str) -> None:
    rules = [{"reply": {"text": "never", "delay": 60}}]
    async with processes(url, rules, *ROLES) as world:
        await world.chat.say("slow")
        await world.models["worker"].called("parent")
        await world.chat.say("/stop")
        await world.hears("Stopped")


async def test_a_chat_is_answered_in_order_by_several_workers(url: str) -> None:
    async with processes(url, ECHO, *ROLES, config={"session": {"busy": "queue"}}) as world:
        for number in range(20):
            await world.chat.say(f"word {number}")
        await world.hears("word 19")
        answers = [one.text for one in world.chat.shown.values() if "You said" in one.text]
        assert answers == [f"You said: word {number}" for number in range(20)]


CLARIFY = [
    calls("clarify", {"question": "Which?", "choices": ["a", "b"]}, tier="parent", last="ask"),
    {"reply": {"text": "It is: {last}"}},
]


async def test_what_is_pressed_at_one_goes_on_at_another(url: str) -> None:
    async with processes(url, CLARIFY, *ROLES) as world:
        await world.chat.say("ask me")
        asked = await world.hears("Which?")
        await world.chat.press(asked, "b")
        await world.hears("It is:")
        assert len(world.models["worker"].requests) == 2


async def test_a_move_ends_the_turn_of_another_process(url: str) -> None:
    rules: list[dict[str, Any]] = [
        {"reply": {"text": "first answer"}, "times": 1},
        {"reply": {"text": "never", "delay": 60}, "times": 1},
        {"reply": {"text": "after the move"}},
    ]
    async with processes(url, rules, *ROLES) as world:
        await world.chat.say("one")
        await world.hears("first answer")
        await world.chat.say("two")
        await world.models["worker"].called("parent", 2)
        await world.chat.say("/undo")
        await world.hears("You are after #2")
        await world.chat.say("three")
        await world.hears("after the move")
        request = world.models["worker"].requests[-1]
        assert not any("two" in str(message) for message in request.messages)


async def test_a_right_that_is_taken_at_one_ends_the_turn_at_another(url: str) -> None:
    rules = [{"reply": {"text": "never", "delay": 60}}]
    config = {"access": {"owners": ["telegram:1"]}}
    async with processes(url, rules, *ROLES, config=config) as world:
        await world.apps["ingress"].store.run(_let_in)
        async with asyncio.timeout(PATIENCE):
            while not all(app.router.access.may_talk("telegram:2") for app in world.apps.values()):
                await asyncio.sleep(0.02)
        await world.chat.say("hello", chat="2", user="2")
        await world.models["worker"].called("parent")
        worker = world.apps["worker"].upkeep.housekeeping.runner
        await world.apps["ingress"].store.run(lambda tx: tx.rights.take("telegram:2"))
        async with asyncio.timeout(PATIENCE):
            while worker.running:
                await asyncio.sleep(0.02)


def _let_in(tx: Transaction) -> None:
    tx.rights.give(RightDraft("telegram:2", "Bob", RightRole.MEMBER, None, "telegram:1"))


async def test_a_session_is_held_while_somebody_moves_it(url: str) -> None:
    async with processes(url, ECHO, *ROLES) as world:
        await world.chat.say("one")
        await world.hears("You said: one")
        ingress = world.apps["ingress"]
        session = await ingress.store.read(lambda tx: tx.directory.conversation("telegram:1"))
        assert session is not None
        async with ingress.scheduler.hold(session) as ran:
            assert not ran
            await world.chat.say("two")
            await asyncio.sleep(0.3)
            assert len(world.models["worker"].requests) == 1
        await world.hears("You said: two")


SCHEDULED = [*rules(), *ECHO]


async def test_one_keeps_the_clock_and_another_does_where_that_one_ends(url: str) -> None:
    async with processes(url, SCHEDULED, "all", "worker", "delivery", config=ON) as world:
        working = [world.apps["all"], world.apps["worker"]]
        (keeps,) = [app for app in working if app.duties.mine(CLOCK)]
        assert not world.apps["delivery"].duties.mine(CLOCK)
        store = world.apps["delivery"].store
        await planted(store, time.time() + 0.5)
        await world.hears(HEARD)
        await keeps.duties.end()
        await planted(store, time.time() + 0.5)
        await world.hears(HEARD, count=2)
        assert [app for app in working if app.duties.mine(CLOCK)] != [keeps]


async def test_a_question_that_one_asks_is_closed_at_its_time_by_who_keeps_the_clock(
    url: str,
) -> None:
    def ask(tx: Transaction) -> int:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        asked = QuestionDraft(
            "other", "May I?", (Choice("no", "No"),), session, "telegram:1", {}, time.time() + 0.5
        )
        return tx.questions.create(asked).id

    async with processes(url, ECHO, *ROLES) as world:
        store = world.apps["ingress"].store
        question = await store.run(ask)
        async with asyncio.timeout(PATIENCE):
            while (await store.read(lambda tx: tx.questions.get(question))).decided_at is None:
                await asyncio.sleep(0.02)


ENDED = (Step.MONEY, Step.DONE)
"""Nothing is left, but what is counted until the end of the day."""


async def test_whom_one_is_asked_to_forget_a_worker_forgets_at_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LOOK_EVERY", 3_600.0)
    async with processes(url, ECHO, *ROLES) as world:
        await world.chat.say("I am here")
        await world.hears("You said: I am here")
        store = world.apps["ingress"].store
        noted = await store.run(lambda tx: tx.forgettings.begin("terminal:1", "terminal:1"))
        async with asyncio.timeout(PATIENCE):
            while await store.read(lambda tx: tx.forgettings.get(noted.id).step) not in ENDED:
                await asyncio.sleep(0.02)
