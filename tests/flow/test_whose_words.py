"""In a group each turn answers the words of one person, and does what it does for that person."""

from typing import Any

import pytest

from storage.records.tools.schedules import Schedule
from storage.store import Store
from tests.flow.approving import ASKED, Launch, launches
from tests.flow.chatting import SlowModel
from tests.flow.conftest import ON_BOTH, Gateway, gateway
from tests.flow.scheduling import schedules

GROUP = "-100"
OWNER, ANN = "1", "2"
REMIND = {
    "when": {"last": "remind me"},
    "reply": schedules(when="in 2 hours", text="tea"),
}
RULES: list[dict[str, Any]] = [
    REMIND,
    {"when": {"last": "^Scheduled"}, "reply": {"text": "I will."}},
    {"reply": {"text": "you said: {last}"}},
]


async def says(g: Gateway, user: str, text: str) -> None:
    await g.chat.say(text, chat=GROUP, user=user, private=False)


async def scheduled(store: Store) -> list[Schedule]:
    return await store.read(lambda tx: tx.schedules.of_conversation("telegram:-100"))


def asked(g: Gateway) -> list[list[str]]:
    """What people had said, in each request."""
    return [
        [str(m["content"]) for m in request.messages if m["role"] == "user"]
        for request in g.model.requests
    ]


def config(busy: str) -> dict[str, Any]:
    return {"session": {"busy": busy}, "tools": {"toolsets": ["schedule"]}}


@ON_BOTH
@pytest.mark.parametrize("busy", ["interrupt", "queue", "steer"])
async def test_what_a_member_asks_for_is_theirs_though_the_owner_speaks_meanwhile(
    store: Store, busy: str
) -> None:
    model = SlowModel(RULES)
    async with gateway(store=store, model=model, config=config(busy)) as g:
        await says(g, ANN, "remind me slowly")
        await model.began.wait()
        await says(g, OWNER, "hello")
        if busy == "interrupt":
            await g.hears("hello", chat=GROUP)
        model.may_go_on.set()
        await g.hears("hello", chat=GROUP)
        await g.settled()
        (schedule,) = await scheduled(store)
        assert schedule.person == "telegram:2"
        alone = [said[-1] for said in asked(g)]
        assert [said for said in alone if "hello" in said] == ["[telegram:1] User 1: hello"]
        paid = {(r.purpose.person, "hello" in str(r.messages[-1])) for r in model.requests}
        assert paid == {("telegram:1", True), ("telegram:2", False)}


async def test_an_owner_is_answered_first_and_who_was_put_off_is_answered_then(
    store: Store,
) -> None:
    model = SlowModel(RULES)
    async with gateway(store=store, model=model) as g:
        await says(g, ANN, "slow one")
        await model.began.wait()
        await says(g, OWNER, "hello")
        await g.hears("hello", chat=GROUP)
        model.may_go_on.set()
        await g.hears("slow one", chat=GROUP)
        await g.settled()
        first, second = asked(g)[-2:]
        assert "Do nothing for it now" in first[1]
        assert [text.split("] ")[-1] for text in (first[0], first[2])] == [
            "User 2: slow one",
            "User 1: hello",
        ]
        assert second[-1].endswith("User 2: slow one")
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []


async def test_who_asks_again_for_others_acts_for_them(store: Store) -> None:
    """The owner's /retry of a member's words is paid by the owner, and does nothing in their
    name."""
    rules = [{**REMIND, "times": 1}, *RULES]
    async with gateway(rules, store=store, config=config("interrupt")) as g:
        await says(g, ANN, "remind me")
        await g.hears("I will.", chat=GROUP)
        await says(g, OWNER, "/retry")
        await g.hears("I will.", chat=GROUP, count=2)
        await g.settled()
        assert [one.person for one in await scheduled(store)] == ["telegram:2"] * 2
        assert g.model.requests[-1].purpose.person == "telegram:1"


async def test_talk_does_not_join_the_retry_of_what_another_said(store: Store) -> None:
    model = SlowModel([{"reply": {"text": "you said: {last}"}}], word="later slow")
    async with gateway(store=store, model=model) as g:
        await says(g, ANN, "later slow")
        await model.began.wait()
        model.may_go_on.set()
        await g.hears("later slow", chat=GROUP)
        await g.settled()
        model.began.clear()
        model.may_go_on.clear()
        await says(g, OWNER, "/retry")
        await model.began.wait()
        await says(g, OWNER, "hello")
        model.may_go_on.set()
        await g.hears("hello", chat=GROUP)
        await g.settled()
        last = [str(r.messages[-1]["content"]).split(": ")[-1] for r in model.requests]
        assert last == ["later slow", "later slow", "hello"]


async def test_a_call_that_waited_is_run_for_whom_it_was_made(store: Store) -> None:
    """Two members wait for decisions; each call keeps its person, whichever turn runs it again."""
    tool = Launch()
    rules = [launches("a rocket", last="go one"), launches("a kite", last="go two")]
    rules.append({"reply": {"text": "said: {last}"}})
    async with gateway(rules, store=store, tools=[tool]) as g:
        await says(g, ANN, "go one")
        await g.hears(ASKED, chat=GROUP)
        await g.settled()
        await says(g, "3", "go two")
        second = await g.hears("a kite", chat=GROUP)
        first = await g.hears("a rocket", chat=GROUP)
        await g.settled()
        await g.chat.press(second, "Once", user=OWNER)
        await g.chat.press(first, "Once", user=OWNER)
        await g.settled()
        assert sorted(tool.launched) == ["a kite", "a rocket"]
        assert sorted(tool.people) == ["telegram:2", "telegram:3"]
