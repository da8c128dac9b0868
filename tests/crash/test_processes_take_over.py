"""Several processes on one PostgreSQL: one polls, each sends to a part of the chats, and whoever
ends, or stands still, is taken over from without a message lost, doubled or out of order."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from storage.records.inbox_outbox import OutboxDraft
from storage.sql.store import SqlStore
from tests.crash.patience import SECONDS, until
from tests.crash.scene import ANN, Clock, Telegram
from tests.stand_ins.telegram_checks import Json
from tests.support.gateway_process import GatewayProcess, write_config, write_rules

pytestmark = pytest.mark.crash

CHATS = range(2001, 2013)


class Processes:
    def __init__(self, telegram: Telegram, url: str, running: list[GatewayProcess]) -> None:
        self.telegram = telegram
        self.url = url
        self.running = running

    def holders(self, prefix: str) -> dict[str, str]:
        """Who has what surely enough for the database."""
        now = "extract(epoch FROM clock_timestamp())"
        query = f"SELECT name, owner FROM leases WHERE until > {now} AND name LIKE '{prefix}%'"
        with psycopg.connect(self.url, autocommit=True) as connection:
            return dict(connection.execute(query.encode()).fetchall())

    def unsent(self) -> int:
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute("SELECT count(*) FROM outbox WHERE state = 'pending'")
            return int((found.fetchone() or (0,))[0])

    def divided(self) -> bool:
        """Every chat is sent to by one of them, and each sends to some."""
        buckets = self.holders("deliver:")
        return len(buckets) == 32 and len(set(buckets.values())) == len(
            [one for one in self.running if one.running]
        )

    def poller(self) -> GatewayProcess:
        """The process that polls, as its log says."""
        return next(
            one
            for one in self.running
            if one.running and not any("Standing by: telegram" in line for line in one.log)
        )

    def sent(self, chat: int) -> list[str]:
        calls = self.telegram.calls("sendMessage")
        return [call.params["text"] for call in calls if call.params["chat_id"] == chat]

    def conflicts(self) -> list[str]:
        """What processes were told that polled while another did. A request that nobody waits for
        any more is not among them: Telegram may hold it for a while."""
        told = "takes this bot's updates"
        return [line for one in self.running for line in one.log if told in line]


@asynccontextmanager
async def processes(folder: Path, url: str, count: int) -> AsyncIterator[Processes]:
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(Telegram(Clock()))
        telegram.person(ANN, "Ann")
        for chat in CHATS:
            telegram.person(chat, f"Person {chat}")
        rules = [{"when": {}, "reply": {"text": "an answer"}}]
        config = write_config(
            folder,
            telegram={
                "token": telegram.token,
                "base_url": telegram.base_url,
                "base_file_url": telegram.base_file_url,
                "paced": False,
            },
            models={"parent": {"model": write_rules(folder, rules)}},
            access={"owners": [f"telegram:{ANN}"]},
            storage={"url": url},
        )
        running = [GatewayProcess(config, forked=True) for _ in range(count)]
        for one in running:
            await stack.enter_async_context(one)
        given = Processes(telegram, url, running)
        await until(given.divided)
        yield given


def said(chat: int, number: int) -> Json:
    body = {"text": f"{number}"}
    return {"body": body, "buttons": [], "nonce": f"{chat}-{number}", "reply_to": "", "handle": ""}


async def put(url: str, first: int, last: int) -> None:
    """Messages with these numbers, to each chat."""
    store = await SqlStore.open(url)
    try:
        for number in range(first, last):
            await store.run(
                lambda tx, number=number: [  # type: ignore[misc]
                    tx.outbox.enqueue(OutboxDraft(f"telegram:{chat}", "post", said(chat, number)))
                    for chat in CHATS
                ]
            )
    finally:
        await store.close()


def in_order(texts: list[str], count: int, *, doubled: int = 0) -> None:
    """All of them in order; at most so many were sent twice, one after the other."""
    once = [text for at, text in enumerate(texts) if at == 0 or texts[at - 1] != text]
    assert once == [str(number) for number in range(count)]
    assert len(texts) - len(once) <= doubled


@pytest.mark.parametrize("count", [2, 3])
async def test_processes_share_the_chats_and_an_orderly_end_doubles_nothing(
    tmp_path: Path, postgres_url: str, count: int
) -> None:
    async with processes(tmp_path, postgres_url, count) as p:
        await put(postgres_url, 0, 10)
        p.running[0].terminate()
        putting = asyncio.create_task(put(postgres_url, 10, 20))
        assert await p.running[0].wait() == 0
        await putting
        await until(lambda: not p.unsent())
        for chat in CHATS:
            in_order(p.sent(chat), 20)
        assert p.conflicts() == []


async def test_who_stands_by_polls_when_the_poller_is_killed(
    tmp_path: Path, postgres_url: str
) -> None:
    async with processes(tmp_path, postgres_url, 2) as p:
        poller = p.poller()
        (standby,) = [one for one in p.running if one is not poller]
        assert any("Standing by: telegram is polled" in line for line in standby.log)
        p.telegram.say(ANN, ANN, "/help")
        await p.telegram.wait_for(lambda: p.telegram.messages(ANN), SECONDS)
        await put(postgres_url, 0, 3)
        await poller.kill()
        await put(postgres_url, 3, 6)
        p.telegram.say(ANN, ANN, "/help")
        await p.telegram.wait_for(lambda: len(p.telegram.messages(ANN)) >= 2, SECONDS)
        await until(lambda: not p.unsent())
        for chat in CHATS:
            in_order(p.sent(chat), 6, doubled=1)
        assert p.conflicts() == []


async def test_a_process_that_stood_still_sends_nothing_late(
    tmp_path: Path, postgres_url: str
) -> None:
    async with processes(tmp_path, postgres_url, 2) as p:
        stopped = p.running[0]
        owner = set(p.holders("process:").values())
        stopped._signal(signal.SIGSTOP)
        await put(postgres_url, 0, 6)
        await until(lambda: len(set(p.holders("deliver:").values())) == 1)
        await until(lambda: not p.unsent())
        sent = {chat: p.sent(chat) for chat in CHATS}
        stopped._signal(signal.SIGCONT)
        await until(lambda: set(p.holders("process:").values()) == owner)
        await put(postgres_url, 6, 8)
        await until(lambda: not p.unsent())
        await until(p.divided)
        for chat in CHATS:
            in_order(p.sent(chat), 8)
            assert p.sent(chat)[:6] == sent[chat]


async def test_a_file_that_all_of_them_refuse_is_told_once(
    tmp_path: Path, postgres_url: str
) -> None:
    async with processes(tmp_path, postgres_url, 3) as p:
        config = p.running[0].config
        right = config.read_text(encoding="utf-8")
        config.write_text("", encoding="utf-8")
        for one in p.running * 3:
            one.hang_up()
        refused = "The configuration was not taken over"
        await until(
            lambda: all(any(refused in line for line in one.log) for one in p.running),
        )
        await until(lambda: not p.unsent())
        assert len([text for text in p.sent(ANN) if refused in text]) == 1
        config.write_text(right, encoding="utf-8")
        for one in p.running:
            one.hang_up()
        await until(
            lambda: all(any("read anew: nothing" in line for line in one.log) for one in p.running)
        )
