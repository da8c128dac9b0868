"""Telegram brings updates to the adapter, and hears 200 of what is committed alone."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from adapters.base import Misconfigured, Stopping
from adapters.events import Unreadable, Update
from adapters.telegram.inbound import webhook as webhooks
from adapters.telegram.inbound.webhook import MOST_RETURNS, secret_of
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_hooked import BOB, hooked, message
from tests.stand_ins.telegram_running import ANN, TOKEN, Inbox, running, started
from tests.stand_ins.telegram_webhook import SECRET
from tests.support.ports import free_port


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(token=TOKEN) as server:
        yield server
        assert server.violations == []


async def test_messages_of_a_chat_arrive_in_order_and_each_is_confirmed_once(
    telegram: TelegramServer,
) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive) as bot:
        for number in range(30):
            telegram.say(ANN, ANN, f"ann {number}")
            telegram.say(BOB, BOB, f"bob {number}")
        await telegram.wait_for(lambda: not telegram.world.pending)
        for who in ("ann", "bob"):
            said = [text for text in inbox.texts if text.startswith(who)]
            assert said == [f"{who} {number}" for number in range(30)]
        assert len(inbox.attempts) == 60
        (call,) = telegram.calls("setWebhook")
        assert call.params["url"] == bot.url
        assert call.params["allowed_updates"] == ["message", "edited_message", "callback_query"]
        assert call.params.get("drop_pending_updates") in (None, False)
    assert telegram.calls("getUpdates", "deleteWebhook") == []


async def test_what_came_while_the_bot_was_down_is_brought_after_the_start(
    telegram: TelegramServer,
) -> None:
    port, inbox = free_port(), Inbox()
    async with hooked(telegram, inbox.receive, port):
        telegram.say(ANN, ANN, "one")
        await telegram.wait_for(lambda: not telegram.world.pending)
    telegram.say(ANN, ANN, "two")
    await telegram.wait_for(lambda: 0 in telegram.methods.deliveries.statuses)
    async with hooked(telegram, inbox.receive, port):
        await telegram.wait_for(lambda: not telegram.world.pending)
    assert inbox.texts == ["one", "two"]


async def test_what_is_not_committed_is_brought_again_and_said_once_in_the_log(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    inbox.broken = 2
    with caplog.at_level(logging.INFO):
        async with hooked(telegram, inbox.receive):
            telegram.say(ANN, ANN, "precious")
            telegram.say(ANN, ANN, "next")
            await telegram.wait_for(lambda: inbox.texts == ["precious", "next"])
            await telegram.wait_for(lambda: not telegram.world.pending)
    assert telegram.methods.deliveries.statuses == [503, 503, 200, 200]
    assert caplog.text.count("updates cannot be committed") == 1
    assert "updates are committed again" in caplog.text


async def test_an_update_that_is_brought_again_meanwhile_is_taken_in_once(
    telegram: TelegramServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "PATIENCE", 0.05)
    attempts, store_is_back = [], asyncio.Event()

    async def receive(update: Update) -> None:
        attempts.append(update.key)
        await store_is_back.wait()

    async with hooked(telegram, receive):
        telegram.say(ANN, ANN, "hello")
        statuses = telegram.methods.deliveries.statuses
        await telegram.wait_for(lambda: len(statuses) >= 3)
        assert set(statuses) == {503}
        store_is_back.set()
        await telegram.wait_for(lambda: not telegram.world.pending)
    assert statuses[-1] == 200
    assert attempts[0] == "telegram:1001:1"
    # Telegram may have come once more after it was committed: that one its key stops.
    assert len(attempts) <= 2


async def test_an_update_that_cannot_be_read_stops_nothing_and_does_not_come_again(
    telegram: TelegramServer,
) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive):
        broken = telegram.world.publish("message", {"date": "tomorrow", "chat": {"id": ANN}})
        telegram.say(ANN, ANN, "after it")
        await telegram.wait_for(lambda: not telegram.world.pending)
    assert inbox.texts == ["after it"]
    odd = inbox.rows[f"telegram:unreadable:{broken['update_id']}"]
    assert isinstance(odd, Unreadable)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {SECRET: ""},
        {SECRET: "wrong"},
        {SECRET: secret_of(TOKEN)[:-1]},
        {SECRET: secret_of(TOKEN) + " x"},
        {SECRET: secret_of("1000:another-token")},
        {SECRET: "s\xe9cret"},
        {"X-Forwarded-For": "149.154.167.220", "Host": "api.telegram.org"},
    ],
)
async def test_without_the_secret_nothing_is_taken_in(
    telegram: TelegramServer, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive) as bot:
        assert await bot.post(message(7, "let me in"), **headers) == 401
        assert bot.listener.server.refused == 1
    assert inbox.attempts == []
    assert "let me in" not in caplog.text


async def test_the_secret_given_twice_is_no_secret(telegram: TelegramServer) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive) as bot, aiohttp.ClientSession() as session:
        plain = ("Content-Type", "application/json")
        twice = [(SECRET, "wrong"), (SECRET, secret_of(TOKEN)), plain]
        async with session.post(bot.url, data=message(1), headers=twice) as response:
            assert response.status == 401
    assert inbox.attempts == []


async def test_a_request_that_is_sent_once_more_changes_nothing(telegram: TelegramServer) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive) as bot:
        secret = {SECRET: secret_of(TOKEN)}
        assert [await bot.post(message(7), **secret) for _ in range(3)] == [200] * 3
    assert list(inbox.rows) == ["telegram:1001:7"]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", {}, 400),
        (b"not json", {}, 400),
        (b"\xff\xfe", {}, 400),
        (b"[]", {}, 400),
        (b'{"update_id": true}', {}, 400),
        (b'{"update_id": "7"}', {}, 400),
        (b'{"update_id": -1}', {}, 400),
        (b'{"update_id": 99999999999999999999999}', {}, 400),
        (b'{"update_id": ' + b"9" * 5000 + b"}", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"x" * 10_000_000, {}, 413),
        (b'{"update_id": 1}', {"Content-Type": "text/plain"}, 415),
        (b'{"update_id": 1}', {"Content-Encoding": "deflate"}, 415),
        (b'{"update_id": 1}', {}, 200),
    ],
)
async def test_what_is_no_update_is_refused_with_the_secret_too(
    telegram: TelegramServer, body: bytes, headers: dict[str, str], status: int
) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive) as bot:
        try:
            answered = await bot.post(body, **{SECRET: secret_of(TOKEN)} | headers)
        except (aiohttp.ClientError, ConnectionError):
            assert status == 413, "only what is too large may be cut off while it is being sent"
        else:
            assert answered == status
        telegram.say(ANN, ANN, "still there?")
        await telegram.wait_for(lambda: inbox.texts == ["still there?"])


async def test_ten_megabytes_in_pieces_without_the_secret_are_not_read(
    telegram: TelegramServer,
) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive) as bot:
        reader, writer = await asyncio.open_connection("127.0.0.1", bot.port)
        head = "POST /hook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
        writer.close()


@pytest.mark.parametrize("path", ["/", "/hook/", "/hook/x", "/metrics", "/../hook"])
async def test_there_is_one_address_and_one_method(telegram: TelegramServer, path: str) -> None:
    async with hooked(telegram, Inbox().receive) as bot, aiohttp.ClientSession() as session:
        base = f"http://127.0.0.1:{bot.port}"
        secret = {SECRET: secret_of(TOKEN)}
        for method, url in (("GET", f"{base}/hook"), ("POST", f"{base}{path}")):
            if url == f"{base}/../hook":
                continue  # the client itself makes /hook of it
            async with session.request(method, url, headers=secret) as response:
                assert (response.status, await response.read()) == (404, b"")


async def test_a_thousand_bad_requests_at_once_keep_nobody_waiting_and_fill_no_log(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive) as bot, aiohttp.ClientSession() as session:

        async def bad() -> int:
            try:
                async with session.post(bot.url, data=b"x" * 1000, headers={SECRET: "no"}) as one:
                    return one.status
            except (aiohttp.ClientError, ConnectionError):
                return 0

        attack = [asyncio.create_task(bad()) for _ in range(1000)]
        for number in range(10):
            telegram.say(ANN, ANN, f"known {number}")
        await telegram.wait_for(lambda: not telegram.world.pending)
        answered = await asyncio.gather(*attack)
        assert set(answered) <= {0, 401}
        refused = answered.count(401)
        assert bot.listener.server.refused == refused > 0
        assert inbox.texts == [f"known {number}" for number in range(10)]
        assert caplog.text == ""
        await bot.listener.look()
    assert caplog.text.count("\n") == 1
    assert f"{refused} requests without the right secret were refused" in caplog.text


async def test_a_place_that_is_taken_is_named_with_its_key(telegram: TelegramServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(Misconfigured, match=r"change \[telegram\] listen"):
            async with hooked(telegram, Inbox().receive, taken.getsockname()[1]):
                pass
    assert telegram.calls("setWebhook") == []


async def test_a_url_that_telegram_refuses_is_named_with_its_key(telegram: TelegramServer) -> None:
    why = "Bad Request: bad webhook: IP address 10.0.0.1 is reserved"
    telegram.fail_next("setWebhook", kind="400", description=why)
    with pytest.raises(Misconfigured, match=r"\[telegram\] webhook_url: .*is reserved"):
        async with hooked(telegram, Inbox().receive):
            pass


async def test_an_outage_of_telegram_is_waited_out(telegram: TelegramServer) -> None:
    telegram.fail_next("setWebhook", times=2, kind="502")
    inbox = Inbox()
    telegram.say(ANN, ANN, "hello")
    async with hooked(telegram, inbox.receive):
        await telegram.wait_for(lambda: inbox.texts == ["hello"])


async def test_switching_there_and_back_loses_nothing(telegram: TelegramServer) -> None:
    inbox = Inbox()
    async with started(telegram) as polling, running(polling, inbox.receive):
        telegram.say(ANN, ANN, "polled")
        await telegram.wait_for(lambda: not telegram.world.pending)
    telegram.say(ANN, ANN, "between")
    async with hooked(telegram, inbox.receive):
        telegram.say(ANN, ANN, "brought")
        await telegram.wait_for(lambda: not telegram.world.pending)
    telegram.say(ANN, ANN, "between again")
    async with started(telegram) as polling, running(polling, inbox.receive):
        telegram.say(ANN, ANN, "polled again")
        await telegram.wait_for(lambda: not telegram.world.pending)
    assert inbox.texts == ["polled", "between", "brought", "between again", "polled again"]
    assert telegram.methods.webhook == ""


async def test_a_webhook_that_another_program_takes_away_is_set_again_so_many_times(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive) as bot:
        async with started(telegram) as polling, running(polling, inbox.receive):
            await polling.wait_ready()
            assert telegram.methods.webhook == ""
            await bot.listener.look()
            assert telegram.methods.webhook == bot.url
            await telegram.wait_for(lambda: "takes this bot's updates" in caplog.text)
        telegram.say(ANN, ANN, "hello")
        await telegram.wait_for(lambda: inbox.texts == ["hello"])
        for _ in range(MOST_RETURNS + 3):
            telegram.methods.webhook = "https://elsewhere.example/hook"
            await bot.listener.look()
        assert telegram.methods.webhook == "https://elsewhere.example/hook"
    assert len(telegram.calls("setWebhook")) == 1 + MOST_RETURNS
    assert caplog.text.count("takes it away again and again") == 1


async def test_what_telegram_could_not_bring_is_in_the_log_once(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()
    inbox.broken = 1
    async with hooked(telegram, inbox.receive) as bot:
        telegram.say(ANN, ANN, "hello")
        await telegram.wait_for(lambda: not telegram.world.pending)
        await bot.listener.look()
        await bot.listener.look()
    assert caplog.text.count("Telegram could not bring updates (Wrong response") == 1


async def test_the_secret_is_in_no_log(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with hooked(telegram, Inbox().receive) as bot:
            await bot.post(message(1), **{SECRET: secret_of(TOKEN)})
    assert secret_of(TOKEN) not in caplog.text
    assert secret_of(TOKEN) == secret_of(TOKEN) != secret_of(TOKEN + "x")


async def test_what_was_being_taken_in_when_it_ended_is_taken_in_by_the_next_run(
    telegram: TelegramServer,
) -> None:
    inbox, taking = Inbox(), asyncio.Event()

    async def receive(update: Update) -> None:
        taking.set()
        await asyncio.Event().wait()

    async with hooked(telegram, receive) as bot:
        for number in range(3):
            telegram.say(BOB + number, BOB + number, f"hello {number}")
        await taking.wait()
        await telegram.wait_for(lambda: len(bot.listener._waiting) == 3)
        adapter = bot.adapter
    await adapter.start()
    try:
        async with running(adapter, inbox.receive):
            await telegram.wait_for(lambda: len(inbox.texts) == 3)
            await telegram.wait_for(lambda: not telegram.world.pending)
    finally:
        await adapter.close()
    assert sorted(inbox.texts) == ["hello 0", "hello 1", "hello 2"]


@pytest.mark.parametrize("path", ["/h%C3%B6ok", "/a%20b", "/ab%2Fc", "", "/hook?key=1"])
async def test_an_address_may_have_any_path(telegram: TelegramServer, path: str) -> None:
    inbox = Inbox()
    async with hooked(telegram, inbox.receive, path=path):
        telegram.say(ANN, ANN, "hello")
        await telegram.wait_for(lambda: inbox.texts)


async def test_what_a_bot_that_stops_does_not_take_is_brought_to_the_next_one(
    telegram: TelegramServer,
) -> None:
    async def receive(update: Update) -> None:
        raise Stopping("the bot is being stopped")

    async with hooked(telegram, receive) as bot:
        secret = {"X-Telegram-Bot-Api-Secret-Token": secret_of(TOKEN)}
        assert await bot.post(message(1), **secret) == 503
