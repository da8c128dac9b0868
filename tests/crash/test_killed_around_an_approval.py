"""Killed before, during and after a call that a person approved: it runs once at most, and only
with their word."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.crash.patience import until
from tests.crash.scene import ANN, Scene, scene_of
from tests.support.gateway_process import write_rules
from tests.support.launching import LAUNCHED

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

UNKNOWN = "interrupted, outcome unknown"
RESUMED = ("INSERT ON entries", "json_extract(NEW.body, '$.record') = 'resumed'")
SUSPENDED = ("INSERT ON entries", "json_extract(NEW.body, '$.record') = 'suspended'")
RESULT = ("INSERT ON entries", "json_extract(NEW.body, '$.content') LIKE 'launched%'")
WAYS = pytest.mark.parametrize("who", ["parent", "child"])


def rules() -> list[dict[str, Any]]:
    def calls(name: str, arguments: dict[str, str], **when: str) -> dict[str, Any]:
        return {"when": when, "reply": {"tool_calls": [{"name": name, "arguments": arguments}]}}

    def says(text: str, **when: str) -> dict[str, Any]:
        return {"when": when, "reply": {"text": text}}

    return [
        calls("launch", {"what": "{1}"}, tier="parent", last=r"^parent (\w+)"),
        calls("delegate_task", {"goal": "{1}"}, tier="parent", last=r"^child (\w+)"),
        calls("launch", {"what": "{1}"}, tier="worker", last=r"Task: (\w+)"),
        says("so: {last}", tier="worker"),
        says("end: {last}", tier="parent"),
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Scene, Path]]:
    folder = tmp_path_factory.mktemp("launching")
    models = {"parent": {"model": write_rules(folder, rules())}}
    async with scene_of("tests.support.launching", folder, models) as started:
        yield started, folder / LAUNCHED


class Launches:
    def __init__(self, scene: Scene, file: Path) -> None:
        self.scene = scene
        self._file = file

    def done(self) -> list[str]:
        return self._file.read_text().split() if self._file.exists() else []

    async def asked(self, who: str, what: str) -> Any:
        self.scene.telegram.say(ANN, ANN, f"{who} {what}")
        question = await self.scene.telegram.question(ANN)
        assert self.done() == []
        return question

    def press(self, question: Any, label: str) -> None:
        self.scene.telegram.press(question, label, ANN)

    async def ended(self, told: str, *launched: str) -> None:
        """The model told what became of it; so often, and no more, it was launched."""
        await self.scene.telegram.hears("end: ")
        await self.scene.database.settled()
        ends = [text for text in self.scene.telegram.texts() if text.startswith("end: ")]
        assert len(ends) == 1
        assert told in ends[0]
        assert self.done() == list(launched)
        assert self.scene.telegram.buttons_left() == []


@pytest_asyncio.fixture(loop_scope="module")
async def here(shared: tuple[Scene, Path]) -> Launches:
    running, file = shared
    await running.restore()
    file.unlink(missing_ok=True)
    return Launches(running, file)


@WAYS
async def test_before_it_is_asked_nothing_ran(here: Launches, who: str) -> None:
    here.scene.database.stall(*SUSPENDED)
    here.scene.telegram.say(ANN, ANN, f"{who} a")
    await here.scene.killed_once(here.scene.database.is_being_written)
    await here.scene.gateway.start()
    await here.ended(UNKNOWN)


@WAYS
async def test_a_press_while_the_bot_is_down_runs_it_once(here: Launches, who: str) -> None:
    question = await here.asked(who, "b")
    await here.scene.recorded_as_sent()
    await here.scene.gateway.kill()
    here.press(question, "Once")
    await here.scene.gateway.start()
    await here.ended("launched b", "b")


@WAYS
async def test_between_the_press_and_the_turn_the_word_stands(here: Launches, who: str) -> None:
    question = await here.asked(who, "c")
    await here.scene.quiet()
    here.scene.database.stall("UPDATE OF epoch ON sessions")
    here.press(question, "Once")
    await here.scene.killed_once(lambda: here.scene.database.questions() == ["decided"])
    assert here.done() == []
    await here.scene.gateway.start()
    await here.ended("launched c", "c")


@WAYS
async def test_between_the_grant_and_the_run_it_is_allowed_and_runs_once(
    here: Launches, who: str
) -> None:
    question = await here.asked(who, f"d{who}")
    await here.scene.quiet()
    here.scene.database.stall(*RESUMED)
    here.press(question, "For this conversation")
    await until(lambda: here.scene.database.questions() == ["decided"])
    await here.scene.killed_once(here.scene.database.is_being_written)
    assert here.done() == []
    await here.scene.gateway.start()
    await here.ended(f"launched d{who}", f"d{who}")


@WAYS
async def test_while_it_runs_it_is_not_run_again(here: Launches, who: str) -> None:
    question = await here.asked(who, "slow")
    here.press(question, "Once")
    await here.scene.killed_once(here.done)
    await here.scene.gateway.start()
    await here.ended(UNKNOWN, "slow")


@WAYS
async def test_before_its_result_is_kept_it_is_not_run_again(here: Launches, who: str) -> None:
    question = await here.asked(who, "e")
    await here.scene.quiet()
    here.scene.database.stall(*RESULT)
    here.press(question, "Once")
    await until(here.done)
    await here.scene.killed_once(here.scene.database.is_being_written)
    await here.scene.gateway.start()
    await here.ended(UNKNOWN, "e")


@WAYS
async def test_what_was_denied_is_denied_after_a_kill_too(here: Launches, who: str) -> None:
    question = await here.asked(who, "f")
    await here.scene.quiet()
    here.scene.database.stall("INSERT ON entries", "json_extract(NEW.body, '$.role') = 'tool'")
    here.press(question, "Deny")
    await until(lambda: here.scene.database.questions() == ["decided"])
    await here.scene.killed_once(here.scene.database.is_being_written)
    await here.scene.gateway.start()
    await here.ended("Denied by Ann")


async def test_a_call_that_is_allowed_here_is_not_run_again_where_it_was_cut_off(
    here: Launches,
) -> None:
    question = await here.asked("parent", "g")
    here.press(question, "For this conversation")
    await here.ended("launched g", "g")
    here.scene.telegram.look_away()
    here.scene.database.stall(*RESULT)
    here.scene.telegram.say(ANN, ANN, "parent g")
    await until(lambda: len(here.done()) == 2)
    await here.scene.killed_once(here.scene.database.is_being_written)
    await here.scene.gateway.start()
    await here.ended(UNKNOWN, "g", "g")
