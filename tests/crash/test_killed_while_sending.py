"""Killed around a message, a file or a question of the agent's own: people see each once."""

import io
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from PIL import Image

from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

RESULT = "json_extract(NEW.body, '$.role') = 'tool'"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "note": ("send_message", {"target": "here", "text": "a note"}),
    "picture": ("send_file", {"path": "shown.png", "caption": "a picture"}),
    "colour": ("clarify", {"question": "Which?", "choices": ["Red", "Blue"]}),
}


def rules() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {
            "when": {"last": f"^{said}$"},
            "reply": {"tool_calls": [{"name": name, "arguments": arguments}]},
        }
        for said, (name, arguments) in CALLS.items()
    ]
    return [*made, {"when": {}, "reply": {"text": "answer to {last}"}}]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("gateway")
    work = folder / "work"
    work.mkdir()
    picture = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(picture, "PNG")
    (work / "shown.png").write_bytes(picture.getvalue())
    models = {"parent": {"model": write_rules(folder, rules())}}
    tools = {"toolsets": ["message", "file_read"], "workspace": str(work)}
    async with scene(folder, models, tools=tools) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def running(shared: Scene) -> Scene:
    await shared.restore()
    return shared


SENT = pytest.mark.parametrize(
    ("said", "shown", "method"),
    [
        ("note", ["a note", "answer to Sent to this conversation."], "sendMessage"),
        ("picture", ["a picture", "answer to Sent shown.png: "], "sendPhoto"),
    ],
)


async def ends_with(running: Scene, shown: list[str]) -> None:
    await running.telegram.hears(shown[-1])
    await running.database.settled()
    texts = running.telegram.texts()
    assert len(texts) == len(shown)
    assert all(text.startswith(begin) for text, begin in zip(texts, shown, strict=True))


@SENT
async def test_before_the_result_is_kept_nothing_is_sent_and_after_the_start_once(
    running: Scene, said: str, shown: list[str], method: str
) -> None:
    running.database.stall("INSERT ON entries", RESULT)
    running.telegram.say(ANN, ANN, said)
    # The reply with the call is kept, and its result is being written.
    await running.killed_once(
        lambda: running.database.replies("parent") and running.database.is_being_written()
    )
    assert running.telegram.texts() == []
    await running.gateway.start()
    await ends_with(running, shown)


@SENT
async def test_between_result_and_sending_it_is_sent_once(
    running: Scene, said: str, shown: list[str], method: str
) -> None:
    running.telegram.fail_next(method, times=1000)
    running.telegram.say(ANN, ANN, said)
    await running.telegram.refused(method)
    await running.gateway.kill()
    running.telegram.recover()
    await running.gateway.start()
    await ends_with(running, shown)
    assert running.database.replies("parent") == 2


async def test_words_that_were_written_while_the_bot_was_down_are_the_answer(
    running: Scene,
) -> None:
    running.telegram.say(ANN, ANN, "colour")
    await running.telegram.question()
    await running.database.settled()
    await running.gateway.kill()
    running.telegram.say(ANN, ANN, "green")
    await running.gateway.start()
    await running.telegram.hears("answer to 'Ann' (telegram:1001) answered in words:\ngreen")
    await running.database.settled()
    assert len(running.database.decisions()) == 1
    assert running.telegram.buttons_left() == []
    assert running.database.replies("parent") == 2


async def test_between_the_words_and_the_end_of_the_turn_they_count_once(running: Scene) -> None:
    running.telegram.say(ANN, ANN, "colour")
    await running.telegram.question()
    await running.database.settled()
    running.database.stall("INSERT ON entries", RESULT)
    running.telegram.say(ANN, ANN, "green")
    await running.killed_once(lambda: running.database.questions() == ["decided"])
    await running.gateway.start()
    await running.telegram.hears("answered in words:\ngreen")
    await running.database.settled()
    assert len(running.database.decisions()) == 1
    assert running.database.replies("parent") == 2
