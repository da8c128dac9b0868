"""What commands leave to a session's lane, as it is kept now and as older versions kept it."""

import json
from dataclasses import asdict

from adapters.events import Conversation, Message, User
from gateway.outbound.buttons import MenuItem
from gateway.turns.requests import LeaveRequest, request, requested
from storage.json_text import dumps
from storage.records.buttons import RunAction, RunCommand
from storage.records.entries import Json
from storage.records.inbox_outbox import InboxKind, InboxRow, InboxState

MESSAGE = Message(
    "k", Conversation("telegram", "1"), User("telegram", "1", "Ann"), "/goto 2", "5", private=True
)


def row(payload: Json) -> InboxRow:
    stored = json.loads(dumps(payload))
    return InboxRow(
        1, "k", InboxKind.LEAVE, "telegram:1", stored, 1, None, InboxState.OPEN, time=0.0
    )


def test_the_buttons_of_a_branch_that_is_to_be_left_are_read_as_they_were_kept() -> None:
    items = (
        MenuItem("Back", RunAction("back", {"leaf": 7}, within=1)),
        MenuItem("Answer it", RunCommand("retry", within=1), beside=True),
    )
    payload = request(LeaveRequest, MESSAGE, left=7, to=2, why="goto", answer="So.", items=items)
    assert requested(LeaveRequest, row(payload)).items == items


def test_the_buttons_that_an_older_version_kept_mean_what_they_meant() -> None:
    old = {"label": "Back", "command": "back", "style": "plain", "beside": True, "whole": ""}
    items = [{**old, "subject": {"leaf": 7, "tree": 1}}]
    more = {"left": 7, "to": None, "why": "goto", "answer": "So.", "items": items}
    found = requested(LeaveRequest, row({**asdict(MESSAGE), **more}))
    back = RunAction("back", {"leaf": 7}, within=1)
    assert found.items == (MenuItem("Back", back, beside=True),)
