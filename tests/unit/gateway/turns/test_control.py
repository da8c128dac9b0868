"""What talk does to a turn that runs, as the control of its session decides it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.runtime.journal import Journal
from gateway.access.roles import Access
from gateway.configuration.config import Config, SessionConfig
from gateway.configuration.current import Current
from gateway.outbound.composer import Composer
from gateway.questions.service import Questions
from gateway.turns.control import SessionControl
from gateway.turns.policy.busy_policy import BusyPolicy
from gateway.turns.scheduler import Begin
from gateway.turns.turn import Turn
from storage.records.inbox_outbox import InboxKind, InboxRow, InboxState
from storage.sql.store import SqlStore
from storage.store import Transaction

SESSION = 1


class Interrupts:
    """A scheduler that notes what it is asked for."""

    def __init__(self) -> None:
        self.of: list[int] = []

    def wake(self, session: int, begun: Turn | None = None) -> None:
        raise AssertionError("the commit wakes")

    def begin(self, tx: Transaction, row: InboxRow, begin: Begin) -> None:
        pass

    def interrupt(self, session: int) -> None:
        self.of.append(session)

    def idle(self) -> bool:
        return True

    async def close(self) -> None:
        pass

    @asynccontextmanager
    async def hold(self, session: int) -> AsyncIterator[bool]:
        yield False


def talk(number: int, *, person: str = "1") -> InboxRow:
    payload = {"private": False, "user": {"platform": "telegram", "id": person}}
    key, address = f"k{number}", "telegram:9"
    return InboxRow(
        number, key, InboxKind.MESSAGE, address, payload, SESSION, None, InboxState.OPEN, 0.0
    )


async def no_commands(_: int) -> int:
    return 0


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[tuple[SessionControl, Interrupts]]:
    """A session in which a turn answers the row 1."""
    store = await SqlStore.open(f"sqlite:///{tmp_path}/bough.db")
    access = Access(Current(Config()))
    questions = Questions(Composer({}), access)
    turn = Turn(Journal(store, SESSION, 1, ()), [talk(1)], left=False)
    scheduler = Interrupts()
    policy = BusyPolicy(access, SessionConfig)
    running = {SESSION: turn}
    at = lambda _tx, session: running.get(session)  # noqa: E731
    yield SessionControl(store, scheduler, questions, policy, running, at, no_commands), scheduler
    await store.close()


async def test_more_talk_of_the_same_person_interrupts_the_turn(
    scene: tuple[SessionControl, Interrupts],
) -> None:
    control, scheduler = scene
    control.arrived(talk(2))
    assert scheduler.of == [SESSION]


async def test_talk_that_the_turn_answers_already_does_not_interrupt_it(
    scene: tuple[SessionControl, Interrupts],
) -> None:
    control, scheduler = scene
    control.arrived(talk(1))
    assert scheduler.of == []


async def test_somebody_elses_talk_waits(scene: tuple[SessionControl, Interrupts]) -> None:
    control, scheduler = scene
    control.arrived(talk(2, person="2"))
    assert scheduler.of == []
