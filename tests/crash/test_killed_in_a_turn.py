"""Killed between a message and its answer: every message is answered, and nothing twice."""

import pytest

from tests.crash.patience import until
from tests.crash.rules import PARTS
from tests.crash.scene import ANN, Scene

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

REPLY = "json_extract(NEW.body, '$.role') = 'assistant'"


async def test_a_message_whose_turn_has_only_begun_is_answered(running: Scene) -> None:
    running.database.stall("INSERT ON entries", REPLY)
    running.telegram.say(ANN, ANN, "hello")
    await running.killed_once(lambda: any(entry for _, entry in running.database.open_rows()))
    [(kind, entry)] = running.database.open_rows()
    assert kind == "message"
    assert entry is not None
    await running.gateway.start()
    await running.ends("answer to hello")


async def test_a_message_that_was_not_even_committed_is_answered(running: Scene) -> None:
    running.database.stall("INSERT ON inbox")
    running.telegram.say(ANN, ANN, "hello")
    await until(running.database.is_being_written)
    await running.gateway.kill()
    running.database.mend()
    assert running.database.open_rows() == []
    await running.gateway.start()
    await running.ends("answer to hello")


async def test_messages_sent_while_the_bot_is_down_are_answered_in_order(running: Scene) -> None:
    running.telegram.say(ANN, ANN, "before")
    await running.ends("answer to before")
    await running.gateway.kill()
    running.telegram.say(ANN, ANN, "during")
    await running.gateway.start()
    await running.ends("answer to before", "answer to during")


async def test_an_update_that_telegram_delivers_again_is_answered_once(running: Scene) -> None:
    await running.telegram.hear_no_confirmation()
    running.telegram.say(ANN, ANN, "hello")
    await running.telegram.refused("getUpdates")
    # What was sent and not recorded yet would be sent once more.
    await running.telegram.hears("answer to hello")
    await running.recorded_as_sent()
    await running.gateway.kill()
    assert [update["message"]["text"] for update in running.telegram.world.pending] == ["hello"]
    running.telegram.recover()
    await running.gateway.start()
    await running.ends("answer to hello")
    assert running.database.replies("parent") == 1


async def test_an_answer_that_was_stored_but_not_sent_is_sent_without_the_model(
    running: Scene,
) -> None:
    running.telegram.fail_next("sendMessage", times=1000)
    running.telegram.say(ANN, ANN, "hello")
    await running.telegram.refused("sendMessage")
    await running.gateway.kill()
    assert running.database.open_rows() == []
    running.telegram.recover()
    await running.gateway.start()
    await running.ends("answer to hello")
    assert running.database.replies("parent") == 1


async def test_between_two_parts_of_a_long_answer_no_part_is_sent_twice(running: Scene) -> None:
    running.telegram.fail_next("sendMessage", kind="slow", seconds=0.01)
    running.telegram.fail_next("sendMessage", times=1000)
    running.telegram.say(ANN, ANN, "tell tales")
    await running.telegram.refused("sendMessage")
    await running.gateway.kill()
    running.telegram.recover()
    assert len(running.telegram.texts()) == 1
    await running.gateway.start()
    await running.telegram.hears(f"tales {PARTS}")
    await running.database.settled()
    assert parts_of(running) == [f"tales {part}" for part in range(1, PARTS + 1)]


async def test_only_the_part_that_was_in_flight_may_be_sent_twice(running: Scene) -> None:
    running.database.stall("UPDATE ON outbox", "NEW.state = 'sent'")
    running.telegram.say(ANN, ANN, "tell tales")
    await running.telegram.hears("tales 1")
    await running.gateway.kill()
    running.database.mend()
    await running.gateway.start()
    await running.telegram.hears(f"tales {PARTS}")
    await running.database.settled()
    parts = [f"tales {part}" for part in range(1, PARTS + 1)]
    assert parts_of(running) == [parts[0], *parts]


def parts_of(running: Scene) -> list[str]:
    return [text.partition(":")[0] for text in running.telegram.texts()]


@pytest.mark.parametrize(
    ("command", "answer"), [("/help", "Just write to me"), ("/new", "A new conversation")]
)
async def test_a_command_that_was_only_committed_is_carried_out_once(
    running: Scene, command: str, answer: str
) -> None:
    running.database.stall("INSERT ON outbox")
    running.telegram.say(ANN, ANN, command)
    await running.killed_once(running.database.open_rows)
    assert running.database.open_rows() == [("message", None)]
    await running.gateway.start()
    await running.telegram.hears(answer)
    await running.database.settled()
    assert len(running.telegram.texts()) == 1
