"""The chat through pipes and files: lines that scripts read."""

import io
from pathlib import Path

import pytest

from adapters.base import Acknowledge, Button, CommandSpec, Edit, Post, Upload
from adapters.events import File, Message, Press, Update
from adapters.terminal.adapter import CONVERSATION, Reopened, TerminalAdapter
from adapters.terminal.plain_screen import PlainScreen
from tests.stand_ins.terminal import terminal

GO = Button("go: now", "t-go")


def chat(typed: str = "") -> tuple[TerminalAdapter, io.StringIO]:
    output = io.StringIO()
    return TerminalAdapter(PlainScreen(io.StringIO(typed), output)), output


async def post(adapter: TerminalAdapter, text: str, *buttons: Button) -> str:
    (body,) = adapter.render(text)
    message_id = await adapter.deliver(Post(CONVERSATION, body, buttons))
    assert message_id is not None
    return message_id


async def edit(
    adapter: TerminalAdapter,
    message_id: str,
    text: str,
    *buttons: Button,
    fleeting: bool = False,
) -> None:
    (body,) = adapter.render(text)
    await adapter.deliver(Edit(CONVERSATION, message_id, body, buttons, fleeting=fleeting))


async def heard(adapter: TerminalAdapter) -> list[Update]:
    updates: list[Update] = []

    async def receive(update: Update) -> None:
        updates.append(update)

    await adapter.run(receive, {})
    return updates


async def test_a_question_and_its_decision_are_lines() -> None:
    adapter, output = chat("#1\nhello\n")
    question = await post(adapter, "Deploy\\_it?\nNow.", GO, Button("stop", "t-stop"))
    press, message = await heard(adapter)
    assert isinstance(press, Press)
    assert (press.token, press.message_id) == ("t-go", question)
    assert isinstance(message, Message)
    assert message.text == "hello"
    await edit(adapter, question, "Deploy\\_it?\nNow.\n\nyou decided: go")
    assert output.getvalue() == (
        "bough> Deploy_it?\n"
        "       Now.\n"
        "         [#1] go: now\n"
        "         [#2] stop\n"
        "         (type a number with its # to choose)\n"
        "bough> you decided: go\n"
    )


async def test_a_decision_that_takes_out_what_was_offered_is_one_line_too() -> None:
    adapter, output = chat("#1\nhello\n")
    question = await post(adapter, "Deploy?\n\n- go: now\n\nSeen: it", GO)
    await heard(adapter)
    await edit(adapter, question, "Deploy?\n\nSeen: it\n\nyou decided: go")
    assert output.getvalue().endswith("to choose)\nbough> you decided: go\n")


@pytest.mark.parametrize("line", ["1", "²", "١", "#1 please", "##1", "#", "/goto #1", "9" * 5_000])
async def test_only_a_number_with_its_mark_presses(line: str) -> None:
    adapter, _ = chat(f"{line}\n")
    await post(adapter, "Deploy?", GO)
    (update,) = await heard(adapter)
    assert isinstance(update, Message)
    assert update.text == line


async def test_a_number_that_answers_the_newest_question_brings_a_hint_and_no_other() -> None:
    adapter, output = chat("1\n")
    await post(adapter, "Deploy?", GO)
    await heard(adapter)
    hint = "bough> (1 was sent as a message; #1 presses the button)\n"
    assert output.getvalue().count(hint) == 1
    await post(adapter, "How many apples?")
    adapter.screen = PlainScreen(io.StringIO("1\n"), output)
    assert isinstance((await heard(adapter))[0], Message)
    assert output.getvalue().count(hint) == 1


@pytest.mark.parametrize("line", ["#1", "#2", "#0"])
async def test_a_button_that_is_gone_presses_nothing_and_is_not_talk(line: str) -> None:
    adapter, output = chat(f"{line}\n")
    question = await post(adapter, "Deploy?", GO)
    await edit(adapter, question, "Deploy?\n\nover")
    await post(adapter, "Really?", Button("yes", "t-yes"), Button("no", "t-no"))
    assert "[#2] yes" in output.getvalue()
    updates = await heard(adapter)
    if line == "#2":
        assert [type(update) for update in updates] == [Press]
    else:
        assert updates == []
        assert f"there is no button {line};" in output.getvalue()


async def test_quit_ends_the_chat() -> None:
    adapter, _ = chat("one\nquit the job\n QUIT\ntwo\n")
    texts = [update.text for update in await heard(adapter) if isinstance(update, Message)]
    assert texts == ["one", "quit the job"]


async def test_nobody_is_greeted_in_a_pipe() -> None:
    async def reopened() -> Reopened:
        return Reopened("You go on.")

    output = io.StringIO()
    adapter = TerminalAdapter(PlainScreen(io.StringIO(), output), reopen=reopened)
    await adapter.start()
    await heard(adapter)
    assert output.getvalue() == ""


async def test_what_changes_all_the_time_is_shown_once() -> None:
    adapter, output = chat("#1\n")
    message = await post(adapter, "running", GO)
    said = output.getvalue()
    await edit(adapter, message, "still running", GO, fleeting=True)
    assert isinstance((await heard(adapter))[0], Press)
    await edit(adapter, message, "over", fleeting=True)
    await edit(adapter, message, "over and out")
    assert output.getvalue() == said


async def test_a_page_that_is_turned_is_shown_again_with_its_buttons() -> None:
    adapter, output = chat()
    message = await post(adapter, "page 1", Button("next", "t-1"))
    await edit(
        adapter, message, "page 2", Button("back", "t-2"), Button("next", "t-3", beside=True)
    )
    assert "bough> page 2\n         [#2] back  [#3] next\n" in output.getvalue()


async def test_control_characters_do_not_reach_the_output() -> None:
    adapter, output = chat()
    evil = "a\x1b[2Jb\x9b5A\x07\r\x7f\ttab\x85\nend"
    question = await post(adapter, evil, Button(f"b{evil}", "t"))
    await edit(adapter, question, f"{evil} more{evil}")
    await adapter.deliver(Acknowledge("h", evil))
    await post(adapter, evil)
    left = {character for character in output.getvalue() if not character.isprintable()}
    assert left == {"\n", "\t"}


async def test_a_file_that_goes_out_is_saved_and_where_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    adapter, output = chat()
    (body,) = adapter.render("Here it is.")
    await adapter.deliver(Post(CONVERSATION, body, upload=Upload("talk.jsonl", b"{}")))
    assert output.getvalue() == "bough> Here it is.\n       (saved as bough-files/talk.jsonl)\n"
    assert (tmp_path / "bough-files" / "talk.jsonl").read_bytes() == b"{}"


async def test_a_command_that_takes_a_file_takes_its_path(tmp_path: Path) -> None:
    (tmp_path / "my talk.jsonl").write_text("{}")
    path = str(tmp_path / "my talk.jsonl")
    adapter, _ = chat(f"/import {path}\n/search {path}\n/import\n")
    adapter.commands = (CommandSpec("import", "…", file=True), CommandSpec("search", "…"))
    files = [update.files for update in await heard(adapter) if isinstance(update, Message)]
    assert files == [(File(path, "my talk.jsonl", 0),), (), ()]
    assert await adapter.fetch(path, 10) == b"{}"


async def test_on_a_terminal_that_can_do_no_more_rows_are_cut_between_words() -> None:
    with terminal(40) as shown:
        adapter = TerminalAdapter(PlainScreen(shown.input, shown.output))
        await adapter.start()
        await post(adapter, "  ├─ #3 👤 what is Bough, and what for", Button("a " * 20, "t"))
        text = await shown.shows("choose)")
    assert text[text.index("bough>") :].splitlines()[:5] == [
        "bough>   ├─ #3 👤 what is Bough, and",
        "         │    what for",
        "         [#1] a a a a a a a a a a a a a",
        "              a a a a a a a",
        "         (type a number with its # to",
    ]
