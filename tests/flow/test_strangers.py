"""Strangers, and presses that do nothing, by the hundred: little is kept, and nobody waits."""

import asyncio
import sqlite3
from functools import partial
from pathlib import Path

from adapters.events import Conversation, Unreadable
from adapters.recording import RecordingAdapter, Shown
from adapters.telegram.render import render
from gateway.commands.people.requests import MOST_NOTICES, MOST_REQUESTS, SHOWN, ask
from storage.records.entries import Json
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.flow.chatting import ECHO
from tests.flow.conftest import PATIENCE, Gateway, gateway
from tests.flow.discord_gateway import MALLORY, OLGA, discord_gateway
from tests.flow.on_telegram import handled
from tests.flow.telegram_gateway import (
    OWNER,
    STRANGER,
    TelegramGateway,
    delegate,
    report,
    says,
    telegram_gateway,
)
from tests.support.stores import Clock

CLOSED = {"access": {"owners": ["telegram:1"]}}
PLAIN = [says("parent", "you said: {last}")]
GONE = [
    delegate([{"condition": "gone", "branch": {"action": "escalate", "tier": "human"}}]),
    report(1, "match", "404"),
    says("parent", "result: {last}"),
]


def size(folder: Path) -> tuple[int, int]:
    """Rows in all tables together but for the search index and facts, which change by themselves,
    and bytes of the pages that hold something."""
    with sqlite3.connect(folder / "bough.db") as database:
        names = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        ).fetchall()
        rows = sum(
            database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for (name,) in names
            if not name.startswith(("search_", "sqlite_", "facts"))
        )
        pages, free, page = (
            database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    return rows, (pages - free) * page


async def audits(g: TelegramGateway, what: str) -> list[tuple[str, str, Json, float]]:
    return await g.read(lambda tx: tx.directory.audits(what))


async def test_three_hundred_junk_presses_leave_few_rows(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, PLAIN) as g:
        g.say("hello")
        shown = await g.hears("you said: hello")
        await handled(g)
        before, _ = size(tmp_path)
        for number in range(300):
            g.telegram.forge(shown, f"junk-{number}", STRANGER + number % 3)
        g.say("still there?")
        await g.hears("you said: still there?")
        await handled(g)
        assert len(await audits(g, "forged press")) == 20
        await g.stop()
        talk = 10
        assert size(tmp_path)[0] - before <= 60 + talk
        await g.start()
        [(_, _, details, _)] = await audits(g, "over the limit")
        assert (details["what"], details["ignored"], details["people"]) == ("presses", 280, 3)


async def test_junk_presses_of_somebody_known_leave_few_rows_and_are_answered(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, PLAIN) as g:
        g.say("hello")
        shown = await g.hears("you said: hello")
        await handled(g)
        before, _ = size(tmp_path)
        for number in range(60):
            g.telegram.forge(shown, f"junk-{number}", OWNER)
        assert (await g.told(60)).startswith("This button is not valid")
        await handled(g)
        assert size(tmp_path)[0] - before == 10


async def test_a_press_on_a_real_button_is_on_record_after_any_amount_of_junk(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, GONE) as g:
        g.say("go")
        question = await g.hears("gone")
        for number in range(100):
            g.telegram.forge(question, f"junk-{number}", STRANGER)
        for _ in range(30):
            g.press(question, "Stop", user=STRANGER)
        await handled(g)
        denied = await audits(g, "denied press")
        assert [who for _, who, _, _ in denied] == [f"telegram:{STRANGER}"] * 10
        assert g.telegram.labels(question)
        g.press(question, "Stop", user=OWNER)
        await g.hears("result: ")


async def test_somebody_known_may_still_decide_after_a_hundred_refusals(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, GONE) as g:
        g.say("go")
        question = await g.hears("gone")
        for number in range(100):
            g.telegram.forge(question, f"junk-{number}", OWNER)
        decided = g.press(question, "Stop", user=OWNER)
        await g.hears("result: ")
        await handled(g)
        rows, _ = size(tmp_path)
        for _ in range(40):
            g.telegram.forge(question, decided["callback_query"]["data"], OWNER)
        assert await g.told(141) == "Olga: Stop"
        await handled(g)
        assert len(await audits(g, "decision")) == 1
        assert size(tmp_path)[0] == rows


async def test_five_hundred_strangers_leave_little_and_nobody_known_waits_for_them(
    store: Store, tmp_path: Path
) -> None:
    strangers_may_be_answered = asyncio.Event()

    class Reluctant(RecordingAdapter):
        """Answers strangers only when it may."""

        async def deliver(self, outgoing: object) -> str | None:
            if getattr(outgoing, "conversation").chat != "1":  # noqa: B009
                await strangers_may_be_answered.wait()
            return await super().deliver(outgoing)  # type: ignore[arg-type]

        def render(self, markdown: str) -> list[Json]:
            return render(markdown)

    chat = Reluctant(name="telegram")
    async with gateway(ECHO, store=store, config=CLOSED, chat=chat) as g, asyncio.timeout(PATIENCE):
        rows, used = size(tmp_path)
        for number in range(500):
            await g.chat.say("/start", chat=str(1000 + number), user=str(1000 + number))
        assert size(tmp_path)[0] - rows <= 20 * 4 + MOST_NOTICES * (1 + 2 * SHOWN)
        assert size(tmp_path)[1] - used <= 150_000
        await g.chat.say("hello")
        await g.hears("so be it")
        assert all(shown.conversation.chat == "1" for shown in g.chat.shown.values())
        strangers_may_be_answered.set()
        await g.settled()
        assert len(told_strangers(g)) == 20


def told_strangers(g: Gateway) -> list[Shown]:
    return [shown for shown in g.chat.shown.values() if "I do not know you" in shown.text]


async def test_a_stranger_is_told_once_after_a_restart_too(database: str, store: Store) -> None:
    async with gateway(ECHO, store=store, config=CLOSED) as g:
        await g.chat.say("let me in", chat="9", user="9")
        await g.settled()
        assert len(told_strangers(g)) == 1
    again = await type(store).open(database)  # type: ignore[attr-defined]
    async with gateway(ECHO, store=again, config=CLOSED) as g:
        for _ in range(5):
            await g.chat.say("let me in", chat="9", user="9")
        await g.settled()
        assert told_strangers(g) == []


async def test_a_strangers_flood_of_slash_commands_is_answered_a_few_times(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, PLAIN) as g:
        rows, _ = size(tmp_path)
        for _ in range(40):
            g.slash("questions", MALLORY, g.discord.general)
        asked = g.slash("questions", OLGA)
        assert (await g.answer(asked))["content"].startswith("No question")
        await g.settled()
        assert size(tmp_path)[0] - rows <= 10
        refused = [text for text in g.said(g.discord.general) if "I do not know you" in text]
        assert len(refused) == 3


async def test_odd_events_of_a_busy_server_leave_few_rows(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        for number in range(300):
            place = Conversation("telegram", str(number % 3 + 50))
            odd = Unreadable(f"telegram:unreadable:{number}", place, str(number), "odd")
            await g.app.router.receive(odd)
        await g.chat.say("still there?")
        await g.hears("so be it")
        assert len(await store.read(lambda tx: tx.directory.audits("unreadable"))) == 100
        await g.app.router.note_ignored(now=True)
        [(_, _, details, _)] = await store.read(lambda tx: tx.directory.audits("over the limit"))
        assert (details["ignored"], details["people"]) == (200, 3)


async def test_ten_thousand_strangers_over_days_leave_as_many_requests_as_are_kept(
    database: str,
) -> None:
    clock = Clock()
    store = await SqlStore.open(database, clock)
    async with gateway(ECHO, store=store, config=CLOSED) as g:
        access, composer = g.app.router.access, g.app.router.context.composer

        def ask_all(tx: Transaction, first: int) -> None:
            for number in range(first, first + 500):
                assert ask(tx, access, composer, f"telegram:{10_000 + number}", f"N{number}")

        for first in range(0, 10_000, 500):
            clock.now += 600.0
            await store.run(partial(ask_all, first=first))
            await g.app.upkeep.housekeeping.end_rights()
            await g.app.upkeep.housekeeping.reread()
        await g.settled()
        kept = await store.read(lambda tx: tx.pairing.all())
        assert len(kept) == MOST_REQUESTS
        hours = 20 * 600 // 3_600 + 1
        one_by_one = [text for text in g.chat.texts("1") if "asks to be let in" in text]
        summed_up = [text for text in g.chat.texts("1") if "more people asked" in text]
        assert len(one_by_one) <= MOST_NOTICES * hours
        assert 1 <= len(summed_up) <= hours
