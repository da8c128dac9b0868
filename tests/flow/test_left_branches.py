"""Branches that the conversation has left: decisions for them land there."""

from typing import Any

from storage.records.entries import Entry
from storage.store import Store, Transaction
from tests.flow.conftest import Gateway, gateway
from tests.flow.delegating import ASKING, asked, delegates, reports, tool_results

ASKS = delegates({"goal": "look", "branch_table": ASKING})
FINDS = reports("Gone", "match", "404")
ANSWER: dict[str, Any] = {
    "when": {"tier": "parent", "last": "(.*)"},
    "reply": {"text": "answer to {1}"},
}
RULES = [ASKS, FINDS, ANSWER]


async def _path(bot: Gateway, leaf: int | None = None) -> list[Entry]:
    def read(tx: Transaction) -> list[Entry]:
        return list(tx.tree.path(tx.tree.session(1).leaf if leaf is None else leaf))

    return await bot.app.store.read(read)


async def _back_to_the_beginning(bot: Gateway) -> int:
    """Leave the branch; its end."""
    await bot.settled()

    def work(tx: Transaction) -> int:
        leaf = tx.tree.session(1).leaf
        assert leaf is not None
        tx.tree.move_leaf(1, None, after=leaf, by="telegram:1", why="branch")
        return leaf

    return await bot.app.store.run(work)


async def test_a_decision_lands_on_the_branch_that_asked_and_moves_nobody(store: Store) -> None:
    async with gateway(RULES, store=store) as bot:
        await bot.chat.say("go")
        question = await asked(bot, "Lost?")
        await _back_to_the_beginning(bot)
        await bot.chat.say("something else")
        await bot.hears("answer to something else")
        await bot.settled()
        here = [entry.id for entry in await _path(bot)]

        await bot.chat.press(question, "It is there")
        answer = await bot.hears('answer to {"results"')
        await bot.settled()

        assert [entry.id for entry in await _path(bot)] == here
        request = bot.model.of("parent")[-1]
        assert "something else" not in str(request.messages)
        assert "completed" in tool_results(request)[-1]
        assert "Go there" in [button.label for button in answer.buttons]

        await bot.chat.say("more")
        await bot.hears("answer to more")
        assert "results" not in str(bot.model.requests[-1].messages)


async def test_stop_ends_what_waits_on_a_branch_that_was_left_there(store: Store) -> None:
    async with gateway(RULES, store=store) as bot:
        await bot.chat.say("go")
        await asked(bot, "Lost?")
        end = await _back_to_the_beginning(bot)
        await bot.chat.say("something else")
        await bot.hears("answer to something else")
        await bot.chat.say("/stop")
        await bot.hears("Stopped.")
        await bot.settled()
        assert "interrupted" not in str([entry.body for entry in await _path(bot)])
        below = await bot.app.store.read(lambda tx: tx.tree.child_entries(1, end))
        assert "interrupted" in str(below[-1].body)


async def test_a_button_leads_to_the_branch_that_was_decided(store: Store) -> None:
    async with gateway(RULES, store=store) as bot:
        await bot.chat.say("go")
        question = await asked(bot, "Lost?")
        await _back_to_the_beginning(bot)
        await bot.chat.press(question, "It is there")
        answer = await bot.hears('answer to {"results"')
        await bot.chat.press(answer, "Go there")
        await bot.settled()
        await bot.chat.say("more")
        await bot.hears("answer to more")
        assert "completed" in str(bot.model.requests[-1].messages)
