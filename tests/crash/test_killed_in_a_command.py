"""Killed before, during and after a command: nothing of it outlives the gateway, none is run a
second time, and what nobody knows is said."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.crash.patience import until
from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import write_rules
from tests.support.sandboxes import alive, need_bubblewrap

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

RESULT = "json_extract(NEW.body, '$.role') = 'tool'"
LOG = "echo {1} >>log; "


def runs(word: str, command: str, **more: Any) -> dict[str, Any]:
    call = {"name": "run_command", "arguments": {"command": command} | more}
    return {"when": {"last": rf"^{word} (\w+)"}, "reply": {"tool_calls": [call]}}


RULES = [
    {"when": {"last": "the gateway ended first"}, "reply": {"text": "lost in the background"}},
    {"when": {"last": "interrupted, outcome unknown"}, "reply": {"text": "nobody knows"}},
    {"when": {"last": "in the background as"}, "reply": {"text": "begun"}},
    {"when": {"last": "exit code: 0"}, "reply": {"text": "done"}},
    runs("sleep", LOG + "trap '' TERM; setsid sleep 9{1} & sleep 9{1}"),
    runs("quick", LOG + "true"),
    runs("behind", LOG + "sleep 9{1}", background=True),
    {"reply": {"text": "what?"}},
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Scene, Path]]:
    need_bubblewrap()
    folder = tmp_path_factory.mktemp("gateway")
    tools = {
        "toolsets": ["terminal"],
        "workspace": f"{folder}/w/{{session}}",
        "rules": [{"tool": "run_command", "decision": "allow"}],
    }
    models = {"parent": {"model": write_rules(folder, RULES)}}
    async with scene(folder, models, tools=tools) as started:
        yield started, folder


@pytest_asyncio.fixture(loop_scope="module")
async def running(shared: tuple[Scene, Path]) -> Scene:
    await shared[0].restore()
    return shared[0]


@pytest.fixture
def mark() -> str:
    return str(uuid.uuid4().int)[:12]


def times(folder: Path, mark: str) -> int:
    """How often a command ran."""
    logs = [path.read_text() for path in folder.glob("w/*/log")]
    return sum(log.split().count(mark) for log in logs)


async def test_a_command_that_runs_dies_with_the_gateway_and_is_not_run_again(
    running: Scene, shared: tuple[Scene, Path], mark: str
) -> None:
    running.telegram.say(ANN, ANN, f"sleep {mark}")
    await until(lambda: times(shared[1], mark) and f"sleep\x009{mark}\x00" in alive(mark))
    await running.gateway.kill()
    await until(lambda: not alive(mark))
    await running.gateway.start()
    await running.ends("nobody knows")
    assert times(shared[1], mark) == 1


async def test_a_command_whose_result_was_not_stored_is_not_run_again(
    running: Scene, shared: tuple[Scene, Path], mark: str
) -> None:
    running.database.stall("INSERT ON entries", RESULT)
    running.telegram.say(ANN, ANN, f"quick {mark}")
    await running.killed_once(
        lambda: times(shared[1], mark) and running.database.is_being_written()
    )
    await running.gateway.start()
    await running.ends("nobody knows")
    assert times(shared[1], mark) == 1


async def test_a_command_that_was_not_even_begun_is_not_run_either(
    running: Scene, shared: tuple[Scene, Path], mark: str
) -> None:
    running.database.stall("INSERT ON commands")
    running.telegram.say(ANN, ANN, f"quick {mark}")
    await running.killed_once(running.database.is_being_written)
    await running.gateway.start()
    await running.ends("nobody knows")
    assert times(shared[1], mark) == 0


async def test_what_ran_in_the_background_is_told_of_once(
    running: Scene, shared: tuple[Scene, Path], mark: str
) -> None:
    running.telegram.say(ANN, ANN, f"behind {mark}")
    await running.telegram.hears("begun")
    await running.recorded_as_sent()
    await until(lambda: times(shared[1], mark))
    await running.gateway.kill()
    await until(lambda: not alive(mark))
    await running.gateway.start()
    await running.telegram.hears("lost in the background")
    await running.recorded_as_sent()
    await running.database.settled()
    await running.gateway.kill()
    await running.gateway.start()
    await running.ends("begun", "lost in the background")
    assert times(shared[1], mark) == 1


async def test_a_gateway_that_is_told_to_stop_leaves_nothing_behind(
    running: Scene, shared: tuple[Scene, Path], mark: str
) -> None:
    running.telegram.say(ANN, ANN, f"behind {mark}")
    await running.telegram.hears("begun")
    await running.recorded_as_sent()
    await until(lambda: alive(f"9{mark}"))
    running.gateway.terminate()
    await running.gateway.wait()
    assert alive(mark) == []
    await running.gateway.start()
    await running.ends("begun", "lost in the background")
