import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Button, Choice, CommandSpec, Edit, OpenThread, Post, Suggest, Upload
from adapters.discord import payload
from adapters.events import Conversation

PLACE = Conversation("discord", "42")


def button(number: int, *, beside: bool = False) -> Button:
    return Button(f"label {number}", f"token{number}", beside=beside)


def rows(*groups: int) -> list[list[int]]:
    """The numbers of buttons as they are shown, of groups of so many beside each other."""
    besides = [place > 0 for size in groups for place in range(size)]
    buttons = tuple(button(number, beside=beside) for number, beside in enumerate(besides))
    components = payload.changed_message(Edit(PLACE, "1", {"text": "?"}, buttons))["components"]
    prefix = f"{payload.BUTTON_PREFIX}token"
    return [
        [int(shape["custom_id"].removeprefix(prefix)) for shape in row["components"]]
        for row in components
    ]


def test_a_button_stands_beside_the_one_before_it_only_where_it_says_so() -> None:
    assert rows(1, 3, 2) == [[0], [1, 2, 3], [4, 5]]


def test_a_group_that_is_too_wide_goes_on_in_the_next_row() -> None:
    assert rows(7, 1) == [[0, 1, 2, 3, 4], [5, 6], [7]]


def test_of_more_groups_than_rows_the_smallest_neighbours_share_a_row() -> None:
    assert rows(1, 1, 1, 1, 1, 1, 3) == [[0, 1], [2, 3], [4], [5], [6, 7, 8]]
    assert rows(3, 3, 3, 1, 4, 3) == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8, 9],
        [10, 11, 12, 13],
        [14, 15, 16],
    ]


def test_where_groups_cannot_be_kept_the_rows_are_filled() -> None:
    assert rows(3, 3, 3, 3, 3, 3) == [list(range(n, min(n + 5, 18))) for n in (0, 5, 10, 15)]


@given(st.lists(st.integers(1, 7), max_size=30))
def test_however_buttons_are_grouped_all_that_fit_are_shown_in_order(groups: list[int]) -> None:
    shown = rows(*groups)
    assert [number for row in shown for number in row] == list(range(min(sum(groups), 25)))
    assert len(shown) <= 5
    assert all(1 <= len(row) <= 5 for row in shown)


def test_buttons_stand_five_in_a_row() -> None:
    post = Post(PLACE, {"text": "?"}, tuple(button(number) for number in range(7)))
    rows = payload.new_message(post)["components"]
    assert [len(row["components"]) for row in rows] == [5, 2]
    assert rows[1]["components"][1]["custom_id"] == "bough:token6"


def test_more_buttons_than_discord_shows_are_left_out_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    post = Post(PLACE, {"text": "?"}, tuple(button(number) for number in range(27)))
    with caplog.at_level(logging.WARNING):
        rows = payload.new_message(post)["components"]
    assert [len(row["components"]) for row in rows] == [5] * 5
    assert "2 are left out" in caplog.text


def test_styles_and_long_labels_fit_discord() -> None:
    buttons = (
        Button("x" * 100, "a", "primary"),
        Button("No", "b", "danger"),
        Button(" ", "c"),
        Button("Odd", "d", "rainbow"),
    )
    [row] = payload.new_message(Post(PLACE, {"text": "?"}, buttons))["components"]
    assert [shape["style"] for shape in row["components"]] == [1, 4, 2, 2]
    assert [shape["label"] for shape in row["components"]] == ["x" * 79 + "…", "No", "…", "Odd"]


def test_a_message_pings_nobody_and_embeds_nothing() -> None:
    post = Post(PLACE, {"text": "@everyone"}, nonce="n" * 30, reply_to="7")
    assert payload.new_message(post) == {
        "content": "@everyone",
        "allowed_mentions": {"parse": []},
        "flags": 4,
        "nonce": "n" * 25,
        "enforce_nonce": True,
        "message_reference": {"message_id": "7", "fail_if_not_exists": False},
    }


def test_an_edit_without_buttons_takes_them_away() -> None:
    assert payload.changed_message(Edit(PLACE, "7", {"text": "done"}))["components"] == []


def test_what_stood_in_code_stays_there_in_plain_text() -> None:
    text = "*a* `https://x.example *b*` ``c ` d`` *e* ```\n*f*\n``` `*g*"
    shown = payload.new_message(Post(PLACE, {"text": text}, plain=True))["content"]
    code = "`https://x.example *b*` ``c ` d`` \\*e\\* ```\n*f*\n```"
    assert shown == f"\\*a\\* {code} \\`\\*g\\*"


def test_plain_text_is_escaped_where_that_fits() -> None:
    post = Post(PLACE, {"text": "**bold**"}, plain=True)
    assert payload.new_message(post)["content"] == "\\*\\*bold\\*\\*"
    long = "*" * 1500
    assert payload.new_message(Post(PLACE, {"text": long}, plain=True))["content"] == long


def test_a_command_is_offered_in_servers_and_in_private() -> None:
    assert payload.command(CommandSpec("new", "Start anew")) == {
        "name": "new",
        "description": "Start anew",
        "contexts": [0, 1],
    }
    [option] = payload.command(CommandSpec("goto", "Go to an entry", "Entry number"))["options"]
    assert (option["type"], option["required"]) == (3, False)
    assert (option["name"], option["description"]) == ("entry-number", "Entry number")


def test_an_option_that_completes_itself_says_so() -> None:
    [option] = payload.command(CommandSpec("goto", "Go", "name", completes=True))["options"]
    assert option["autocomplete"] is True


def test_a_command_of_private_chats_is_not_offered_in_servers() -> None:
    assert payload.command(CommandSpec("mine", "Mine", private=True))["contexts"] == [1]


def test_a_command_may_stand_in_the_menu_of_messages_too() -> None:
    slash, menu = payload.commands([CommandSpec("retry", "Again", on_message="Retry")])
    assert slash["name"] == "retry"
    assert menu == {"name": "Retry", "type": 3, "contexts": [0, 1]}


def test_suggestions_are_as_many_and_as_long_as_discord_takes() -> None:
    many = tuple(Choice(f"{n} {'x' * 200}", str(n)) for n in range(40))
    [data] = [payload.suggestions(Suggest("h", (Choice("x", "y" * 101), *many)))["data"]]
    assert [one["value"] for one in data["choices"]] == [str(n) for n in range(24)]
    assert all(len(one["name"]) <= 100 for one in data["choices"])


def test_the_message_that_a_thread_hangs_on_is_not_replied_to_in_it() -> None:
    post = Post(PLACE, {"text": "hi"}, reply_to="42")
    assert "message_reference" not in payload.new_message(post)


@given(st.text())
def test_a_thread_has_a_name_that_discord_takes(name: str) -> None:
    called = payload.new_thread(OpenThread(PLACE, PLACE, "1", name))["name"]
    assert 1 <= len(called.encode("utf-16-le")) // 2 <= 100
    assert called == " ".join(called.split())


def test_a_command_may_take_a_file() -> None:
    [option] = payload.command(CommandSpec("import", "Import", file=True))["options"]
    assert (option["type"], option["name"], option["required"]) == (11, "attachment", False)
    both = payload.command(CommandSpec("import", "Import", "title", file=True))["options"]
    assert [(option["type"], option["name"]) for option in both] == [
        (3, "title"),
        (11, "attachment"),
    ]


def test_a_file_is_named_in_the_message_and_follows_it() -> None:
    upload = Upload('../a "tree"\r\n.txt', b"content")
    message = payload.new_message(Post(PLACE, {"text": "here"}, upload=upload))
    assert message["attachments"] == [{"id": "0", "filename": "_a_tree_.txt"}]
    words, file = payload.form(message, upload)
    assert json.loads(words["value"]) == message
    assert (file["name"], file["filename"], file["value"]) == (
        "files[0]",
        "_a_tree_.txt",
        b"content",
    )


def test_a_picture_is_called_one_so_that_it_is_shown() -> None:
    for name in ("tree", "tree.png", "tree.PNG"):
        upload = Upload(name, b"", picture=True)
        message = payload.new_message(Post(PLACE, {"text": "here"}, upload=upload))
        assert message["attachments"][0]["filename"].lower() == "tree.png"


def test_a_change_says_nothing_of_files_so_that_they_stay() -> None:
    assert "attachments" not in payload.changed_message(Edit(PLACE, "7", {"text": "done"}))
