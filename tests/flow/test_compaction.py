from typing import Any

from agent.models.base import ModelError, ModelErrorKind, Reply, Request
from storage.records.entries import Kind
from storage.store import Store
from tests.flow.conftest import Gateway, SpyModel, gateway

SUMMARY: dict[str, Any] = {
    "when": {"system": "^You condense the conversation"},
    "reply": {"text": "SUMMARY of it"},
}
ANSWER: dict[str, Any] = {"when": {"last": "(.*)"}, "reply": {"text": "answer to {1}"}}
SMALL: dict[str, Any] = {
    "models": {"parent": {"model": "scripted", "context_window": 1000}},
    "session": {"compaction_threshold": 0.5, "keep_recent_tokens": 100},
}


async def _kinds(bot: Gateway) -> list[Kind]:
    def read(tx: Any) -> list[Kind]:
        return [e.kind for e in tx.tree.path(tx.tree.session(1).leaf)]

    return await bot.app.store.read(read)


def _told(request: Request) -> str:
    return "\n".join(str(m["content"]) for m in request.messages)


async def test_a_conversation_that_grows_too_long_is_compacted_by_itself(store: Store) -> None:
    async with gateway([SUMMARY, ANSWER], store=store, config=SMALL) as bot:
        for number in range(6):
            await bot.chat.say(f"question {number} " + "x" * 400)
            await bot.hears(f"answer to question {number}")
        await bot.settled()
        assert Kind.COMPACTION in await _kinds(bot)
        last = _told(bot.model.requests[-1])
        assert "SUMMARY of it" in last
        assert "question 0 " not in last
        assert "question 5 " in last


async def test_a_cheaper_model_may_write_the_summaries(store: Store) -> None:
    config = SMALL | {
        "models": SMALL["models"] | {"presets": {"scribe": {"model": "scripted:scribe"}}},
        "session": SMALL["session"] | {"summary_model": "scribe"},
    }
    async with gateway([SUMMARY, ANSWER], store=store, config=config) as bot:
        for number in range(4):
            await bot.chat.say(f"question {number} " + "x" * 400)
            await bot.hears(f"answer to question {number}")
        await bot.chat.say("/compact")
        await bot.hears("Compacted at")
        await bot.chat.say("/branch 1")
        left = await bot.hears("What you left is kept")
        await bot.chat.press(left, "Bring a summary along")
        await bot.hears("stands at #")
        written = [r for r in bot.model.requests if "You condense" in str(r.messages[0])]
        assert {r.spec.name for r in written} == {"scribe"}
        assert any("condense a branch" in str(r.messages[0]) for r in written)
        assert {r.spec.name for r in bot.model.requests if r not in written} == {"parent"}


async def test_a_summary_that_fails_leaves_the_conversation_as_it_is(store: Store) -> None:
    class NoSummaries(SpyModel):
        async def complete(self, request: Request) -> Reply:
            if str(request.messages[0]["content"]).startswith("You condense"):
                raise ModelError(ModelErrorKind.BAD_REQUEST, "no summaries here")
            return await super().complete(request)

    async with gateway(store=store, config=SMALL, model=NoSummaries([ANSWER])) as bot:
        for number in range(5):
            await bot.chat.say(f"question {number} " + "x" * 400)
            await bot.hears(f"answer to question {number}")
        assert Kind.COMPACTION not in await _kinds(bot)
        await bot.chat.say("/compact")
        await bot.hears("no summaries here. Nothing was changed")
        assert Kind.RECORD not in await _kinds(bot)


async def test_a_context_that_the_provider_finds_too_long_is_compacted_and_tried_once_more(
    store: Store,
) -> None:
    class Narrow(SpyModel):
        async def complete(self, request: Request) -> Reply:
            summary = str(request.messages[0]["content"]).startswith("You condense")
            if not summary and len(_told(request)) > 4000:
                raise ModelError(ModelErrorKind.CONTEXT_LENGTH, "too long")
            return await super().complete(request)

    async with gateway(store=store, model=Narrow([SUMMARY, ANSWER])) as bot:
        for number in range(8):
            await bot.chat.say(f"question {number} " + "x" * 400)
            await bot.hears(f"answer to question {number}")
        assert Kind.COMPACTION in await _kinds(bot)


async def test_compact_summarises_now_with_what_the_person_asks_for(store: Store) -> None:
    async with gateway([SUMMARY, ANSWER], store=store) as bot:
        await bot.chat.say("/compact")
        await bot.hears("Nothing was said here yet")
        for number in range(4):
            await bot.chat.say(f"question {number}")
            await bot.hears(f"answer to question {number}")
        await bot.chat.say("/compact keep the numbers")
        await bot.hears("Compacted at #9")
        assert "keep the numbers" in _told(bot.model.requests[-1])
        await bot.chat.say("and now?")
        await bot.hears("answer to and now?")
        assert "SUMMARY of it" in _told(bot.model.requests[-1])
        assert "question 0" not in _told(bot.model.requests[-1])


async def test_a_branch_that_is_as_deep_as_allowed_takes_no_more(store: Store) -> None:
    async with gateway([ANSWER], store=store, config={"session": {"max_depth": 3}}) as bot:
        await bot.chat.say("one")
        await bot.hears("answer to one")
        await bot.chat.say("two")
        await bot.hears("answer to two")
        await bot.chat.say("three")
        await bot.hears("which is the limit")
