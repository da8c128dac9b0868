from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.crash.scene import BEN, Scene, scene


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """A gateway that serves Telegram with a scripted model. The tests of a module kill it one
    after the other: the restart of one is the start of the next."""
    levels = {"levels": [{"to": [f"telegram:{BEN}"]}]}
    async with scene(tmp_path_factory.mktemp("gateway"), escalation=levels) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def running(shared: Scene) -> Scene:
    await shared.restore()
    return shared
