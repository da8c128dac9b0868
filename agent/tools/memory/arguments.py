"""A call of memory as models make it: with other words for its actions, fields and scopes. Pure."""

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from storage.records.entries import Json
from storage.records.tools.notes import NoteScope

Action = Literal["add", "replace", "remove", "search", "list"]
_ACTIONS = {
    "add": "save store remember create write note keep append insert",
    "replace": "update edit change modify correct",
    "remove": "delete forget erase drop clear",
    "search": "find query recall lookup retrieve",
    "list": "read view show get all",
}
_SCOPES = {
    NoteScope.PERSON: "user me self personal private mine people",
    NoteScope.CHAT: "conversation group channel here room topic shared",
}
_MEANT = {word: name for name, words in _ACTIONS.items() for word in words.split()}
_WHERE = {word: scope.value for scope, words in _SCOPES.items() for word in words.split()}


def _word(value: object, others: dict[str, str]) -> object:
    if not isinstance(value, str):
        return value
    word = value.strip().casefold()
    return others.get(word, word)


def _action(value: object) -> object:
    return _word(value, _MEANT)


def _scope(value: object) -> object:
    return _word(value, _WHERE) or None


def _number(value: object) -> object:
    """ "#12" and "" as models write them."""
    return value.strip().removeprefix("#") or None if isinstance(value, str) else value


def _string(value: object) -> object:
    return "" if value is None else value


_Text = Annotated[str, BeforeValidator(_string)]
_TEXTS = ("text", "content", "query", "new_text", "value")


class Arguments(BaseModel):
    """What is given besides is passed over."""

    model_config = ConfigDict(extra="ignore")

    action: Annotated[Action, BeforeValidator(_action)]
    text: _Text = Field(default="", validation_alias=AliasChoices(*_TEXTS))
    scope: Annotated[NoteScope | None, BeforeValidator(_scope)] = None
    note: Annotated[int | None, BeforeValidator(_number)] = Field(
        default=None, validation_alias=AliasChoices("note", "number", "id", "note_id")
    )
    old_text: _Text = Field(default="", validation_alias=AliasChoices("old_text", "old"))

    @model_validator(mode="before")
    @classmethod
    def _note_may_be_its_text(cls, given: object) -> object:
        """Where a model puts the note itself under "note"."""
        if not isinstance(given, dict) or any(given.get(name) for name in _TEXTS):
            return given
        note = given.get("note")
        if not isinstance(note, str) or str(_number(note) or "0").isdecimal():
            return given
        return {key: value for key, value in given.items() if key != "note"} | {"text": note}


PARAMETERS: Json = {
    "type": "object",
    "properties": {
        "action": {
            "type": "string",
            "enum": ["add", "replace", "remove", "search", "list"],
            "description": "add, replace and remove change one note; search looks for the words "
            "in text; list gives all, newest first.",
        },
        "text": {
            "type": "string",
            "description": "The note, or the words to search for. One fact, in a sentence that is "
            "clear without this conversation.",
        },
        "scope": {
            "type": "string",
            "enum": ["person", "chat"],
            "description": "person: about who speaks, read in their private conversations only. "
            "chat: for everybody in this conversation. Left out: person where you speak with one "
            "person alone, else chat; to search or list, all that may be read here.",
        },
        "note": {"type": "integer", "description": "Number of the note to replace or remove."},
        "old_text": {
            "type": "string",
            "description": "Instead of a number: words that stand in that note and in no other.",
        },
    },
    "required": ["action"],
}
