"""One trace id leads through the log, from an update to its reply, whoever worked on it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.crash.patience import until
from tests.crash.scene import ANN, Scene, scene

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

JSON = {"format": "json", "level": "debug"}
REPLY = "json_extract(NEW.body, '$.role') = 'assistant'"


def lines(running: Scene) -> list[dict[str, Any]]:
    """Each is an object: the log is JSON from the first line to the last."""
    return [json.loads(line) for line in running.gateway.log]


def of_trace(running: Scene, trace: str) -> list[dict[str, Any]]:
    return [line for line in lines(running) if line.get("trace") == trace]


def said(running: Scene, event: str, **fields: Any) -> list[dict[str, Any]]:
    found = [line for line in lines(running) if line["event"] == event]
    return [line for line in found if fields.items() <= line.items()]


async def test_from_update_to_reply_across_a_kill(tmp_path: Path) -> None:
    async with scene(tmp_path, log=JSON) as running:
        running.database.stall("INSERT ON entries", REPLY)
        running.telegram.say(ANN, ANN, "hello")
        await running.killed_once(lambda: said(running, "model call"))
        (update,) = said(running, "update")
        before = len(running.gateway.log)
        await running.gateway.start()
        await running.telegram.hears("answer to hello")
        await until(lambda: said(running, "delivered"))
        followed = of_trace(running, update["trace"])
        events = [line["event"] for line in followed]
        assert events.index("update") < events.index("turn begins") < events.index("delivered")
        assert events.count("turn begins") == 2 and events.count("delivered") == 1
        assert {line["address"] for line in followed if "address" in line} == {f"telegram:{ANN}"}
        first, second = ({line["process"] for line in part} for part in _parted(running, before))
        assert first and second and not first & second


def _parted(running: Scene, before: int) -> tuple[list[Any], list[Any]]:
    whole = lines(running)
    return whole[:before], whole[before:]


async def test_what_a_decision_leads_to_names_the_trace_that_asked(tmp_path: Path) -> None:
    async with scene(tmp_path, log=JSON) as running:
        running.telegram.say(ANN, ANN, "delegate gone")
        question = await running.telegram.question()
        await until(lambda: said(running, "turn ends"))
        (asking,) = said(running, "update")
        await running.gateway.kill()
        await running.gateway.start()
        label = running.telegram.labels(question)[0]
        running.telegram.press(question, label, ANN)
        await until(lambda: said(running, "turn begins", kind="resume"))
        (resumed,) = said(running, "turn begins", kind="resume")
        (press,) = said(running, "update", kind="press")
        assert resumed["asked"] == asking["trace"] != resumed["trace"]
        assert resumed["trace"] == press["trace"]
