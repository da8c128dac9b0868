"""Killed while a file is fetched, or before the turn begins with it: it is told once, whole."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.crash.patience import until
from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("gateway")
    rules = [
        {"when": {"last": "all of it"}, "reply": {"text": "it was read"}},
        {"when": {}, "reply": {"text": "it was not read"}},
    ]
    models = {"parent": {"model": write_rules(folder, rules)}}
    async with scene(folder, models) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def running(shared: Scene) -> Scene:
    await shared.restore()
    return shared


async def test_in_the_middle_of_a_download_it_is_fetched_again(running: Scene) -> None:
    running.telegram.fail_next("file", 1, "slow", seconds=600)
    file = running.telegram.document("a.txt", b"all of it")
    running.telegram.say(ANN, ANN, "read this", document=file, caption=True)
    await until(lambda: running.telegram.calls("file"))
    await running.gateway.kill()
    running.telegram.recover()
    await running.gateway.start()
    await running.telegram.hears("it was read")
    await running.database.settled()
    assert running.telegram.texts() == ["it was read"]


async def test_before_the_turn_begins_with_it_the_answer_comes_once(running: Scene) -> None:
    running.database.stall("INSERT ON entries", "json_extract(NEW.body, '$.role') = 'user'")
    file = running.telegram.document("b.txt", b"all of it, again")
    running.telegram.say(ANN, ANN, "read that", document=file, caption=True)
    await running.killed_once(running.database.is_being_written)
    await running.gateway.start()
    await running.telegram.hears("it was read")
    await running.database.settled()
    assert running.telegram.texts() == ["it was read"]
    assert len(running.telegram.calls("file")) == 1
