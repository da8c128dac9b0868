"""Actions as they are stored with their buttons, those of older versions among them."""

from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter

from gateway.commands.activity import GoOn
from gateway.commands.chat.settings import ChooseSetting
from gateway.commands.context import Action
from gateway.commands.memory import DeleteNote, ForgetMe, KeepNotes, NotesPage
from gateway.commands.people.forget import ForgetPerson, KeepPerson
from gateway.commands.people.listing import PeoplePage, ShowPerson
from gateway.commands.people.requests import Ignore, LetIn
from gateway.commands.people.rights import RemovePerson, SetRole
from gateway.commands.sessions.attach import TakeAttached
from gateway.commands.sessions.search import SearchPage
from gateway.commands.sessions.switch import Stay, Take
from gateway.commands.tree.branch_summary import Bring
from gateway.commands.tree.diff import DiffPage
from gateway.commands.tree.fan import Pick
from gateway.commands.tree.leaf_moves import Back
from gateway.commands.tree.siblings import ReadOn, Reask, Sibling
from storage.records.buttons import OnMenu, RunCommand
from storage.records.entries import Json

ACTIONS: dict[str, type[Action]] = {
    action.name: action
    for action in (
        Back,
        Bring,
        ChooseSetting,
        DeleteNote,
        DiffPage,
        ForgetMe,
        ForgetPerson,
        GoOn,
        Ignore,
        KeepNotes,
        KeepPerson,
        LetIn,
        NotesPage,
        PeoplePage,
        Pick,
        ReadOn,
        Reask,
        RemovePerson,
        SearchPage,
        SetRole,
        ShowPerson,
        Sibling,
        Stay,
        Take,
        TakeAttached,
    )
}
_READERS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(action) for name, action in ACTIONS.items()
}


def action_of(run: OnMenu) -> Action | None:
    """What a stored button does; None where it stands for a command that could be typed.
    ValueError where the payload is not of the action's form."""
    if isinstance(run, RunCommand):
        return None
    name, payload = _renamed(run.name, run.payload)
    if name not in ACTIONS:
        return None
    known = {field.name for field in fields(ACTIONS[name])}
    action: Action = _READERS[name].validate_python(
        {key: value for key, value in payload.items() if key in known}
    )
    return action


def _renamed(command: str, payload: Json) -> tuple[str, Json]:
    """Until 2026-11 an action was a command line, whose payload some commands looked for."""
    name, _, argument = command.partition(" ")
    match name:
        case "diff" if "page" in payload:
            return DiffPage.name, {**payload, "places": argument}
        case "search" if "bounds" in payload:
            return SearchPage.name, {**payload, "words": argument}
        case "summary" if "left" in payload:
            return Bring.name, payload
        case _:
            return name, payload
