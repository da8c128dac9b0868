"""SIGTERM while PostgreSQL is away: the gateway ends all the same, and nothing is lost."""

from pathlib import Path

import pytest

from tests.crash.rules import rules
from tests.crash.scene import ANN, scene
from tests.support.gateway_process import write_rules
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.crash

GRACE = 60.0
"""Seconds a gateway has to end when it is told to, at most; it ended never."""


async def test_who_is_told_to_stop_while_the_server_is_away_ends(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=1))}}
    storage, server = {"url": postgres_url}, {"drain": "1s"}
    async with scene(tmp_path, slow, storage=storage, server=server) as running:
        running.telegram.say(ANN, ANN, "hello")
        await running.telegram.typing()
        postgres_server.stop()
        running.gateway.terminate()
        try:
            assert await running.gateway.wait(GRACE) == 0
        finally:
            postgres_server.start()
        await running.gateway.start()
        await running.telegram.hears("answer to hello")
