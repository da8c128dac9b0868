"""What talk does to a turn that runs, as the control of its session decides it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.runtime.journal import Journal
from gateway.access.roles import Access
from gateway.config import AccessConfig, EscalationConfig, SessionConfig
from gateway.outbound.composer import Composer
from gateway.questions.service import Questions
from gateway.turns.control import SessionControl
from gateway.turns.policy.busy_policy import BusyPolicy
from gateway.turns.turn import Turn
from storage.records.inbox_outbox import InboxKind, InboxRow, InboxState
from storage.sql.store import SqlStore

SESSION = 1


class Interrupts:
    """A scheduler that notes what it is asked for."""

    def __init__(self) -> None:
        self.of: list[int] = []

    def wake(self, session: int, begun: Turn | None = None) -> None:
        raise AssertionError("the commit wakes")

    def free(self, session: int) -> bool:
        return False

    def interrupt(self, session: int) -> None:
        self.of.append(session)

    @asynccontextmanager
    async def hold(self, session: int) -> AsyncIterator[bool]:
        yield False


def talk(number: int, *, person: str = "1") -> InboxRow:
    payload = {"private": False, "user": {"platform": "telegram", "id": person}}
    key, address = f"k{number}", "telegram:9"
    return InboxRow(
        number, key, InboxKind.MESSAGE, address, payload, SESSION, None, InboxState.OPEN, 0.0
    )


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[tuple[SessionControl, Interrupts]]:
    """A session in which a turn answers the row 1."""
    store = await SqlStore.open(f"sqlite:///{tmp_path}/bough.db")
    access = Access(AccessConfig(), EscalationConfig())
    questions = Questions(Composer({}), access, EscalationConfig())
    turn = Turn(Journal(store, SESSION, 1, ()), [talk(1)], left=False)
    scheduler = Interrupts()
    policy = BusyPolicy(access, SessionConfig())
    yield SessionControl(store, scheduler, questions, policy, {SESSION: turn}), scheduler
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
