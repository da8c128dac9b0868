"""Starting and receiving: the adapter against a Bot API server on the wire."""

import asyncio
import logging
from collections.abc import AsyncIterator

import aiohttp
import pytest

from adapters.base import (
    Adapter,
    AdapterError,
    CommandSpec,
    Misconfigured,
    Unavailable,
)
from adapters.events import Message, Unreadable, Update
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.inbound.polling import Outage
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_running import (
    ANN,
    TOKEN,
    Clock,
    Inbox,
    post,
    running,
    started,
)
from tests.stand_ins.telegram_wire import FaultKind


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def telegram(clock: Clock) -> AsyncIterator[TelegramServer]:
    async with TelegramServer(token=TOKEN, clock=clock) as server:
        server.person(ANN, "Ann")
        yield server
        assert server.violations == []


@pytest.fixture
async def adapter(telegram: TelegramServer) -> AsyncIterator[TelegramAdapter]:
    async with started(telegram) as adapter:
        yield adapter


def offsets(telegram: TelegramServer) -> list[int | None]:
    return [call.params.get("offset") for call in telegram.calls("getUpdates")]


async def test_start_says_who_the_bot_is_and_preparing_registers_commands(
    telegram: TelegramServer,
) -> None:
    commands = [CommandSpec("new", "A new conversation", "title")]
    adapter: Adapter = TelegramAdapter(TOKEN, base_url=telegram.base_url, commands=commands)
    assert adapter.name == "telegram"
    assert await adapter.start() == "@bough_bot"
    assert telegram.methods.menus == {}
    await adapter.prepare(adapter.feeds)
    await adapter.close()
    assert telegram.methods.menus["all_private_chats"] == [
        {"command": "new", "description": "A new conversation"}
    ]


async def test_start_removes_a_webhook_and_loses_no_update(telegram: TelegramServer) -> None:
    telegram.methods.webhook = "https://x.de/hook"
    telegram.say(ANN, ANN, "while it was set")
    inbox = Inbox()
    async with started(telegram) as adapter, running(adapter, inbox.receive):
        await telegram.wait_for(lambda: inbox.texts == ["while it was set"])


@pytest.mark.parametrize("token", ["1000:another-secret", "no-token-at-all"])
async def test_a_wrong_token_is_named_and_never_shown(
    telegram: TelegramServer, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = TelegramAdapter(token, base_url=telegram.base_url)
    with caplog.at_level(logging.DEBUG), pytest.raises(Misconfigured) as refused:
        await adapter.start()
    await adapter.close()
    assert "[telegram] token" in str(refused.value)
    assert token not in str(refused.value) + caplog.text
    assert refused.value.__suppress_context__


def test_an_empty_token_is_misconfigured() -> None:
    with pytest.raises(Misconfigured, match="token"):
        TelegramAdapter("")


@pytest.mark.parametrize("kind", ["500", "502", "429", "cut_before"])
async def test_start_says_when_telegram_is_not_there(
    telegram: TelegramServer, kind: FaultKind
) -> None:
    telegram.fail_next("getMe", kind=kind)
    adapter = TelegramAdapter(TOKEN, base_url=telegram.base_url)
    with pytest.raises(Unavailable):
        await adapter.start()
    assert await adapter.start() == "@bough_bot"
    await adapter.close()


async def test_start_says_when_nothing_listens() -> None:
    adapter = TelegramAdapter(TOKEN, base_url="http://127.0.0.1:1/bot")
    with pytest.raises(Unavailable) as away:
        await adapter.start()
    await adapter.close()
    assert TOKEN not in str(away.value)


# Receiving


async def test_messages_arrive_in_order(telegram: TelegramServer, adapter: TelegramAdapter) -> None:
    inbox = Inbox()
    async with running(adapter, inbox.receive):
        await adapter.wait_ready()
        for i in range(50):
            telegram.say(ANN, ANN, f"message {i}")
        await telegram.wait_for(lambda: len(inbox.rows) == 50)
    assert inbox.texts == [f"message {i}" for i in range(50)]
    assert telegram.calls("getUpdates")[0].params["allowed_updates"] == [
        "message",
        "edited_message",
        "callback_query",
    ]


async def test_an_edit_arrives_as_one_and_only_once(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    inbox = Inbox()
    async with running(adapter, inbox.receive):
        said = telegram.say(ANN, ANN, "helo")["message"]
        telegram.repeat(telegram.edit(said, "hello"))
        telegram.edit(said, "hello!")
        await telegram.wait_for(lambda: len(inbox.attempts) == 4)
    assert inbox.texts == ["helo", "hello", "hello!"]
    rows = [row for row in inbox.rows.values() if isinstance(row, Message)]
    assert [row.kind for row in rows] == ["message", "edit", "edit"]
    assert {row.message_id for row in rows} == {"1"}


async def test_what_came_while_the_bot_was_down_arrives(telegram: TelegramServer) -> None:
    telegram.say(ANN, ANN, "anybody there?")
    inbox = Inbox()
    async with started(telegram) as adapter, running(adapter, inbox.receive):
        await telegram.wait_for(lambda: inbox.texts == ["anybody there?"])


async def test_the_same_message_under_another_update_id_has_the_same_key(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    inbox = Inbox()
    async with running(adapter, inbox.receive):
        telegram.repeat(telegram.say(ANN, ANN, "once"))
        await telegram.wait_for(lambda: len(inbox.attempts) == 2)
    assert list(inbox.rows) == ["telegram:1001:1"]


async def test_nothing_is_confirmed_before_it_is_committed(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    first, second = telegram.say(ANN, ANN, "one"), telegram.say(ANN, ANN, "two")
    committing, inbox = asyncio.Event(), Inbox()

    async def hang_at_the_second(update: Update) -> None:
        await inbox.receive(update)
        if len(inbox.attempts) == 2:
            committing.set()
            await asyncio.Event().wait()

    async with running(adapter, hang_at_the_second):
        await committing.wait()
    assert offsets(telegram) == [None]
    assert telegram.world.pending == [first, second]

    again = Inbox()
    async with started(telegram) as restarted, running(restarted, again.receive):
        await telegram.wait_for(lambda: again.texts == ["one", "two"])
        await telegram.wait_for(lambda: not telegram.world.pending)
    assert offsets(telegram)[-1] == second["update_id"] + 1


async def test_an_update_that_cannot_be_committed_is_tried_again(
    telegram: TelegramServer, adapter: TelegramAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    inbox.broken = 2
    telegram.say(ANN, ANN, "precious")
    telegram.say(ANN, ANN, "next")
    with caplog.at_level(logging.INFO):
        async with running(adapter, inbox.receive):
            await telegram.wait_for(lambda: inbox.texts == ["precious", "next"])
    assert inbox.attempts == ["telegram:1001:1"] * 3 + ["telegram:1001:2"]
    assert caplog.text.count("updates cannot be committed") == 1
    assert "updates are committed again" in caplog.text


async def test_an_update_that_cannot_be_read_is_logged_and_stops_nothing(
    telegram: TelegramServer, adapter: TelegramAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    broken = telegram.world.publish("message", {"date": "tomorrow"})
    telegram.say(ANN, ANN, "after it")
    async with running(adapter, inbox.receive):
        await telegram.wait_for(lambda: inbox.texts == ["after it"])
    (told,) = [each for each in caplog.records if "cannot be read" in each.getMessage()]
    assert f"update {broken['update_id']} " in told.getMessage()
    assert told.exc_info is None and "\n" not in told.getMessage()
    odd = inbox.rows[f"telegram:unreadable:{broken['update_id']}"]
    assert isinstance(odd, Unreadable)
    assert odd.why
    telegram.violations.clear()  # the spec has something against that update, too


async def test_an_old_offset_is_forgotten_once_it_is_confirmed(telegram: TelegramServer) -> None:
    adapter = TelegramAdapter(TOKEN, base_url=telegram.base_url, poll_timeout=0)
    await adapter.start()
    async with running(adapter, Inbox().receive):
        update = telegram.say(ANN, ANN, "hello")
        await telegram.wait_for(lambda: offsets(telegram)[-3:] == [None, None, None])
        confirmed = update["update_id"] + 1
        await telegram.wait_for(lambda: confirmed in offsets(telegram))
        await telegram.wait_for(lambda: offsets(telegram)[-1] is None)
    await adapter.close()


@pytest.mark.parametrize("kind", ["500", "502", "429", "403", "cut_before", "cut_after"])
async def test_an_outage_is_waited_out_and_logged_once(
    telegram: TelegramServer,
    adapter: TelegramAdapter,
    kind: FaultKind,
    caplog: pytest.LogCaptureFixture,
) -> None:
    inbox = Inbox()
    telegram.fail_next("getUpdates", 2, kind, seconds=1)
    telegram.say(ANN, ANN, "hello")
    with caplog.at_level(logging.INFO):
        async with running(adapter, inbox.receive):
            await telegram.wait_for(lambda: inbox.texts == ["hello"])
    of_polling = (r for r in caplog.records if r.name == Outage.__module__)
    lines = [r.getMessage() for r in of_polling]
    assert len(lines) == 2
    assert lines[0].endswith("; trying on")
    assert lines[1] == "Telegram's updates arrive again, after 2 failures"


def test_waits_grow_to_half_a_minute_and_start_again() -> None:
    outage = Outage("over")
    assert [outage.delay() for _ in range(9)] == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30]
    outage.over()
    assert outage.delay() == 0.25


async def test_a_second_poller_is_named_and_both_go_on(
    telegram: TelegramServer, adapter: TelegramAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    async with running(adapter, inbox.receive), aiohttp.ClientSession() as other:
        await telegram.wait_for(lambda: len(telegram.calls("getUpdates")) >= 2)
        url = f"{telegram.base_url}{TOKEN}/getUpdates"
        async with other.post(url, data={"timeout": "1"}) as response:
            assert response.status == 409  # ended in its turn by the adapter's next try
        telegram.say(ANN, ANN, "still here")
        await telegram.wait_for(lambda: inbox.texts == ["still here"])
    assert caplog.text.count("another program, or a webhook, takes this bot's updates") == 1


@pytest.mark.parametrize("method", ["deleteWebhook", "getUpdates"])
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "400",
            r"Telegram does not let the bot start \(.*\): check \[telegram\] token",
        ),
        ("401", r"Telegram refused the token: check \[telegram\] token"),
        ("404", r"there is no Bot API at \[telegram\] base_url for this token: check both"),
    ],
)
async def test_what_waiting_does_not_mend_ends_the_run(
    telegram: TelegramServer, adapter: TelegramAdapter, method: str, kind: FaultKind, said: str
) -> None:
    telegram.fail_next(method, kind=kind)
    with pytest.raises(Misconfigured, match=said):
        await adapter.run(Inbox().receive, {})


async def test_after_a_run_that_failed_it_can_be_started_again(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    telegram.fail_next("getUpdates", kind="401")
    with pytest.raises(Misconfigured):
        await adapter.run(Inbox().receive, {})
    await adapter.close()
    with pytest.raises(Unavailable):
        await adapter.deliver(post())
    telegram.fail_next("getMe", kind="401")
    with pytest.raises(Misconfigured):
        await adapter.start()
    await adapter.start()
    inbox = Inbox()
    async with running(adapter, inbox.receive):
        telegram.say(ANN, ANN, "hello")
        await telegram.wait_for(lambda: inbox.texts == ["hello"])
        await adapter.deliver(post())


async def test_a_poll_that_was_cut_off_in_a_hurry_keeps_no_later_run_from_polling(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    """As where a process stood still for long: it gives polling up, and takes it up again."""
    inbox = Inbox()
    for steps in range(12):
        polls = len(telegram.calls("getUpdates"))
        run = asyncio.create_task(adapter.run(inbox.receive, {}))
        await telegram.wait_for(lambda polls=polls: len(telegram.calls("getUpdates")) > polls + 1)  # type: ignore[misc]
        run.cancel()
        for _ in range(steps):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait([run])
    telegram.say(ANN, ANN, "after it")
    async with running(adapter, inbox.receive):
        await telegram.wait_for(lambda: inbox.texts == ["after it"])


async def test_cancelling_ends_a_held_poll_and_leaves_nothing_behind(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    before = asyncio.all_tasks()
    run = asyncio.create_task(adapter.run(Inbox().receive, {}))
    await adapter.wait_ready()
    await telegram.wait_for(lambda: len(telegram.calls("getUpdates")) == 2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    ours = [t for t in asyncio.all_tasks() - before if "aiohttp" not in repr(t)]
    assert ours == []
    await adapter.close()
    await adapter.close()


async def test_no_log_line_and_no_error_has_the_token(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("httpx").setLevel(logging.DEBUG)
    texts: list[str] = []
    with caplog.at_level(logging.DEBUG):
        async with started(telegram) as adapter, running(adapter, Inbox().receive):
            logging.getLogger("httpx").setLevel(logging.DEBUG)
            echo = f"Bad Request: no /bot{TOKEN}/sendMessage here"
            telegram.fail_next("sendMessage", kind="400", description=echo)
            telegram.fail_next("getUpdates", kind="500", description=echo)
            for kind in ("502", "cut_before"):
                telegram.fail_next("sendMessage", kind=kind)
            for _ in range(3):
                with pytest.raises(AdapterError) as caught:
                    await adapter.deliver(post())
                texts.append(str(caught.value))
            telegram.say(ANN, ANN, "hello")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    assert "[token]" in caplog.text
    assert "a-secret-token" not in caplog.text + "".join(texts)
