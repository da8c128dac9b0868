"""Many messages, and a Telegram that is slow, throttles, fails or cuts the line."""

from pathlib import Path

import pytest

from adapters.base import Misconfigured
from tests.flow.telegram_gateway import ANN, OWNER, says, telegram_gateway
from tests.stand_ins.telegram_wire import FaultKind
from tests.stand_ins.telegram_world import words

ECHO = [says("parent", "you said: {last}")]
OPEN = {"owners": [f"telegram:{OWNER}"], "allow": ["telegram:*"]}


async def test_the_same_update_twice_is_answered_once(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.telegram.repeat(g.say("hello"))
        await g.hears("you said: hello")
        g.telegram.repeat(g.say("/help"))
        g.say("last")
        await g.hears("you said: last")
        await g.settled()
        assert sum("hello" in text for text in g.texts()) == 1
        assert sum("/stop" in text for text in g.texts()) == 1


async def test_the_same_update_after_a_restart_is_answered_once(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        update = g.say("hello")
        await g.hears("you said: hello")
        await g.settled()
        await g.stop()
        g.telegram.repeat(update)
        await g.start()
        g.say("last")
        await g.hears("you said: last")
        assert g.texts() == ["you said: hello", "you said: last"]


async def test_fifty_quick_messages_in_one_chat_keep_their_order(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        for number in range(50):
            g.say(f"message {number}")
        await g.hears("message 49")
        await g.settled()
        said = [m["content"] for m in g.models.requests[-1].messages if m["role"] == "user"]
        assert said == [f"message {number}" for number in range(50)]


async def test_fifty_queued_messages_are_each_answered_in_order(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO, session={"busy": "queue"}) as g:
        for number in range(50):
            g.say(f"message {number}")
        await g.hears("you said: message 49")
        assert g.texts() == [f"you said: message {number}" for number in range(50)]


async def test_fifty_chats_at_once_each_get_their_own_answer(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO, access=OPEN) as g:
        people = range(2000, 2050)
        for person in people:
            g.say(f"secret of {person}", chat=person)
        for person in people:
            await g.hears(f"you said: secret of {person}", chat=person)
            assert len(g.texts(person)) == 1
        assert all(len(request.messages) == 2 for request in g.models.requests)


async def test_whom_an_owner_let_in_before_they_wrote_is_answered_after_a_restart(
    tmp_path: Path,
) -> None:
    ben = 2000
    access = {"owners": [f"telegram:{OWNER}"]}
    async with telegram_gateway(tmp_path, ECHO, access=access) as g:
        g.say("/start", chat=ben)
        greeting = words(await g.hears("your code is", chat=ben))
        await g.stop()
        g.say(f"/pair {greeting.partition('your code is ')[2][:9]}")
        g.say("hello", chat=ben)
        await g.start()
        await g.hears("is let in")
        await g.settled()
        assert g.texts(ben)[-1] == "you said: hello"


@pytest.mark.parametrize("kind", ["429", "500", "502", "cut_before"])
async def test_a_send_that_fails_is_made_again(tmp_path: Path, kind: FaultKind) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.telegram.fail_next("sendMessage", 1, kind, seconds=1)
        g.say("hello")
        await g.hears("you said: hello")
        g.say("again")
        await g.hears("you said: again")
        assert g.texts() == ["you said: hello", "you said: again"]


async def test_throttling_delays_only_the_chat_that_is_throttled(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.telegram.fail_next("sendMessage", 1, "429", seconds=2)
        g.say("slow")
        await g.telegram.wait_for(lambda: g.telegram.calls("sendMessage"))
        g.say("quick", chat=ANN)
        await g.hears("you said: slow")
        asked = [call.params["chat_id"] for call in g.telegram.calls("sendMessage")]
        assert asked == [OWNER, ANN, OWNER]


async def test_a_line_cut_after_the_work_repeats_only_that_message(tmp_path: Path) -> None:
    long = "\n\n".join(f"part {n} " + "x" * 3000 for n in range(4))
    async with telegram_gateway(tmp_path, [says("parent", long)]) as g:
        g.telegram.fail_next("sendMessage", 1, "cut_after")
        g.say("hello")
        await g.hears("part 3")
        await g.settled()
        assert [text[:6] for text in g.texts()] == [
            "part 0",
            "part 0",
            "part 1",
            "part 2",
            "part 3",
        ]
        untold = [call.untold for call in g.telegram.calls("sendMessage")]
        assert untold == [True, False, False, False, False]


async def test_what_telegram_cannot_parse_goes_out_without_markup(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, [says("parent", "**bold** word")]) as g:
        g.telegram.fail_next("sendMessage", 1, "400")
        g.say("hello")
        shown = await g.hears("bold word")
        assert "entities" not in shown


async def test_a_person_who_blocked_the_bot_delays_nobody(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.telegram.block(ANN)
        g.say("hello", chat=ANN)
        g.say("hello")
        await g.hears("you said: hello")
        await g.settled()
        audits = await g.read(lambda tx: tx.directory.audits("undelivered"))
        assert len(audits) == 1
        assert await g.read(lambda tx: tx.outbox.pending()) == []


@pytest.mark.parametrize("kind", ["429", "500", "502", "cut_before", "cut_after"])
async def test_polling_goes_on_after_a_fault(tmp_path: Path, kind: FaultKind) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.telegram.fail_next("getUpdates", 2, kind, seconds=0)
        g.say("hello")
        g.say("hello again")
        await g.hears("you said: hello again")
        await g.settled()
        assert sum("again" in text for text in g.texts()) == 1


async def test_a_slow_acknowledgement_of_a_press_is_no_fault(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.telegram.fail_next("answerCallbackQuery", 1, "400", description="query is too old")
        g.say("hello")
        shown = await g.hears("you said: hello")
        g.telegram.forge(shown, "nonsense", OWNER)
        g.say("still there?")
        await g.hears("you said: still there?")


async def test_a_token_that_is_revoked_is_tried_again_and_nothing_is_lost(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.telegram.fail_next("getUpdates", 1, "401")
        g.telegram.fail_next("getMe", 1, "401")
        g.say("hello")
        g.say("and good day")
        await g.hears("good day")


async def test_a_token_that_is_revoked_before_anything_arrived_ends_the_gateway(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, ECHO, started=False) as g:
        g.telegram.fail_next("getUpdates", 99, "401")
        with pytest.RaisesGroup(Misconfigured, flatten_subgroups=True):
            await g.start()
        g._task = None


async def test_a_group_that_becomes_a_supergroup_still_gets_its_answer(tmp_path: Path) -> None:
    old, new = -77, -1_000_000_000_077
    slow = {"when": {"tier": "parent"}, "reply": {"text": "slow answer", "delay": 0.3}}
    async with telegram_gateway(tmp_path, [slow]) as g:
        g.telegram.group(old, "Ops")
        g.say("@bough_bot hello", chat=old, user=OWNER)
        g.telegram.migrate(old, new)
        await g.hears("slow answer", chat=new)
