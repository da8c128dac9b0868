"""Killed before, during and after a decision: it is applied once, and shown on every copy."""

import pytest

from tests.crash.patience import SECONDS, until
from tests.crash.rules import BUTTONS
from tests.crash.scene import ANN, BEN, Scene

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]


async def asked(running: Scene) -> None:
    """A question is open, and both have it."""
    running.telegram.say(ANN, ANN, "delegate gone")
    for chat in (ANN, BEN):
        assert running.telegram.labels(await running.telegram.question(chat)) == BUTTONS
    await running.database.settled()


async def decided(running: Scene, label: str, by: str, *, copies: int = 2) -> None:
    """The decision was applied once; the answer is there; all copies show it."""
    await running.telegram.hears("gone is ")
    await running.database.settled()
    assert len(running.database.decisions()) == 1
    texts = running.telegram.texts(ANN) + running.telegram.texts(BEN)
    assert sum(f"{by}: {label}" in text for text in texts) == copies
    assert sum("gone is " in text for text in texts) == 1
    assert len(texts) == copies + 1
    assert running.telegram.buttons_left() == []
    assert running.database.replies("parent") == 2


async def test_a_question_is_decided_after_a_restart(running: Scene) -> None:
    await asked(running)
    await running.gateway.kill()
    await running.gateway.start()
    running.telegram.press(await running.telegram.question(ANN), "Moved", ANN)
    await decided(running, "Moved", "Ann")


async def test_a_press_while_the_bot_is_down_is_applied_at_the_start(running: Scene) -> None:
    await asked(running)
    await running.gateway.kill()
    running.telegram.press(await running.telegram.question(BEN), "Stop", BEN)
    running.time_passes(100)
    await running.gateway.start()
    await decided(running, "Stop", "Ben")


async def test_after_a_long_outage_there_are_fresh_buttons(running: Scene) -> None:
    await asked(running)
    await running.gateway.kill()
    running.telegram.press(await running.telegram.question(ANN), "Stop", ANN)
    running.time_passes(200)
    await running.gateway.start()
    await running.telegram.has(2, BEN)
    running.telegram.press(await running.telegram.question(BEN), "Moved", BEN)
    await decided(running, "Moved", "Ben", copies=4)


async def test_a_clock_that_was_set_back_meanwhile_makes_the_buttons_fresh(
    running: Scene,
) -> None:
    await asked(running)
    await running.gateway.kill()
    running.database.age(-86_400)
    await running.gateway.start()
    await running.telegram.has(2, BEN)
    running.telegram.press(await running.telegram.question(BEN), "Moved", BEN)
    await decided(running, "Moved", "Ben", copies=4)


async def test_a_question_that_expired_while_the_bot_was_down_is_closed_at_the_start(
    running: Scene,
) -> None:
    await asked(running)
    await running.gateway.kill()
    running.telegram.press(await running.telegram.question(ANN), "Moved", ANN)
    running.time_passes(8 * 86400)
    await running.gateway.start()
    await running.telegram.hears("gone is rejected")
    await running.database.settled()
    assert running.database.decisions() == []
    assert running.telegram.buttons_left() == []
    assert "Nobody decided in time" in running.telegram.texts(BEN)[0]


async def test_between_press_and_resume_the_decision_stands(running: Scene) -> None:
    await asked(running)
    running.database.stall("UPDATE OF epoch ON sessions")
    running.telegram.press(await running.telegram.question(BEN), "Stop", BEN)
    await running.killed_once(lambda: running.database.questions() == ["decided"])
    assert running.database.open_rows() == [("resume", None)]
    await running.gateway.start()
    await decided(running, "Stop", "Ben")


async def test_before_a_new_attempt_begins_the_decision_stands(running: Scene) -> None:
    await asked(running)
    running.database.stall(
        "INSERT ON entries", "json_extract(NEW.body, '$.data.kind') = 'answered'"
    )
    first = await running.telegram.question(ANN)
    running.telegram.press(first, "Try again", ANN)
    await running.killed_once(lambda: running.database.questions() == ["decided"])
    await running.gateway.start()
    await running.telegram.has(2)
    running.telegram.press(await running.telegram.question(ANN), "Stop", BEN)
    await running.telegram.hears("gone is rejected by human")
    await running.database.settled()
    assert running.database.decisions() == [f"telegram:{ANN}", f"telegram:{BEN}"]
    assert running.database.replies("worker") == 2
    assert running.database.replies("parent") == 2
    assert running.telegram.buttons_left() == []


async def test_before_the_copies_show_it_the_decision_stands(running: Scene) -> None:
    await asked(running)
    running.telegram.fail_next("editMessageText", times=1000)
    running.telegram.press(await running.telegram.question(ANN), "Stop", ANN)
    await running.telegram.refused("editMessageText")
    await running.gateway.kill()
    assert len(running.telegram.buttons_left()) == 2 * len(BUTTONS)
    running.telegram.recover()
    await running.gateway.start()
    await decided(running, "Stop", "Ann")


async def test_a_press_that_telegram_delivers_again_is_applied_once(running: Scene) -> None:
    await asked(running)
    await running.telegram.hear_no_confirmation()
    running.telegram.press(await running.telegram.question(ANN), "Stop", ANN)
    await running.telegram.refused("getUpdates")
    await running.gateway.kill()
    assert len(running.telegram.world.pending) == 1
    running.telegram.recover()
    await running.gateway.start()
    await decided(running, "Stop", "Ann")


async def test_two_presses_while_the_bot_is_down_are_one_decision(running: Scene) -> None:
    await asked(running)
    await running.gateway.kill()
    running.telegram.press(await running.telegram.question(BEN), "Stop", BEN)
    running.telegram.press(await running.telegram.question(ANN), "Moved", ANN)
    await running.gateway.start()
    await decided(running, "Stop", "Ben")
    await until(lambda: len(running.telegram.whispers()) == 2)
    assert sum("Ben: Stop" in told for told in running.telegram.whispers()) == 1


async def test_a_question_whose_turn_was_not_put_to_sleep_is_decided(running: Scene) -> None:
    running.database.stall("INSERT ON entries", "json_extract(NEW.body, '$.record') = 'suspended'")
    running.telegram.fail_next("sendMessage", times=1000)
    running.telegram.say(ANN, ANN, "delegate gone")
    await running.killed_once(running.database.questions)
    assert running.database.events()[-1] == "asked"
    running.telegram.recover()
    await running.gateway.start()
    await running.telegram.question(ANN)
    running.telegram.press(await running.telegram.question(BEN), "Moved", BEN)
    await decided(running, "Moved", "Ben")


WORDS = "Look in the attic"


async def answered(running: Scene, *, copies: int = 2) -> None:
    """The words decided once, and the same worker went on with them once."""
    await running.telegram.hears("is completed by worker")
    await running.database.settled()
    assert len(running.database.decisions()) == 1
    texts = running.telegram.texts(ANN) + running.telegram.texts(BEN)
    assert sum(f"Ben answered: {WORDS}" in text for text in texts) == copies
    assert running.telegram.buttons_left() == []
    assert running.database.replies("worker") == 2
    assert running.database.replies("parent") == 2


async def test_words_that_are_said_while_the_bot_is_down_are_the_answer(running: Scene) -> None:
    await asked(running)
    await running.gateway.kill()
    running.telegram.say(BEN, BEN, WORDS, reply_to=await running.telegram.question(BEN))
    await running.gateway.start()
    await answered(running)


async def test_between_the_words_and_the_worker_they_stand(running: Scene) -> None:
    await asked(running)
    running.database.stall("UPDATE OF epoch ON sessions")
    running.telegram.say(BEN, BEN, WORDS, reply_to=await running.telegram.question(BEN))
    await running.killed_once(lambda: running.database.questions() == ["decided"])
    await running.gateway.start()
    await answered(running)


@pytest.mark.parametrize("role", ["tool", "user"])
async def test_before_the_worker_hears_the_words_they_stand(running: Scene, role: str) -> None:
    """Killed before the result of its report, and between that and the words."""
    await asked(running)
    told = "A person %"
    running.database.stall(
        "INSERT ON entries",
        f"json_extract(NEW.body, '$.role') = '{role}'"
        f" AND json_extract(NEW.body, '$.content') LIKE '{told}'",
    )
    running.telegram.say(BEN, BEN, WORDS, reply_to=await running.telegram.question(BEN))
    await running.killed_once(lambda: running.database.events()[-1] == "answered")
    await running.gateway.start()
    await answered(running)


async def test_a_prompt_outlives_a_kill_and_its_reply_is_the_answer(running: Scene) -> None:
    await asked(running)
    running.telegram.press(await running.telegram.question(BEN), "Answer in words", BEN)
    prompt = await running.telegram.hears("Write your answer as a reply", BEN)
    await running.database.settled()
    await running.gateway.kill()
    await running.gateway.start()
    running.telegram.say(BEN, BEN, WORDS, reply_to=prompt)
    await answered(running)


async def asked_twice(running: Scene) -> None:
    """A question is open, and Ann has a second copy, because the first was not recorded."""
    running.database.stall("UPDATE ON outbox", "NEW.state = 'sent'")
    running.telegram.say(ANN, ANN, "delegate gone")
    await running.killed_once(lambda: running.telegram.texts(ANN))
    await running.gateway.start()
    await running.telegram.has(2, ANN)
    await running.database.settled()


async def test_a_copy_that_was_sent_twice_counts_and_both_are_closed(running: Scene) -> None:
    await asked_twice(running)
    first, second = running.telegram.messages(ANN)
    running.telegram.press(first, "Stop", ANN)
    await running.telegram.hears("gone is rejected by human")
    await running.database.settled()
    assert running.database.decisions() == [f"telegram:{ANN}"]
    assert running.telegram.labels(first) == running.telegram.labels(second) == []


async def test_a_copy_that_nobody_knows_of_is_closed_by_a_late_press(running: Scene) -> None:
    await asked_twice(running)
    first, second = running.telegram.messages(ANN)
    running.telegram.press(second, "Stop", ANN)
    await running.telegram.hears("gone is rejected by human")
    running.telegram.press(first, "Moved", ANN)
    await running.telegram.wait_for(lambda: not running.telegram.labels(first), SECONDS)
    await until(lambda: "Ann: Stop" in running.telegram.whispers())
    assert running.database.decisions() == [f"telegram:{ANN}"]
