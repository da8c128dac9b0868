"""Killed while the arms of a fan are asked: what was answered stands, the rest is asked again."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.patience import until
from tests.crash.rules import parsed_rules
from tests.crash.scene import ANN, scene
from tests.stand_ins.model import Hang, ModelServer, Slow

pytestmark = pytest.mark.crash


async def test_each_arm_is_answered_once_and_all_are_told_once(tmp_path: Path) -> None:
    async with ModelServer(parsed_rules()) as server:
        entry = {"model": "parent", "api_base": server.url}
        models = {"parent": entry, "presets": {"two": {**entry, "model": "two"}}}
        async with scene(tmp_path, models) as running:
            running.telegram.say(ANN, ANN, "hello")
            await running.telegram.hears("answer to hello")
            await running.database.settled()
            before = len(server.requests)
            server.faults.extend([Slow(0), Hang()])
            running.telegram.say(ANN, ANN, "/fan 2 parent two")
            await until(lambda: not server.faults and running.database.replies("parent") == 2)
            await running.gateway.kill()
            await running.gateway.start()
            closing = await running.telegram.hears("The conversation goes on with 1/2")
            await running.database.settled()

            asked = Counter(json.dumps(request.body) for request in server.requests[before:])
            assert sorted(asked.values()) == [1, 2]
            assert running.database.replies("parent") == 3
            headings = [text.split("\n")[0] for text in running.telegram.texts()]
            assert headings.count("1/2 · parent") == headings.count("2/2 · two") == 1

            running.telegram.press(closing, "Go on with 2", ANN)
            await running.telegram.hears("Going on with 2/2 · two.")
