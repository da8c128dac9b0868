import asyncio
from typing import Any

from adapters.recording import Shown
from agent.models.base import ModelError, ModelErrorKind, Reply, Request
from storage.records.entries import Entry, Kind
from storage.store import Store, Transaction
from tests.flow.conftest import PATIENCE, Gateway, SpyModel, gateway

SUMMARY: dict[str, Any] = {
    "when": {"system": "^You condense a branch"},
    "reply": {"text": "SUMMARY of it"},
}
ANSWER: dict[str, Any] = {"when": {"last": "(.*)"}, "reply": {"text": "answer to {1}"}}
RULES = [SUMMARY, ANSWER]
OFFER = "Bring a summary along"


def _always(value: str) -> dict[str, Any]:
    return {"session": {"branch_summaries": value}}


class NoSummaries(SpyModel):
    async def complete(self, request: Request) -> Reply:
        if str(request.messages[0]["content"]).startswith("You condense"):
            raise ModelError(ModelErrorKind.BAD_REQUEST, "no summaries here")
        return await super().complete(request)


async def _talk(bot: Gateway) -> None:
    """Four entries, #1 to #4."""
    for text in ("one", "two"):
        await bot.chat.say(text)
        await bot.hears(f"answer to {text}")


async def _path(bot: Gateway) -> list[Entry]:
    await bot.settled()

    def read(tx: Transaction) -> list[Entry]:
        return list(tx.tree.path(tx.tree.session(1).leaf))

    return await bot.app.store.read(read)


async def test_a_summary_of_what_is_left_is_offered_and_lands_where_one_arrives(
    store: Store,
) -> None:
    async with gateway(RULES, store=store) as bot:
        await _talk(bot)
        await bot.chat.say("/branch 3")
        moved = await bot.hears("What you left is kept")
        assert [entry.number for entry in await _path(bot)] == [1, 2]
        await bot.chat.press(moved, OFFER)
        await bot.hears("stands at #5")
        path = await _path(bot)
        assert [entry.kind for entry in path][-1] is Kind.BRANCH_SUMMARY
        assert path[-1].body["from"] == 4
        assert "answer to two" in str(bot.model.requests[-1].messages)
        assert "answer to one" not in str(bot.model.requests[-1].messages)
        await bot.chat.say("three")
        await bot.hears("answer to three")
        assert "SUMMARY of it" in str(bot.model.requests[-1].messages)


async def test_a_person_says_what_the_summary_is_to_look_at(store: Store) -> None:
    async with gateway(RULES, store=store) as bot:
        await bot.chat.say("/summary")
        await bot.hears("Nothing was said here yet")
        await _talk(bot)
        await bot.chat.say("/summary")
        await bot.hears("No branch was left")
        await bot.chat.say("/branch 3")
        await bot.hears("What you left is kept")
        await bot.chat.say("/summary mind the numbers")
        await bot.hears("stands at #5")
        assert "mind the numbers" in str(bot.model.requests[-1].messages)


async def test_with_auto_the_summary_is_written_and_then_the_branch_is_left(store: Store) -> None:
    async with gateway(RULES, store=store, config=_always("auto")) as bot:
        await _talk(bot)
        await bot.chat.say("/branch 3")
        moved = await bot.hears("What you left is kept")
        assert OFFER not in [button.label for button in moved.buttons]
        path = await _path(bot)
        assert [entry.kind for entry in path][-1] is Kind.BRANCH_SUMMARY
        assert [entry.number for entry in path] == [1, 2, 5]


async def test_with_auto_a_summary_that_fails_moves_nothing(store: Store) -> None:
    model = NoSummaries([ANSWER])
    async with gateway(store=store, config=_always("auto"), model=model) as bot:
        await _talk(bot)
        before = await _path(bot)
        await bot.chat.say("/branch 3")
        await bot.hears("you are where you were")
        assert await _path(bot) == before


async def test_a_summary_that_fails_after_the_move_changes_nothing(store: Store) -> None:
    async with gateway(store=store, model=NoSummaries([ANSWER])) as bot:
        await _talk(bot)
        await bot.chat.say("/branch 3")
        moved = await bot.hears("What you left is kept")
        before = await _path(bot)
        await bot.chat.press(moved, OFFER)
        await bot.hears("The summary failed")
        assert await _path(bot) == before


async def _summary_begun(bot: Gateway) -> None:
    async with asyncio.timeout(PATIENCE):
        while not str(bot.model.requests[-1].messages[0]["content"]).startswith("You condense"):
            await asyncio.sleep(0.01)


SLOW = [SUMMARY | {"reply": {"text": "SUMMARY of it", "delay": 60}}, ANSWER]


async def test_stop_ends_a_summary_and_changes_nothing(store: Store) -> None:
    async with gateway(SLOW, store=store) as bot:
        await _talk(bot)
        await bot.chat.say("/branch 3")
        moved = await bot.hears("What you left is kept")
        before = await _path(bot)
        await bot.chat.press(moved, OFFER)
        await _summary_begun(bot)
        await bot.chat.say("/stop")
        await bot.hears("Stopped.")
        assert await _path(bot) == before


async def test_with_auto_stop_ends_the_summary_and_nothing_is_left(store: Store) -> None:
    async with gateway(SLOW, store=store, config=_always("auto")) as bot:
        await _talk(bot)
        before = await _path(bot)
        await bot.chat.say("/branch 3")
        await _summary_begun(bot)
        await bot.chat.say("/stop")
        await bot.hears("Stopped.")
        assert await _path(bot) == before


async def test_off_offers_nothing(store: Store) -> None:
    async with gateway(RULES, store=store, config=_always("off")) as bot:
        await _talk(bot)
        await bot.chat.say("/branch 3")
        moved = await bot.hears("What you left is kept")
        assert OFFER not in [button.label for button in moved.buttons]


async def test_no_more_branches_begin_at_a_place_than_allowed(store: Store) -> None:
    config = {"session": {"max_children": 2, "branch_summaries": "off"}}
    async with gateway(RULES, store=store, config=config) as bot:
        for text in ("one", "two"):
            await bot.chat.say(text)
            await bot.hears(f"answer to {text}")
            await bot.chat.say("/branch 1")
            await bot.settled()
        await bot.hears("which is the limit")


async def test_with_auto_undo_writes_a_summary_and_redo_goes_back(store: Store) -> None:
    async with gateway(RULES, store=store, config=_always("auto")) as bot:
        await _talk(bot)
        await bot.chat.say("/undo")
        moved = await bot.hears("What you left is kept")
        assert "two" in moved.text
        path = await _path(bot)
        assert [(entry.number, entry.kind) for entry in path][2:] == [(5, Kind.BRANCH_SUMMARY)]
        assert path[-1].body["from"] == 4
        await bot.chat.say("/redo")
        await bot.hears("You are after #4")
        assert [entry.number for entry in await _path(bot)] == [1, 2, 3, 4]


async def test_undo_offers_a_summary_and_summary_knows_what_it_left(store: Store) -> None:
    async with gateway(RULES, store=store) as bot:
        await _talk(bot)
        await bot.chat.say("/undo")
        moved = await bot.hears("What you left is kept")
        assert OFFER in [button.label for button in moved.buttons]
        await bot.chat.say("/summary")
        await bot.hears("stands at #5")
        assert (await _path(bot))[-1].body["from"] == 4


async def _two_answers(bot: Gateway) -> Shown:
    """#2 and #3 answer #1; the newest is shown with arrows."""
    await bot.chat.say("one")
    await bot.hears("answer to one")
    await bot.chat.say("/retry")
    answer = await bot.hears("answer to one", count=2)
    await bot.settled()
    assert [button.label for button in answer.buttons] == ["◀", "2/2", "▶"]
    await bot.chat.say("two")
    await bot.hears("answer to two")
    return answer


async def test_an_arrow_offers_a_summary_and_summary_knows_what_it_left(store: Store) -> None:
    async with gateway(RULES, store=store) as bot:
        answer = await _two_answers(bot)
        await bot.chat.press(answer, "◀")
        await bot.settled()
        assert [button.label for button in answer.buttons] == ["◀", "1/2", "▶", OFFER]
        assert [entry.number for entry in await _path(bot)] == [1, 2]
        await bot.chat.press(answer, OFFER)
        await bot.hears("stands at #6")
        assert answer.text == "answer to one"
        path = await _path(bot)
        assert (path[-1].kind, path[-1].body["from"]) == (Kind.BRANCH_SUMMARY, 5)
        assert "answer to two" in str(bot.model.requests[-1].messages)


async def test_summary_after_an_arrow(store: Store) -> None:
    async with gateway(RULES, store=store) as bot:
        answer = await _two_answers(bot)
        await bot.chat.press(answer, "◀")
        await bot.settled()
        await bot.chat.say("/summary")
        await bot.hears("stands at #6")
        assert (await _path(bot))[-1].body["from"] == 5


async def test_with_auto_an_arrow_writes_a_summary_and_then_shows_what_stands_there(
    store: Store,
) -> None:
    async with gateway(RULES, store=store, config=_always("auto")) as bot:
        answer = await _two_answers(bot)
        await bot.chat.press(answer, "◀")
        await bot.hears("Summarising the branch you leave")
        shown = await bot.hears("answer to one", count=3)
        assert [entry.number for entry in await _path(bot)] == [1, 2, 6]
        assert [button.label for button in shown.buttons] == ["◀", "1/2", "▶"]
        assert answer.text == "answer to one"
        read = bot.app.store.read
        linked = await read(lambda tx: tx.outbox.linked_entry("telegram:1", shown.id))
        assert linked == (await _path(bot))[1].id
