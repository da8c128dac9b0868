"""Killed around a change of a note: it is made once, together with the result that tells of it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.crash.patience import until
from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

ANSWER = "NEW.author = 'parent' AND json_extract(NEW.body, '$.tool_calls') IS NULL"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("gateway")
    call = {"name": "memory", "arguments": {"action": "add", "text": "{1}"}}
    rules: list[dict[str, Any]] = [
        {"when": {"last": r"^note (\w+)"}, "reply": {"tool_calls": [call]}},
        {"when": {"last": "^Noted"}, "reply": {"text": "I keep it"}},
        {"reply": {"text": "answer to {last}"}},
    ]
    models = {"parent": {"model": write_rules(folder, rules)}}
    async with scene(folder, models, tools={"toolsets": ["memory"]}) as started:
        yield started


def notes(running: Scene) -> list[str]:
    found: list[str] = running.database._rows("SELECT text FROM notes ORDER BY id")
    return found


async def test_a_note_that_was_not_committed_is_noted_with_its_result(running: Scene) -> None:
    running.database.stall("INSERT ON notes")
    running.telegram.say(ANN, ANN, "note tea")
    await until(running.database.is_being_written)
    await running.gateway.kill()
    running.database.mend()
    assert notes(running) == []
    await running.gateway.start()
    await running.ends("📝 Noted about you: tea", "I keep it")
    assert notes(running) == ["tea"]


async def test_a_note_whose_result_is_stored_is_not_noted_again(running: Scene) -> None:
    running.database.stall("INSERT ON entries", ANSWER)
    running.telegram.say(ANN, ANN, "note coffee")
    await running.killed_once(lambda: "coffee" in notes(running))
    await running.gateway.start()
    # What was in flight when it died may be told twice, as every message.
    await running.telegram.hears("I keep it")
    await running.quiet()
    assert running.telegram.texts().count("I keep it") == 1
    assert notes(running).count("coffee") == 1


async def test_a_note_is_deleted_once_and_that_is_said_once(running: Scene) -> None:
    running.telegram.say(ANN, ANN, "note water")
    await running.telegram.hears("I keep it")
    await running.quiet()
    running.telegram.look_away()
    (number,) = running.database._rows("SELECT id FROM notes WHERE text = 'water'")
    running.database.stall("DELETE ON notes")
    running.telegram.say(ANN, ANN, f"/memory delete {number}")
    await running.killed_once(running.database.open_rows)
    assert "water" in notes(running)
    await running.gateway.start()
    await running.telegram.hears(f"Deleted: {number}.")
    await running.database.settled()
    assert len(running.telegram.texts()) == 1
    assert "water" not in notes(running)


async def test_a_session_that_had_not_begun_begins_with_its_notes_once(running: Scene) -> None:
    running.telegram.say(ANN, ANN, "note milk")
    await running.telegram.hears("I keep it")
    await running.quiet()
    running.telegram.say(ANN, ANN, "/new")
    await running.telegram.hears("A new conversation")
    await running.quiet()
    running.telegram.look_away()
    running.database.stall("INSERT ON entries", "NEW.author = 'parent'")
    running.telegram.say(ANN, ANN, "hello")
    await running.killed_once(running.database.open_rows)
    await running.gateway.start()
    await running.ends("answer to hello")
    begun = running.database._rows(
        "SELECT count(*) FROM entries WHERE json_extract(body, '$.record') = 'notes' "
        "AND session = (SELECT max(session) FROM entries)"
    )
    assert begun == [1]
