"""Who the bot is: what the operator tells it, which model answers, and what talk does meanwhile."""

from pathlib import Path
from typing import Any

from agent.delegation.children.prompts import PARENT
from agent.models.base import Request
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP, SlowModel, command, talk
from tests.flow.conftest import Gateway, gateway
from tests.flow.delegating import ANSWER, calls, delegates, reports

ADA = {"agent": {"instructions": "You are Ada. Speak of yourself as she."}}
MODELS = {
    "parent": {"model": "scripted:parent"},
    "presets": {"cheap": {"model": "scripted:cheap"}},
}


def system(request: Request) -> str:
    return str(request.messages[0]["content"])


def asked(g: Gateway) -> str:
    """The name of the model that was asked last."""
    return g.model.requests[-1].spec.name


async def test_without_instructions_the_system_message_is_ours_alone(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "hello")
        assert system(g.model.requests[0]) == PARENT


async def test_the_operators_instructions_stand_marked_behind_ours(store: Store) -> None:
    async with gateway(ECHO, store=store, config=ADA) as g:
        await talk(g, "hello")
        told = system(g.model.requests[0])
        assert told.startswith(PARENT)
        assert told.endswith(
            "<instructions of the operator>\nYou are Ada. Speak of yourself as she.\n"
            "</instructions of the operator>"
        )


async def test_they_are_the_same_to_the_byte_in_each_call_and_after_a_restart(
    store: Store, database: str
) -> None:
    async with gateway(ECHO, store=store, config=ADA) as g:
        await talk(g, "one")
        await talk(g, "two")
        first = [system(request) for request in g.model.requests]
    again = await SqlStore.open(database)
    async with gateway(ECHO, store=again, config=ADA, chat=g.chat) as g:
        await talk(g, "three")
        assert {*first, system(g.model.requests[-1])} == {first[0]}


async def test_a_chat_may_have_its_own_and_a_group_hears_who_speaks_besides(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "group.md"
    file.write_text("Here you are Grace. {braces} stay.\n", encoding="utf-8")
    chats = {f"telegram:{GROUP}": {"instructions": f"file:{file}"}}
    async with gateway(ECHO, store=store, config={**ADA, "chats": chats}) as g:
        await talk(g, "hello", chat=GROUP)
        told = system(g.model.requests[-1])
        assert "Grace. {braces} stay.\n</instructions" in told and "Ada." not in told
        assert "Several people may write here." in told.partition("</instructions")[2]
        await talk(g, "hello")
        assert "You are Ada." in system(g.model.requests[-1])


async def test_children_and_overseers_are_not_told(store: Store) -> None:
    table = [
        {"condition": "Up", "branches": {"ok": {"action": "report"}}},
        {"default": {"action": "escalate", "tier": "overseer"}},
    ]
    rules = [
        delegates({"goal": "look", "branch_table": table}),
        reports("default", "odd"),
        calls("resolve", {"summary": "it is odd"}, tier="overseer"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=ADA) as g:
        await g.chat.say("go")
        await g.settled()
        told = {r.spec.name: "You are Ada." in str(r.messages) for r in g.model.requests}
        assert told.pop("parent") is True
        assert told == {"worker": False, "overseer": False}


async def test_a_chats_model_answers_there_and_retry_and_model_go_before_it(store: Store) -> None:
    config: dict[str, Any] = {"models": MODELS, "chats": {"telegram:1": {"model": "cheap"}}}
    async with gateway(ECHO, store=store, config=config) as g:
        await talk(g, "hello")
        assert asked(g) == "cheap"
        await talk(g, "/retry parent")
        assert asked(g) == "parent"
        await talk(g, "hello", chat="2", user="2")
        assert asked(g) == "parent"
        assert "**cheap** answers here." in (await command(g, "/model")).text
        await talk(g, "/model parent")
        await talk(g, "more")
        assert asked(g) == "parent"
        await talk(g, "/model default")
        await talk(g, "more")
        assert asked(g) == "cheap"


async def test_what_talk_does_meanwhile_is_the_chats_own(store: Store) -> None:
    """In one chat it waits, in the other it interrupts."""
    config = {"chats": {"telegram:1": {"busy": "queue"}}}
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model, config=config) as g:
        await g.chat.say("slow one", chat="1")
        await model.began.wait()
        await g.chat.say("two", chat="1")
        model.began.clear()
        await g.chat.say("slow three", chat="2", user="2")
        await model.began.wait()
        await g.chat.say("four", chat="2", user="2")
        await g.hears("so be it", chat="2")
        model.may_go_on.set()
        await g.hears("so be it", chat="1", count=2)
        await g.settled()
        assert len(g.chat.texts("1")) == 2
        assert len(g.chat.texts("2")) == 1


async def test_a_chat_in_which_talk_is_steered_in_has_it_seen_by_the_running_turn(
    store: Store,
) -> None:
    rules: list[dict[str, Any]] = [
        {
            "times": 1,
            "reply": {"tool_calls": [{"name": "think", "arguments": {"thought": "hm"}}]},
        },
        {"reply": {"text": "both"}},
    ]
    config = {"chats": {"telegram:1": {"busy": "steer"}}}
    model = SlowModel(rules)
    async with gateway(store=store, config=config, model=model) as g:
        await g.chat.say("slow")
        await model.began.wait()
        await g.chat.say("two")
        model.may_go_on.set()
        await g.hears("both")
        await g.settled()
        said = [m["content"] for m in g.model.requests[-1].messages if m["role"] == "user"]
        assert said == ["slow", "two"]
        assert g.chat.texts() == ["both"]
