"""Buttons in SQL."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from storage.json_text import dumps, loads
from storage.records.buttons import (
    Action,
    ActOnChild,
    AnswerInWords,
    ButtonRow,
    Decide,
    RunAction,
    RunCommand,
    ShowChoices,
    from_subject,
)
from storage.records.entries import Json
from storage.sql.rows import Columns, Shape
from storage.sql.schema import buttons

_ACTIONS: Mapping[str, type[Action]] = {
    "decide": Decide,
    "words": AnswerInWords,
    "choices": ShowChoices,
    "command": RunCommand,
    "action": RunAction,
    "child": ActOnChild,
}
_NAMES = {action: name for name, action in _ACTIONS.items()}


class _ActionPart:
    """Its name, and its fields as JSON."""

    columns = (buttons.c.action, buttons.c.body)

    def read(self, columns: Columns) -> Iterator[Action]:
        for name, body in zip(next(columns), next(columns), strict=True):
            yield _action(name, loads(body))

    def write(self, value: Action, values: dict[str, Any]) -> None:
        values |= {"action": _NAMES[type(value)], "body": dumps(asdict(value))}


_BUTTONS = Shape(ButtonRow, buttons, action=_ActionPart(), by="by_whom")
_PUT = insert(buttons)
_GET = select(*_BUTTONS.columns).where(buttons.c.token == bindparam("pressed"))
_USE = (
    update(buttons)
    .where(buttons.c.outbox == bindparam("row"), buttons.c.used == "")
    .values(used=bindparam("how"))
)
_TEMPORARY = (
    select(*_BUTTONS.columns)
    .where(buttons.c.expires.is_not(None), buttons.c.used == "")
    .order_by(buttons.c.outbox)
)


class SqlButtons:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, button: ButtonRow) -> None:
        self._connection.execute(_PUT, _BUTTONS.row(button))

    def get(self, token: str) -> ButtonRow | None:
        row = self._connection.execute(_GET, {"pressed": token}).one_or_none()
        return None if row is None else _BUTTONS.one(row)

    def use(self, outbox: int, used: str) -> bool:
        return self._connection.execute(_USE, {"row": outbox, "how": used}).rowcount > 0

    def temporary(self) -> list[ButtonRow]:
        return _BUTTONS.all(self._connection.execute(_TEMPORARY))


def _action(name: str, body: Json) -> Action:
    if "subject" in body:
        return from_subject(**body)
    return _ACTIONS[name](**body)
