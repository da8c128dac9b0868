"""A model that makes one call again and again, though it fails in the same way each time."""

from pathlib import Path
from typing import Any

from agent.runtime.next_step import REPEATS
from storage.records.entries import Json
from storage.records.record_entries import Failed, held_in
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.delegating import ANSWER, ask_one, calls, delegates, says
from tests.flow.on_telegram import refused
from tests.flow.telegram_gateway import OWNER, telegram_gateway
from tests.flow.test_streaming import written
from tests.flow.walking import path

BESIDE = "Let me look that up for you in the right place, at once."
USELESS: Json = {
    "text": BESIDE,
    "tool_calls": [{"name": "no_such_tool", "arguments": {"query": "x"}}],
}


def errors(messages: Any) -> list[str]:
    return [m["content"] for m in messages if m["role"] == "tool"]


async def test_the_model_is_told_once_and_then_the_turn_ends_with_what_happened(
    store: Store,
) -> None:
    async with gateway([{"reply": USELESS}], store=store) as g:
        await g.chat.say("look it up")
        await g.hears("4 times in the same way")
        assert g.chat.texts()[0] == BESIDE and len(g.chat.texts()) == 2
        assert "there is no tool named" in g.chat.texts()[1].replace("\\", "")
        assert len(g.model.requests) == 4
        told = errors(g.model.requests[-1].messages)
        assert [text.endswith(REPEATS) for text in told] == [False, False, True]
        assert any(held_in(entry, Failed) for entry in await path(store))
        # The next thing a person says begins the count anew.
        await g.chat.say("again, please")
        await g.hears("4 times in the same way", count=2)
        assert len(g.model.requests) == 8


async def test_told_so_a_model_that_does_something_else_goes_on(store: Store) -> None:
    rules: list[dict[str, Any]] = [{"when": {"turn": turn}, "reply": USELESS} for turn in range(3)]
    async with gateway([*rules, {"reply": {"text": "There is none."}}], store=store) as g:
        await g.chat.say("look it up")
        await g.hears("There is none.")
        assert g.chat.texts() == [BESIDE, "There is none."]


async def test_a_turn_that_goes_on_after_a_restart_counts_what_it_had_done(database: str) -> None:
    begun: list[dict[str, Any]] = [{"when": {"turn": turn}, "reply": USELESS} for turn in range(3)]
    hanging = {"reply": {"text": "never", "delay": 60}}
    async with gateway([*begun, hanging], store=await SqlStore.open(database)) as g:
        await g.chat.say("look it up")
        await g.model.called("parent", 4)
    async with gateway([{"reply": USELESS}], store=await SqlStore.open(database)) as g:
        await g.hears("4 times in the same way")
        assert len(g.model.requests) == 1


async def test_a_worker_that_repeats_a_useless_call_is_asked_for_what_it_has(
    store: Store,
) -> None:
    half = says("half of it", last="Report in text what you have")
    rules = [delegates({"goal": "x"}), half, calls("no_such_tool", {}), ANSWER]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["status"], result["exit_reason"]) == ("partial", "repeated_call")
        assert result["summary"] == "half of it"
        assert len(g.model.of("worker")) == 5


async def test_a_streamed_text_that_stands_already_is_not_shown_again(tmp_path: Path) -> None:
    slow = {**USELESS, "text": " ".join([BESIDE] * 4), "pace": 0.06}
    async with telegram_gateway(tmp_path, [], models=written(tmp_path, {"reply": slow})) as g:
        g.telegram.group(-100, "Friends")
        g.say("@bough_bot go", chat=-100, user=OWNER)
        await g.hears("I stopped: I called", chat=-100)
        assert len(g.texts(-100)) == 2
        assert refused(g) == []
