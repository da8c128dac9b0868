"""Killed while somebody is forgotten: it goes on at the next start, and then nothing of theirs is
left."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.contract.test_forgetting import dump
from tests.crash.patience import until
from tests.crash.scene import ANN, Scene, scene

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("gateway")
    async with scene(folder) as started:
        yield started


def steps(running: Scene) -> list[str]:
    found: list[str] = running.database._rows("SELECT step FROM forgettings ORDER BY id")
    return found


def merged(running: Scene) -> bool:
    kept = "SELECT count(*) FROM facts WHERE name = 'search.merging' AND value <> 'null'"
    return running.database._rows(kept) == [0]


def everything(running: Scene) -> str:
    return dump(f"sqlite:///{running.database._path}")


@pytest.mark.parametrize(
    ("change", "when"),
    [
        ("INSERT ON forgettings", "1"),
        ("UPDATE ON entries", "1"),
        ("UPDATE ON inbox", "NEW.person = '' AND OLD.person <> ''"),
        ("DELETE ON session_members", "1"),
    ],
)
async def test_it_goes_on_and_nothing_is_left(running: Scene, change: str, when: str) -> None:
    mark = f"zyx{change.replace(' ', '').lower()}"
    before = len(steps(running))
    running.telegram.say(ANN, ANN, f"I am {mark}")
    await running.ends(f"answer to I am {mark}")
    running.telegram.say(ANN, ANN, "/forget me")
    asked = await running.telegram.hears("forgets you")
    await running.quiet()
    running.database.stall(change, when)
    running.telegram.press(asked, "Forget me", ANN)
    await running.killed_once(running.database.is_being_written)
    assert steps(running)[-1:] != ["money"]
    await running.gateway.start()
    await until(lambda: len(steps(running)) > before)
    await until(lambda: steps(running)[-1] == "money" and merged(running))
    await running.quiet()
    assert mark not in everything(running)
    running.telegram.look_away()
    running.telegram.say(ANN, ANN, "here again")
    await running.ends("answer to here again")
