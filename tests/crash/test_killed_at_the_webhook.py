"""Killed around the commit of an update that Telegram brought: it is brought again, and answered
once."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.crash.patience import SECONDS, until
from tests.crash.scene import ANN, Scene, scene
from tests.support.ports import free_port

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    port = free_port()
    webhook = {
        "mode": "webhook",
        "webhook_url": f"http://127.0.0.1:{port}/bough",
        "listen": f"127.0.0.1:{port}",
    }
    async with scene(tmp_path_factory.mktemp("gateway"), telegram=webhook) as started:
        yield started


async def test_killed_after_the_commit_and_before_telegram_hears_of_it(running: Scene) -> None:
    deliveries = running.telegram.methods.deliveries
    deliveries.deaf = True
    running.telegram.say(ANN, ANN, "hello")
    await running.telegram.hears("answer to hello")
    await running.recorded_as_sent()
    await running.gateway.kill()
    assert [update["message"]["text"] for update in running.telegram.world.pending] == ["hello"]
    deliveries.deaf = False
    await running.gateway.start()
    await running.quiet()
    await running.ends("answer to hello")
    assert running.database.replies("parent") == 1
    assert running.telegram.calls("getUpdates", "deleteWebhook") == []


async def test_killed_before_the_commit(running: Scene) -> None:
    running.database.stall("INSERT ON inbox")
    running.telegram.say(ANN, ANN, "hello")
    await until(running.database.is_being_written)
    await running.gateway.kill()
    running.database.mend()
    assert running.database.open_rows() == []
    assert len(running.telegram.world.pending) == 1
    await running.gateway.start()
    await running.ends("answer to hello")


async def test_messages_sent_while_the_bot_is_down_are_answered_in_order(running: Scene) -> None:
    await running.gateway.kill()
    running.telegram.say(ANN, ANN, "one")
    tried = len(running.telegram.methods.deliveries.statuses)
    await running.telegram.wait_for(
        lambda: len(running.telegram.methods.deliveries.statuses) > tried, SECONDS
    )
    await running.gateway.start()
    await running.telegram.hears("answer to one")
    running.telegram.say(ANN, ANN, "two")
    await running.ends("answer to one", "answer to two")
