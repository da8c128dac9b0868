"""The chat on a terminal that can be drawn on."""

import asyncio
import logging
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stderr
from dataclasses import dataclass, field

import pytest

from adapters.base import Acknowledge, Button, CommandSpec, Edit, Post, Typing
from adapters.events import Message, Press, Update
from adapters.terminal.adapter import CONVERSATION, Reopened, TerminalAdapter
from adapters.terminal.live_screen import DOTS, LiveScreen
from tests.stand_ins.terminal import COLUMNS, ROWS, Terminal, terminal

COMMANDS = (
    CommandSpec("branch", "back to a message", "number"),
    CommandSpec("branches", "where it branched", "page"),
    CommandSpec("goto", "to a label", "label"),
)
GO = Button("go: now", "t-go-now")
STOP, PAUSE, RESUME = Button("Stop", "t-stop"), Button("Pause", "t-pause"), Button("Go", "t-go")


@dataclass
class Chat:
    terminal: Terminal
    adapter: TerminalAdapter
    updates: list[Update] = field(default_factory=list)

    async def receive(self, update: Update) -> None:
        self.updates.append(update)

    async def post(self, text: str, *buttons: Button) -> str:
        (body,) = self.adapter.render(text)
        message_id = await self.adapter.deliver(Post(CONVERSATION, body, buttons))
        assert message_id is not None
        return message_id

    async def edit(
        self, message_id: str, text: str, *buttons: Button, fleeting: bool = True
    ) -> None:
        (body,) = self.adapter.render(text)
        await self.adapter.deliver(Edit(CONVERSATION, message_id, body, buttons, fleeting=fleeting))

    async def got(self, count: int = 1) -> Update:
        """The newest update, once there are so many."""
        async with asyncio.timeout(60):
            while len(self.updates) < count:
                await asyncio.sleep(0.01)
        return self.updates[-1]


@asynccontextmanager
async def chatting(columns: int = COLUMNS) -> AsyncIterator[Chat]:
    with terminal(columns) as shown:
        screen = LiveScreen(shown.input, shown.output, COMMANDS)
        chat = Chat(shown, TerminalAdapter(screen, COMMANDS))
        await chat.adapter.start()
        task = asyncio.create_task(chat.adapter.run(chat.receive, {}))
        try:
            await shown.shows("you>")
            yield chat
        finally:
            task.cancel()
            await asyncio.wait([task])
        assert not shown.reads_keys


async def test_a_message_that_changes_is_changed_in_place() -> None:
    async with chatting() as chat:
        message = await chat.post("one of ten is done")
        for count in ("two", "three", "four"):
            await chat.edit(message, f"{count} of ten are done")
        shown = await chat.terminal.shows("four of ten are done")
        assert shown.count("of ten") == 1
        assert shown.endswith("you>")


async def test_a_drawing_stands_as_it_was_written() -> None:
    async with chatting() as chat:
        await chat.post("2 branches\n```\n› #1\n  └─ #2\n```\nYou are here.")
        shown = await chat.terminal.shows("You are here.")
        drawing = "       › #1\n         └─ #2"
        assert f"bough> 2 branches\n\n{drawing}\n\n       You are here." in shown


async def test_what_is_being_typed_stays_whatever_is_printed() -> None:
    async with chatting() as chat:
        message = await chat.post("working")
        chat.terminal.type("hel")
        await chat.terminal.shows("you> hel")
        await chat.post("An answer\nof two lines.")
        await chat.edit(message, "still working")
        shown = await chat.terminal.shows("still working")
        assert shown.endswith("you> hel")
        chat.terminal.type("lo\r")
        update = await chat.got()
        assert isinstance(update, Message)
        assert update.text == "hello"


async def test_a_message_that_was_changed_stays_below_what_is_said_meanwhile() -> None:
    async with chatting() as chat:
        message = await chat.post("progress: none")
        await chat.edit(message, "progress: some")
        await chat.post("Let me see.")
        await chat.post("I see.")
        await chat.edit(message, "progress: all")
        shown = await chat.terminal.shows("progress: all")
        assert shown.count("progress") == 1
        assert shown.index("Let me see.") < shown.index("I see.")


async def test_what_stood_there_is_left_as_it_was_when_a_line_is_sent() -> None:
    async with chatting() as chat:
        message = await chat.post("step 1", STOP)
        await chat.edit(message, "step 2", STOP)
        chat.terminal.type("how is it?\r")
        await chat.got()
        shown = await chat.terminal.shows("you> how is it?")
        assert shown.index("step 2") < shown.index("you> how is it?")
        await chat.edit(message, "step 3", STOP)
        shown = await chat.terminal.shows("step 3")
        assert shown.index("you> how is it?") < shown.index("step 3")
        assert (shown.count("step 2"), shown.count("step 1")) == (1, 0)


async def test_a_number_means_the_same_for_as_long_as_its_message_has_buttons() -> None:
    async with chatting() as chat:
        message = await chat.post("running", PAUSE, STOP)
        await chat.terminal.shows("[#1] Pause")
        await chat.edit(message, "paused", RESUME, STOP)
        shown = await chat.terminal.shows("[#3] Go")
        assert "[#2] Stop" in shown
        await chat.edit(message, "running again", PAUSE, STOP)
        await chat.terminal.shows("[#1] Pause")
        chat.terminal.type("#3\r")
        update = await chat.got()
        assert isinstance(update, Press)
        assert (update.token, update.message_id) == (RESUME.token, message)
        await chat.edit(message, "over")
        chat.terminal.type("#1\r")
        await chat.terminal.shows("there is no button #1")
        await chat.post("another one", STOP)
        await chat.terminal.shows("[#4] Stop")
        assert len(chat.updates) == 1


async def test_a_question_that_was_left_above_shows_only_what_was_decided() -> None:
    async with chatting() as chat:
        question = await chat.post("Deploy?", Button("yes", "t-yes"))
        chat.terminal.type("#1\r")
        assert isinstance(await chat.got(), Press)
        await chat.edit(question, "Deploy?\n\nyou decided: yes", fleeting=False)
        shown = await chat.terminal.shows("you decided")
        assert shown.count("Deploy?") == 1


async def test_a_text_is_more_than_the_screen_holds_and_all_of_it_is_shown() -> None:
    async with chatting() as chat:
        await chat.post("\n".join(f"line {number}." for number in range(3 * ROWS)))
        shown = await chat.terminal.shows(f"line {3 * ROWS - 1}.")
        assert "line 0." in shown


async def test_a_text_that_grows_past_the_screen_is_drawn_as_far_as_there_is_room() -> None:
    async with chatting() as chat:
        message = await chat.post("small")
        for rows in (ROWS + 5, ROWS - 1, ROWS, 2):
            await chat.edit(message, "\n".join(f"{rows} row {n}." for n in range(rows)))
        await chat.terminal.shows("2 row 1.")
        chat.terminal.type("ok\r")
        await chat.got()


async def test_control_characters_do_not_reach_the_terminal() -> None:
    evil = "a\x1b[2Jb\x1b]0;title\x07c\x9b5Ad\re\x08f &#27;[31mg&#x9b;h\n```\n\x1b[31mcode\n```"
    async with chatting() as chat:
        message = await chat.post(evil, Button("press\x1b[2J me", "t"))
        await chat.edit(message, f"again {evil}", Button("press\x1b[2J me", "t"))
        await chat.adapter.deliver(Acknowledge("h", "no\x1b[2J way"))
        await chat.terminal.shows("way")
        await chat.terminal.shows("press[2J me")
        assert "\x1b[2J" not in chat.terminal.raw
        assert "\x1b]" not in chat.terminal.raw


async def test_markdown_is_shown_and_nothing_of_it_is_lost() -> None:
    async with chatting() as chat:
        await chat.post(
            "**bold** and vector<int>\nsecond line\n\n<b>block</b>\n\n- [x](http://a.b)"
        )
        shown = await chat.terminal.shows("http://a.b")
        assert "bold and vector<int>" in shown
        assert "vector<int> second" not in shown
        assert "<b>block</b>" in shown
        assert "**" not in shown


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("helo\x7f\x7fllo\r", "hello"),
        ("one two\x17three\r", "one three"),
        ("nonsense\x15sense\r", "sense"),
        ("a\x1b[Ab\x1b[1;5Cc\x1bOPd\r", "abcd"),
        ("tab\there\n", "tab\there"),
        ("hlo\x1b[D\x1b[De\x1b[Cl\r", "hello"),
        ("end\x01at the \x05!\r", "at the end!"),
        ("draft\x03sent\r", "sent"),
        ("one\x1b\rtwo\r", "one\ntwo"),
        ("\x1b[200~pasted\r\n\tlines\n\x1b[201~.\r", "pasted\n\tlines\n."),
        ("\x1b[200~a\x1b[31mb\x07\x1b[201~\r", "a[31mb"),
        ("/bra\t 3\r", "/branch 3"),
        ("/go\tplan\r", "/goto plan"),
        ("see /go\r", "see /go"),
        ("日本語🙂\x7f!\r", "日本語!"),
    ],
)
async def test_keys_edit_the_line(keys: str, line: str) -> None:
    async with chatting() as chat:
        chat.terminal.type(keys)
        update = await chat.got()
        assert isinstance(update, Message)
        assert update.text == line


async def test_several_lines_at_once_are_several_messages() -> None:
    async with chatting() as chat:
        chat.terminal.type("one\rtwo\r\rthree\r")
        await chat.got(3)
        assert [one.text for one in chat.updates if isinstance(one, Message)] == [
            "one",
            "two",
            "three",
        ]


async def test_ctrl_d_ends_the_chat_and_answers_that_come_later_are_printed() -> None:
    with terminal() as shown:
        chat = Chat(shown, TerminalAdapter(LiveScreen(shown.input, shown.output)))
        task = asyncio.create_task(chat.adapter.run(chat.receive, {}))
        await shown.shows("you>")
        shown.type("bye\r\x04")
        async with asyncio.timeout(60):
            await task
        assert not shown.reads_keys
        await chat.post("Good bye.")
        text = await shown.shows("Good bye.")
        assert text.index("you> bye") < text.index("Good bye.")


async def test_the_terminal_is_taken_again_when_the_program_is_in_front_again() -> None:
    async with chatting() as chat:
        chat.terminal.as_a_shell_wants_it()
        os.kill(os.getpid(), signal.SIGCONT)
        async with asyncio.timeout(60):
            while not chat.terminal.reads_keys:
                await asyncio.sleep(0.01)


async def test_a_plain_number_is_talk_and_the_person_is_told_how_to_press() -> None:
    async with chatting() as chat:
        await chat.post("Deploy?", GO, STOP)
        chat.terminal.type("2\r")
        update = await chat.got()
        assert isinstance(update, Message)
        assert update.text == "2"
        await chat.terminal.shows("2 was sent as a message; #2 presses the button")


async def test_a_menu_offers_the_commands_that_a_beginning_may_mean() -> None:
    async with chatting() as chat:
        chat.terminal.type("/b\t")
        shown = await chat.terminal.shows("where it branched")
        assert "back to a message" in shown
        assert "to a label" not in shown
        chat.terminal.type("\t\r")
        update = await chat.got()
        assert isinstance(update, Message)
        assert update.text == "/branch"
        await chat.terminal.hides("where it branched")


async def test_the_arrows_bring_back_what_was_said_in_the_last_process_too() -> None:
    with terminal() as shown:

        async def reopened() -> Reopened:
            return Reopened("You go on with **Mails**.", ("first", "second"))

        screen = LiveScreen(shown.input, shown.output)
        chat = Chat(shown, TerminalAdapter(screen, reopen=reopened))
        await chat.adapter.start()
        task = asyncio.create_task(chat.adapter.run(chat.receive, {}))
        text = await shown.shows("you>")
        assert "bough> You go on with Mails." in text
        shown.type("third\r")
        await chat.got()
        await shown.shows("you> third")
        for said in ("third", "second", "first"):
            shown.type("\x1b[A")
            await shows_last(shown, f"you> {said}")
        shown.type("\x03\x04")
        async with asyncio.timeout(60):
            await task


async def test_ctrl_c_clears_the_line_first_and_leaves_on_an_empty_one() -> None:
    left = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, left.set)
    try:
        async with chatting() as chat:
            chat.terminal.type("a secret")
            await chat.terminal.shows("a secret")
            chat.terminal.type("\x03")
            await chat.terminal.hides("a secret")
            assert not left.is_set()
            chat.terminal.type("\x03")
            async with asyncio.timeout(60):
                await left.wait()
        assert chat.updates == []
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@pytest.mark.parametrize("keys", ["quit\r", " Exit \r", "\x04", "half\x15\x04"])
async def test_there_are_several_ways_to_leave(keys: str) -> None:
    with terminal() as shown:
        chat = Chat(shown, TerminalAdapter(LiveScreen(shown.input, shown.output)))
        task = asyncio.create_task(chat.adapter.run(chat.receive, {}))
        await shown.shows("you>")
        shown.type(keys)
        async with asyncio.timeout(60):
            await task
        assert not shown.reads_keys
        assert chat.updates == []


async def test_something_moves_while_an_answer_takes_long() -> None:
    async with chatting() as chat:
        chat.terminal.type("draft")
        await chat.adapter.deliver(Typing(CONVERSATION))
        for dots in DOTS[:3]:
            await chat.terminal.shows(f"bough> {dots}")
        await chat.post("Here it is.")
        await chat.terminal.hides("bough> ·")
        assert (await chat.terminal.shows("Here it is.")).endswith("you> draft")


async def test_whoever_leaves_while_an_answer_is_made_is_told_what_is_waited_for() -> None:
    with terminal() as shown:
        chat = Chat(shown, TerminalAdapter(LiveScreen(shown.input, shown.output)))
        task = asyncio.create_task(chat.adapter.run(chat.receive, {}))
        await chat.adapter.deliver(Typing(CONVERSATION))
        await shown.shows("bough> ·")
        shown.type("quit\r")
        async with asyncio.timeout(60):
            await task
        assert "Ctrl-C ends now" in (await shown.shows("next start)")).replace("\n", " ")


async def test_log_lines_stand_above_what_is_being_typed() -> None:
    log = logging.getLogger("bough.test")
    with terminal() as shown, redirect_stderr(shown.output):
        handler = logging.StreamHandler()
        logging.getLogger().addHandler(handler)
        try:
            chat = Chat(shown, TerminalAdapter(LiveScreen(shown.input, shown.output)))
            task = asyncio.create_task(chat.adapter.run(chat.receive, {}))
            await shown.shows("you>")
            shown.type("half a li")
            await shown.shows("half a li")
            await asyncio.to_thread(log.warning, "the house\x1b[2J burns")
            print("and ", end="", file=sys.stderr)
            print("the garden", file=sys.stderr)
            text = await shown.shows("and the garden")
            assert "the house[2J burns\n" in text
            await shows_last(shown, "you> half a li")
            shown.type("ne\r\x04")
            async with asyncio.timeout(60):
                await task
            log.warning("afterwards")
            await shown.shows("afterwards")
        finally:
            logging.getLogger().removeHandler(handler)
    assert [one.text for one in chat.updates if isinstance(one, Message)] == ["half a line"]


async def test_on_a_narrow_terminal_buttons_and_drawings_stay_readable() -> None:
    drawing = (
        "```\n"
        "› #1 👤 hello there\n"
        "  ├─ #3 👤 what is Bough, and what for 🏷 the question · 3 h\n"
        "  │  #4 🤖 A bot for Telegram\n"
        "● └─ #6 🤖 The delegated task is done now · 0 s\n"
        "```"
    )
    filters = [
        Button(name, f"t-{name}", beside=place > 0)
        for place, name in enumerate(("user", "labeled", "no-tools", "all"))
    ]
    async with chatting(40) as chat:
        await chat.post(drawing, *filters, Button("go: The checks pass, and somebody agrees", "t"))
        shown = await chat.terminal.shows("to choose)")
        assert shown.partition("bough>\n")[2].splitlines()[:11] == [
            "› #1 👤 hello there",
            "  ├─ #3 👤 what is Bough, and what for",
            "  │    🏷 the question · 3 h",
            "  │  #4 🤖 A bot for Telegram",
            "● └─ #6 🤖 The delegated task is done",
            "       now · 0 s",
            "  [#1] user  [#2] labeled  [#3] no-tools",
            "  [#4] all",
            "  [#5] go: The checks pass, and somebody",
            "       agrees",
            "  (type a number with its # to choose)",
        ]


async def shows_last(shown: Terminal, line: str) -> None:
    async with asyncio.timeout(60):
        while not shown.display.text.endswith(line):
            await asyncio.sleep(0.01)


async def test_a_terminal_that_is_closed_ends_the_chat() -> None:
    ours, theirs = pty.openpty()
    input_ = os.fdopen(theirs, encoding="utf-8", closefd=False)
    output = os.fdopen(theirs, "w", encoding="utf-8")
    adapter = TerminalAdapter(LiveScreen(input_, output))
    updates: list[Update] = []

    async def receive(update: Update) -> None:
        updates.append(update)
        os.close(ours)

    task = asyncio.create_task(adapter.run(receive, {}))
    os.write(ours, b"last words\r")
    async with asyncio.timeout(60):
        await task
    assert len(updates) == 1
    (body,) = adapter.render("Nobody sees this.")
    await adapter.deliver(Post(CONVERSATION, body))
    input_.close()
    with pytest.raises(OSError):
        output.close()
