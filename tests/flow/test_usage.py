"""/usage: what the models cost, and who may see what."""

from functools import partial
from typing import Any

from storage.records.entries import Usage
from storage.records.ledger import LedgerLine
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.flow.chatting import command, press
from tests.flow.conftest import Gateway, gateway
from tests.support.stores import Clock, new_session

MODELS = {
    tier: {"model": f"scripted:{tier}", "input_cost": 0.001, "output_cost": 0.01}
    for tier in ("parent", "worker", "judge")
}
CONFIG: dict[str, Any] = {"models": MODELS}


def says(tier: str, text: str, tokens: tuple[int, int], **when: Any) -> dict[str, Any]:
    usage = {"input": tokens[0], "output": tokens[1]}
    return {"when": {"tier": tier, **when}, "reply": {"text": text, "usage": usage}}


JUDGED = [
    {
        "when": {"tier": "parent", "last": "^go"},
        "reply": {
            "tool_calls": [
                {
                    "name": "delegate_task",
                    "arguments": {"goal": "look", "acceptance_criteria": "it is seen"},
                }
            ],
            "usage": {"input": 1_000, "output": 10},
        },
    },
    says("worker", "seen", (500, 50)),
    says("judge", "PASS. Seen.", (100, 5)),
    says("parent", "so it is", (1_000, 10)),
]


async def usage(g: Gateway, *, chat: str = "1", user: str = "1", private: bool = True) -> str:
    await g.chat.say("/usage all", chat=chat, user=user, private=private)
    return (await g.hears("This conversation, today", chat=chat)).text.replace("\\", "")


def book(tx: Transaction, line: LedgerLine) -> None:
    tx.ledger.add(line)


def lines(text: str, title: str) -> list[str]:
    """The lines below the first heading that holds this."""
    found: list[str] = []
    rest = text.splitlines()
    start = next(number for number, line in enumerate(rest) if title in line)
    for line in rest[start + 1 :]:
        if not line.startswith("•"):
            break
        found.append(line)
    return found


async def test_a_conversation_is_told_by_tier_model_and_person(store: Store) -> None:
    async with gateway(JUDGED, store=store, config=CONFIG) as g:
        await g.chat.say("go")
        await g.hears("so it is")
        text = await usage(g)
        total = "$3.35 · 2,600 tokens in, 75 out · 4 calls"
        assert f"**This conversation, today:** {total}" in text
        assert f"**This conversation, the last 30 days:** {total}" in text
        assert lines(text, "By tier") == [
            "• parent: $2.20 · 2,000 tokens in, 20 out · 2 calls",
            "• worker: $1.00 · 500 tokens in, 50 out · 1 call",
            "• judge: $0.15 · 100 tokens in, 5 out · 1 call",
        ]
        assert lines(text, "By model")[0].startswith("• scripted:parent: $2.20 ")
        assert lines(text, "By person") == [f"• telegram:1: {total}"]


async def test_cached_tokens_are_shown_and_have_their_own_price(store: Store) -> None:
    parent = MODELS["parent"] | {"cached_input_cost": 0.0001}
    rule = says("parent", "hello", (1_000, 10))
    rule["reply"]["usage"]["cached"] = 900
    async with gateway([rule], store=store, config={"models": {"parent": parent}}) as g:
        await g.chat.say("hi")
        await g.hears("hello")
        total = "$0.29 · 1,000 tokens in (900 cached), 10 out · 1 call"
        assert f"**This conversation, today:** {total}" in await usage(g)


async def test_nothing_used_is_nothing(store: Store) -> None:
    async with gateway(store=store, config=CONFIG) as g:
        assert "**This conversation, today:** nothing" in await usage(g, chat="9", user="9")


async def test_a_model_without_a_price_is_said_to_have_none(store: Store) -> None:
    config = {"models": {"parent": {"model": "scripted:x"}}}
    async with gateway([{"reply": {"text": "hello"}}], store=store, config=config) as g:
        await g.chat.say("hi")
        await g.hears("hello")
        assert "**This conversation, today:** cost unknown ·" in await usage(g)


async def test_only_an_owner_in_private_sees_all_conversations(store: Store) -> None:
    async with gateway(JUDGED, store=store, config=CONFIG) as g:
        for chat, user, private in (("2", "2", True), ("-5", "1", False)):
            await g.chat.say("hello", chat=chat, user=user, private=private)
            await g.hears("so it is", chat=chat)
        assert "All conversations" not in await usage(g, chat="2", user="2")
        assert "All conversations" not in await usage(g, chat="-5", user="1", private=False)
        text = await usage(g, chat="1", user="1")
        assert "**All conversations, today:** $2.20 ·" in text
        found = lines(text, "By conversation")
        assert [line.split(": ")[0] for line in found] == ["• telegram:-5", "• telegram:2"]
        assert len(lines(text, "By day, in UTC")) == 1


async def test_what_is_older_than_today_and_than_thirty_days(database: str) -> None:
    clock = Clock()
    today = 1_795_262_400.0  # 2026-11-21, noon in UTC
    store = await SqlStore.open(database, clock)
    session = await new_session(store)
    for ago, cost in ((40, 100.0), (29, 10.0), (1, 1.0)):
        clock.now = today - ago * 86_400
        used = Usage(1, 1, 1, cost)
        line = LedgerLine("parent", "m", used, session.id, "telegram:1", "telegram:1")
        await store.run(partial(book, line=line))
    clock.now = today
    async with gateway(store=store, config=CONFIG) as g:
        text = await usage(g)
        assert "**This conversation, today:** nothing" in text
        assert "**This conversation, the last 30 days:** $11.00 ·" in text
        days = [line.split(": ")[0] for line in lines(text, "By day, in UTC")]
        assert days == ["• 2026-11-20", "• 2026-10-23"]


async def test_an_empty_answer_that_was_asked_for_again_is_paid_too(store: Store) -> None:
    rules = [
        says("parent", "", (100, 0)) | {"times": 1},
        says("parent", "at last", (100, 10)),
    ]
    async with gateway(rules, store=store, config=CONFIG) as g:
        await g.chat.say("hi")
        await g.hears("at last")
        assert lines(await usage(g), "By tier") == [
            "• parent: $0.30 · 200 tokens in, 10 out · 2 calls"
        ]


async def test_a_judge_that_a_fallback_stood_in_for_is_booked_as_that_one(store: Store) -> None:
    spare = {"model": "scripted:spare", "input_cost": 0.0, "output_cost": 1.0}
    judge = MODELS["judge"] | {"fallback": ["spare"]}
    config = {"models": MODELS | {"judge": judge, "presets": {"spare": spare}}}
    broken = {"when": {"tier": "judge"}, "reply": {"error": "auth", "text": "no key"}}
    rules = [broken, says("spare", "PASS. Seen.", (5, 2)), *JUDGED]
    async with gateway(rules, store=store, config=config) as g:
        await g.chat.say("go")
        await g.hears("so it is")
        text = await usage(g)
        assert "• judge: $2.00 · 5 tokens in, 2 out · 1 call" in lines(text, "By tier")
        assert "• scripted:spare: $2.00 · 5 tokens in, 2 out · 1 call" in lines(text, "By model")


async def test_the_turn_after_a_decision_is_for_whoever_asked_at_first(store: Store) -> None:
    asks = {"action": "escalate", "tier": "human"}
    table = [{"condition": "seen", "branch": "report"}, {"default": asks}]
    arguments = {"goal": "look", "branch_table": table}
    report = {"condition": "default", "branch": "default", "evidence": "odd"}
    nothing = {"input": 0, "output": 1}
    call = {"name": "delegate_task", "arguments": arguments}
    told = {"name": "report_outcome", "arguments": report}
    rules = [
        {
            "when": {"tier": "parent", "last": "User 7: go$"},
            "reply": {"tool_calls": [call], "usage": nothing},
        },
        {"when": {"tier": "worker"}, "reply": {"tool_calls": [told], "usage": nothing}},
        says("parent", "so it is", (0, 1)),
    ]
    async with gateway(rules, store=store, config=CONFIG) as g:
        await g.chat.say("go", chat="-5", user="7", private=False)
        asked = await g.hears("odd", chat="-5")
        await g.chat.press(asked, "Stop", user="1")
        await g.hears("so it is", chat="-5")
        text = await usage(g, chat="-5", user="7", private=False)
        assert lines(text, "By person") == ["• telegram:7: $0.03 · 0 tokens in, 3 out · 3 calls"]


async def test_the_model_that_answered_is_the_one_that_is_named_and_paid(store: Store) -> None:
    spare = {"model": "scripted:spare", "input_cost": 0.0, "output_cost": 1.0}
    parent = MODELS["parent"] | {"fallback": ["spare"]}
    config = {"models": {"parent": parent, "presets": {"spare": spare}}}
    rules = [
        {"when": {"tier": "parent"}, "reply": {"error": "unavailable", "text": "down"}},
        says("spare", "here I am", (5, 2)),
    ]
    async with gateway(rules, store=store, config=config) as g:
        await g.chat.say("hi")
        await g.hears("here I am")
        text = await usage(g)
        assert lines(text, "By tier") == ["• parent: $2.00 · 5 tokens in, 2 out · 1 call"]
        assert lines(text, "By model") == ["• scripted:spare: $2.00 · 5 tokens in, 2 out · 1 call"]


async def test_two_empty_replies_are_paid_for_though_they_are_no_answer(store: Store) -> None:
    rules = [says("parent", "", (1_000, 10))]
    async with gateway(rules, store=store, config=CONFIG) as g:
        await g.chat.say("go")
        await g.hears("empty answer")
        assert "2,000 tokens in, 20 out · 2 calls" in await usage(g)


async def test_a_few_lines_say_what_matters_and_a_button_says_the_rest(store: Store) -> None:
    async with gateway(JUDGED, store=store, config=CONFIG) as g:
        await g.chat.say("go")
        await g.hears("so it is")
        shown = await command(g, "/usage")
        assert len(shown.text.splitlines()) <= 12
        assert "**All conversations, today:**" in shown.text and "By tier" not in shown.text
        await press(g, shown, "More")
        assert "By tier" in shown.text and "By day" in shown.text
        await g.chat.say("/usage", user="2", chat="2")
        assert "All conv" not in (await g.hears("This conversation", chat="2")).text
