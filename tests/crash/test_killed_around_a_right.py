"""Killed around letting somebody in: it is done once, and whoever is let in is told."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.crash.patience import until
from tests.crash.scene import ANN, BEN, Scene, scene

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("gateway")
    async with scene(folder, access={"owners": [f"telegram:{ANN}"]}) as started:
        yield started


CID = 1003


def roles(running: Scene, who: int = BEN) -> list[str]:
    where = f"identity = 'telegram:{who}'"
    found: list[str] = running.database._rows(f"SELECT role FROM rights WHERE {where}")
    return found


def given(running: Scene) -> int:
    return len(
        running.database._rows(
            "SELECT id FROM audit WHERE what = 'right given' AND details LIKE '%:1002%'"
        )
    )


async def test_a_press_whose_effect_was_not_committed_lets_in_once_after_the_restart(
    running: Scene,
) -> None:
    running.telegram.say(BEN, BEN, "/start")
    asked = await running.telegram.hears("asks to be let in")
    await running.telegram.hears("your code is", BEN)
    running.database.stall("INSERT ON rights")
    running.telegram.press(asked, "Let in", ANN)
    await until(running.database.is_being_written)
    await running.gateway.kill()
    running.database.mend()
    assert roles(running) == []
    await running.gateway.start()
    await running.telegram.hears("You are let in", BEN)
    await running.quiet()
    assert roles(running) == ["member"]
    assert given(running) == 1
    assert sum("You are let in" in text for text in running.telegram.texts(BEN)) == 1
    assert running.telegram.buttons_left() == ["Approver", "Owner", "Remove"]


async def test_what_was_given_holds_after_a_kill_and_what_was_taken_does_too(
    running: Scene,
) -> None:
    running.telegram.person(CID, "Cid")
    running.telegram.say(CID, CID, "/start")
    running.telegram.press(await running.telegram.hears("asks to be let in"), "Let in", ANN)
    await running.telegram.hears("You are let in", CID)
    await running.quiet()
    await running.gateway.kill()
    await running.gateway.start()
    running.telegram.say(CID, CID, "/people")
    await running.telegram.hears("Only the bot's owners", CID)
    running.database.stall("DELETE ON rights")
    running.telegram.say(ANN, ANN, f"/people remove telegram:{CID}")
    await until(running.database.is_being_written)
    await running.gateway.kill()
    running.database.mend()
    assert roles(running, CID) == ["member"]
    await running.gateway.start()
    await running.telegram.hears("is removed")
    await running.quiet()
    assert roles(running, CID) == []
