"""Killed in the middle of an album, before all of it came or was fetched: it is one turn, once."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.crash.patience import until
from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import write_rules
from tests.support.photos import picture

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]
GROUP = -500


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("gateway")
    # It takes its time, so that what waits at Telegram is read before it has answered.
    answer = {"reply": {"text": "seen", "delay": 1.0}}
    models = {"parent": {"model": write_rules(folder, [answer])}}
    async with scene(folder, models) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def running(shared: Scene) -> Scene:
    await shared.restore()
    return shared


def part(running: Scene, album: str, color: str, words: str = "", chat: int = ANN) -> None:
    kept = running.telegram.world.keep("photo.jpg", picture(color))
    size: dict[str, Any] = {"file_id": kept, "file_unique_id": f"u-{kept}", "file_size": 100}
    whole = {"photo": [size | {"width": 90, "height": 90}], "media_group_id": album}
    running.telegram.say(chat, ANN, words, caption=True, **whole)


async def test_while_it_is_fetched_all_of_it_is_answered_once(running: Scene) -> None:
    running.telegram.fail_next("file", 9, "slow", seconds=600)
    part(running, "1", "red", "which?")
    part(running, "1", "green")
    await until(lambda: running.telegram.calls("file"))
    await running.gateway.kill()
    running.telegram.recover()
    part(running, "1", "blue")
    await running.gateway.start()
    await running.telegram.hears("seen")
    await running.database.settled()
    assert running.telegram.texts() == ["seen"]
    assert running.database.pictures() == [1, 1, 1, 0]


async def test_in_a_group_what_comes_after_the_kill_still_belongs_to_its_caption(
    running: Scene,
) -> None:
    running.telegram.fail_next("file", 9, "slow", seconds=600)
    part(running, "2", "pink", "@bough_bot which?", chat=GROUP)
    await until(lambda: running.telegram.calls("file"))
    await running.gateway.kill()
    running.telegram.recover()
    part(running, "2", "gold", chat=GROUP)
    await running.gateway.start()
    await running.telegram.hears("seen", GROUP)
    await running.database.settled()
    assert running.telegram.texts(GROUP) == ["seen"]
    assert running.database.pictures() == [1, 1, 0]


async def test_before_its_turn_begins_it_is_fetched_only_once(running: Scene) -> None:
    running.database.stall("INSERT ON entries", "json_extract(NEW.body, '$.role') = 'user'")
    part(running, "3", "lime", "which?")
    part(running, "3", "navy")
    database = running.database
    await until(lambda: len(running.telegram.calls("file")) == 2)
    await running.killed_once(lambda: database.open_rows() and database.is_being_written())
    await running.gateway.start()
    await running.telegram.hears("seen")
    await running.database.settled()
    assert running.telegram.texts() == ["seen"]
    assert running.database.pictures() == [1, 1, 0]
    assert len(running.telegram.calls("file")) == 2
