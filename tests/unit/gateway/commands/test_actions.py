"""Actions of buttons, as they are stored, now and by older versions."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gateway.commands.actions import ACTIONS, action_of
from gateway.commands.activity import GoOn
from gateway.commands.buttons import button
from gateway.commands.chat.settings import ChooseSetting
from gateway.commands.context import Action
from gateway.commands.memory import DeleteNote, ForgetMe, KeepNotes, NotesPage
from gateway.commands.people.forget import ForgetPerson, KeepPerson
from gateway.commands.people.listing import PeoplePage, ShowPerson
from gateway.commands.people.requests import Ignore, LetIn
from gateway.commands.people.rights import RemovePerson, SetRole
from gateway.commands.registry import COMMANDS
from gateway.commands.sessions.attach import TakeAttached
from gateway.commands.sessions.search import SearchPage
from gateway.commands.sessions.switch import Stay, Take
from gateway.commands.tree.branch_summary import Bring
from gateway.commands.tree.diff import DiffPage
from gateway.commands.tree.fan import Pick
from gateway.commands.tree.leaf_moves import Back
from gateway.commands.tree.siblings import ReadOn, Reask, Sibling
from storage.json_text import dumps
from storage.records.buttons import RunAction, RunCommand, from_subject

EACH = [
    Back(None),
    Back(7),
    Bring(7),
    ChooseSetting("stream", "off", "default:on"),
    DeleteNote(12, "two words", 2),
    DiffPage("#1 #2", 2),
    ForgetMe("telegram:1"),
    Ignore("telegram:1"),
    KeepNotes(),
    GoOn(2),
    ForgetPerson("telegram:1001"),
    KeepPerson("telegram:1001"),
    LetIn("telegram:1"),
    NotesPage("two words", 2),
    PeoplePage(2),
    Pick(1, 7, "1/2 · parent"),
    ReadOn(1, 7, 9),
    Reask(1, 3, None),
    RemovePerson("telegram:1"),
    SearchPage("two words", [9, 7]),
    SetRole("telegram:1", "owner"),
    ShowPerson("telegram:1", 2),
    Sibling(1, 7),
    Stay(),
    Take(1, None, "telegram:1"),
    TakeAttached("abc", "telegram:1"),
]


@pytest.mark.parametrize("action", EACH)
def test_an_action_is_read_as_it_was_stored(action: Action) -> None:
    item = button("label", action, within=5)
    assert isinstance(item.does, RunAction)
    assert item.does.within == 5
    assert action_of(replace(item.does, payload=json.loads(dumps(item.does.payload)))) == action


def test_every_action_is_known() -> None:
    assert {type(action).name for action in EACH} == set(ACTIONS)


@pytest.mark.parametrize(
    ("command", "payload", "meant"),
    [
        ("sibling #12", {"session": 1, "entry": 7}, Sibling(1, 7)),
        ("read #12", {"session": 1, "entry": 7, "shown": 9}, ReadOn(1, 7, 9)),
        ("reask #12", {"session": 1, "row": 3, "to": None}, Reask(1, 3, None)),
        ("pick #12", {"session": 1, "entry": 7, "heading": "1/2"}, Pick(1, 7, "1/2")),
        ("back", {"leaf": None, "tree": 1}, Back(None)),
        ("take", {"session": 1, "number": 4, "by": "a:1"}, Take(1, 4, "a:1")),
        ("take_attached", {"code": "abc", "by": "a:1"}, TakeAttached("abc", "a:1")),
        ("stay", {}, Stay()),
        ("diff #1 #2", {"page": 2, "tree": 1}, DiffPage("#1 #2", 2)),
        ("search two words", {"bounds": [9]}, SearchPage("two words", [9])),
        ("summary", {"left": 7, "tree": 1}, Bring(7)),
    ],
)
def test_a_button_that_an_older_version_stored_means_what_it_meant(
    command: str, payload: dict[str, Any], meant: Action
) -> None:
    assert action_of(from_subject(command, {**payload, "private": False})) == meant


@pytest.mark.parametrize("command", ["diff #1 #2", "search words", "summary", "tip #3", "goto #1"])
def test_a_command_line_is_no_action(command: str) -> None:
    run = from_subject(command, {"tree": 1, "private": True})
    assert run == RunAction(command, {}, private=True, within=1)
    assert action_of(run) is None
    assert action_of(RunCommand(command)) is None
    assert command.split()[0] in COMMANDS


def test_a_payload_of_another_form_is_an_error() -> None:
    with pytest.raises(ValueError, match="entry"):
        action_of(RunAction("sibling", {"session": 1}))
