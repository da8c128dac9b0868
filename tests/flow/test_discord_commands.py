"""Slash commands on Discord: answered where it shows that the bot "thinks", whatever happens."""

import asyncio
import time
from pathlib import Path

from gateway.commands.registry import command_specs
from tests.flow.discord_gateway import ANN, GONE, TABLE, delegates, discord_gateway
from tests.flow.telegram_gateway import ANSWER, report, says
from tests.stand_ins.discord_rest import Cut, Fail, Throttle

ECHO = [says("parent", "you said: {last}")]
SLOW = [{"when": {"tier": "parent", "last": "slow"}, "reply": {"text": "x", "delay": 60}}, *ECHO]


async def test_every_command_is_in_discords_menu_and_answers_in_place(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        names = {each["name"] for each in g.discord.world.commands if each["type"] == 1}
        assert names == {spec.name for spec in command_specs()}
        said = {name: (await g.answer(g.slash(name)))["content"] for name in sorted(names)}
        assert said["new"].startswith("A new conversation")
        assert said["stop"] == "Nothing was running."
        assert said["questions"] == "No question is open."
        assert said["agents"] == said["tasks"] == "No delegation in this conversation yet."
        assert said["tree"] == said["export"] == "Nothing was said here yet."
        assert said["import"].startswith("There is no file with that.")
        assert all(f"/{name}" in said["help"] for name in names - {"memory", "schedule"})
        await g.settled()
        assert len(g.said()) == len(names)


async def test_commands_can_be_typed_too(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.tells("/stop")
        await g.reads("Nothing was running.")
        g.mentions("/stop", ANN)
        await g.reads("Nothing was running.", g.discord.general)
        g.tells("/nonsense")
        await g.reads("I do not know /nonsense")
        assert g.models.requests == []


async def test_new_starts_anew_in_one_channel_only(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.tells("one")
        await g.reads("one")
        g.mentions("one")
        await g.reads("one", g.discord.general)
        await g.answer(g.slash("new"))
        g.tells("two")
        await g.reads("two")
        assert len(g.asked("parent")[-1].messages) == 2
        g.mentions("two")
        await g.reads("two", g.discord.general)
        assert len(g.asked("parent")[-1].messages) == 4


async def test_stop_ends_a_running_turn(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, SLOW) as g:
        g.tells("slow")
        await g.models.arrived.wait()
        assert (await g.answer(g.slash("stop")))["content"] == "Stopped."
        g.tells("and now")
        await g.reads("you said: and now")
        assert g.said() == ["Stopped.", "you said: and now"]


async def test_questions_are_listed_with_buttons_that_work(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE) as g:
        g.mentions("go", ANN)
        question = await g.reads("May it be dead?", g.discord.general)
        listed = await g.answer(g.slash("questions"))
        assert listed["content"].startswith("1 question is open")
        copy = await g.reads("May it be dead?", count=2)  # the first came when it was asked
        assert int(copy["id"]) > int(listed["id"])
        g.discord.press(copy, "Stop", "olga")
        await g.reads("result: ", g.discord.general)
        await g.settled()
        assert g.discord.buttons(question) == g.discord.buttons(copy) == {}


async def test_who_may_not_decide_sees_only_the_questions_of_the_place(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE) as g:
        g.tells("go")
        await g.reads("May it be dead?")
        there = await g.answer(g.slash("questions", ANN, g.discord.general))
        private = await g.answer(g.slash("questions", ANN, g.discord.dm_of(ANN)))
        assert there["content"] == private["content"] == "No question is open."


async def test_agents_and_tasks_list_the_delegations_of_the_place(tmp_path: Path) -> None:
    rules = [delegates(TABLE), report(1, "fine", "seen"), ANSWER]
    async with discord_gateway(tmp_path, rules) as g:
        g.tells("go")
        await g.reads("result: ")
        for name in ("agents", "tasks"):
            shown = (await g.answer(g.slash(name)))["content"]
            assert "Check the page" in shown
            assert "completed · worker · openai/worker" in shown
            assert "$0.0" in shown
        elsewhere = await g.answer(g.slash("agents", place=g.discord.general))
        assert elsewhere["content"].startswith("No delegation")


async def test_a_command_in_the_middle_of_work_does_not_wait_for_it(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, SLOW) as g:
        g.tells("slow")
        await g.models.arrived.wait()
        await g.answer(g.slash("agents"))
        assert g.said() == ["No delegation in this conversation yet."]


async def test_a_command_is_carried_out_once_though_the_answer_fails_at_first(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        for fault in (Throttle(0.1), Fail(503), Cut(done=False), Cut(done=True)):
            g.discord.inject("PATCH", "/messages/@original", fault)
            await g.answer(g.slash("new"))
        await g.settled()
        assert len(g.said()) == 4


async def test_an_answer_after_the_token_died_goes_to_the_channel(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.discord.inject("PATCH", "/messages/@original", Fail(503), times=999)
        command = g.slash("help")
        await g.discord.wait_for(lambda: any(r.method == "PATCH" for r in g.discord.requests))
        g.discord.world.clock = lambda: time.time() + 16 * 60
        g.discord.rest.injections.clear()
        await g.reads("/stop")
        assert command.message is not None
        assert command.message["content"] == ""


async def test_an_acknowledgement_that_fails_costs_no_command(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.discord.inject("POST", "/callback", Fail(404, 10062, "Unknown interaction"))
        g.slash("help")
        await g.reads("/stop")


async def test_a_command_that_was_not_answered_before_a_restart_is_answered_after_it(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.discord.inject("PATCH", "/messages/@original", Fail(503), times=999)
        command = g.slash("help")
        await g.discord.wait_for(lambda: any(r.method == "PATCH" for r in g.discord.requests))
        await g.stop()
        assert command.message is not None
        assert command.message["content"] == ""
        g.discord.rest.injections.clear()
        await g.start()
        assert "/stop" in (await g.answer(command))["content"]
        assert len(g.said()) == 1


async def test_many_commands_at_once_are_all_acknowledged(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        places = [g.discord.world.channel(f"room-{number}") for number in range(30)]
        commands = [g.slash("help", place=place) for place in places]
        shown = await asyncio.gather(*(g.answer(command) for command in commands))
        assert {message["channel_id"] for message in shown} == {str(place.id) for place in places}
