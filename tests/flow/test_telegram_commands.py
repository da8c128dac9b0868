"""Slash commands in Telegram: what they do, and what people read."""

import asyncio
from pathlib import Path

from gateway.commands.registry import command_specs
from storage.records.entries import Json
from tests.flow.telegram_gateway import (
    ANN,
    ANSWER,
    OWNER,
    TelegramGateway,
    delegate,
    report,
    result_of,
    says,
    telegram_gateway,
)

TABLE = [
    {"condition": "Fine", "branches": {"ok": "report"}},
    {
        "condition": "Gone",
        "branches": {
            "match": {"action": "escalate", "tier": "human", "prompt": "Dead?"},
            "fine": {"action": "report", "label": "Fine, then"},
        },
    },
    {"default": "escalate"},
]
RULES = [delegate(TABLE), report(2, "match", "404"), says("parent", "talk", last="^hello"), ANSWER]


async def asks(g: TelegramGateway, **more: int) -> Json:
    g.say("go", **more)
    return await g.hears("Dead?", **more)


async def test_the_menu_and_the_help_name_the_same_commands(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        menu = [command["command"] for command in g.telegram.methods.menus["all_private_chats"]]
        assert menu == [spec.name for spec in command_specs() if not spec.owner]
        menu = [command["command"] for command in g.telegram.methods.menus[f"chat:{OWNER}"]]
        assert menu == [spec.name for spec in command_specs()]
        assert {"new", "stop", "branch", "tree", "fan", "import", "attach"} < set(menu)
        g.say("/help")
        shown = await g.hears("Just write to me;")
        lacking = {"memory", "schedule"}
        assert all(f"/{name}" in shown["text"] for name in {*menu} - lacking)
        assert not any(f"/{name}" in shown["text"] for name in lacking)
        assert g.models.requests == []


async def test_an_unknown_command_is_said_and_a_path_is_talk(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        g.say("/frobnicate now")
        await g.hears("I do not know /frobnicate. /help lists what I know.")
        assert g.models.requests == []
        g.say("/etc/hosts is a file")
        await g.hears("result: /etc/hosts is a file")


async def test_commands_with_nothing_to_do_say_so(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        for command, said in {
            "/stop": "Nothing was running.",
            "/questions": "No question is open.",
            "/agents": "No delegation in this conversation yet.",
            "/tasks": "No delegation in this conversation yet.",
        }.items():
            g.say(command)
            shown = await g.hears(said)
            assert shown["text"] == said
            del g.telegram.world.chats[OWNER].messages[shown["message_id"]]


async def test_agents_lists_task_tier_model_state_tokens_and_cost(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        g.say("/agents")
        shown = await g.hears("#1 Check the page")
        assert "waiting · human · openai/worker · " in shown["text"]
        assert " tokens · $0.00" in shown["text"]
        g.press(question, "Fine, then")
        await result_of(g)
        g.say("/tasks")
        await g.hears("completed · human")


async def test_questions_gives_fresh_buttons_here_and_to_approvers_elsewhere(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g, chat=ANN)
        g.say("/questions", chat=ANN)
        await g.hears("1 question is open", chat=ANN)
        fresh = await g.hears("Dead?", chat=ANN, count=2)
        assert g.telegram.labels(fresh) == g.telegram.labels(question)
        g.say("/questions")
        mine = await g.hears("Dead?")
        g.press(mine, "Stop")
        await g.hears("result: ", chat=ANN)
        await g.settled()
        assert [g.telegram.labels(one) for one in (question, fresh, mine)] == [[], [], []]


async def test_questions_of_others_are_not_shown_to_who_may_not_decide(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        await asks(g)
        g.say("/questions", chat=ANN)
        await g.hears("No question is open.", chat=ANN)


async def test_stop_ends_a_running_worker_and_hangs_up_on_its_model(tmp_path: Path) -> None:
    slow = {"when": {"tier": "worker"}, "reply": {"text": "x", "delay": 60}}
    async with telegram_gateway(tmp_path, [delegate(TABLE), slow, ANSWER]) as g:
        g.say("go")
        while not g.asked("worker"):
            await asyncio.sleep(0.01)
        g.say("/stop")
        await g.hears("Stopped.")
        g.say("/agents")
        await g.hears("interrupted · worker")
        await g.settled()
        assert g.texts()[0] == "Stopped."


async def test_stop_withdraws_open_questions_for_good(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        g.say("/stop")
        await g.hears("Stopped.")
        await g.settled()
        assert g.telegram.labels(question) == []
        assert "Withdrawn." in question["text"]
        g.say("hello")
        await g.hears("talk")
        assert len(g.asked("parent")) == 2
        g.say("/questions")
        await g.hears("No question is open.")


async def test_new_begins_anew_and_old_questions_still_count(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        g.say("/new")
        await g.hears("A new conversation. The old one is kept.")
        g.say("hello")
        await g.hears("talk")
        assert len(g.asked("parent")[-1].messages) == 2
        g.press(question, "Stop")
        assert (await result_of(g))["status"] == "rejected"


async def test_new_during_a_turn_ends_it_without_an_answer(tmp_path: Path) -> None:
    slow = {"when": {"tier": "parent", "last": "slow"}, "reply": {"text": "never", "delay": 60}}
    async with telegram_gateway(tmp_path, [slow, *RULES]) as g:
        g.say("slow")
        while not g.models.requests:
            await asyncio.sleep(0.01)
        g.say("/new")
        await g.hears("A new conversation")
        g.say("hello")
        await g.hears("talk")
        assert len(g.asked("parent")[-1].messages) == 2


async def test_new_during_work_that_a_decision_started_lets_it_go_on(tmp_path: Path) -> None:
    again = {"when": {"tier": "worker"}, "reply": {"text": "narrated", "delay": 0.5}}
    rules = [delegate(TABLE), report(2, "match") | {"times": 1}, again | {"times": 1}, RULES[1]]
    async with telegram_gateway(tmp_path, [*rules, *RULES[2:]]) as g:
        question = await asks(g)
        await g.settled()  # the turn that asked is over: work that goes on in it would end with it
        g.press(question, "Try again")
        while len(g.asked("worker")) < 2:
            await asyncio.sleep(0.01)
        g.say("/new")
        await g.hears("A new conversation")
        g.press(await g.hears("Dead?", count=2), "Stop")
        assert (await result_of(g))["status"] == "rejected"
