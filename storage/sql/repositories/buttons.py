"""Buttons in SQL."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from storage.json_text import dumps
from storage.records.buttons import (
    Action,
    ActOnChild,
    AnswerInWords,
    ButtonRow,
    Decide,
    RunCommand,
    ShowChoices,
)
from storage.sql.schema import buttons

_PUT = insert(buttons)
_GET = select(buttons).where(buttons.c.token == bindparam("pressed"))
_USE = (
    update(buttons)
    .where(buttons.c.outbox == bindparam("row"), buttons.c.used == "")
    .values(used=bindparam("how"))
)
_TEMPORARY = (
    select(buttons)
    .where(buttons.c.expires.is_not(None), buttons.c.used == "")
    .order_by(buttons.c.outbox)
)
_ACTIONS: Mapping[str, type[Action]] = {
    "decide": Decide,
    "words": AnswerInWords,
    "choices": ShowChoices,
    "command": RunCommand,
    "child": ActOnChild,
}
_NAMES = {action: name for name, action in _ACTIONS.items()}


class SqlButtons:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, button: ButtonRow) -> None:
        values = {
            "token": button.token,
            "address": button.address,
            "outbox": button.outbox,
            "label": button.label,
            "action": _NAMES[type(button.action)],
            "body": dumps(asdict(button.action)),
            "by_whom": button.by,
            "expires": button.expires,
            "used": button.used,
        }
        self._connection.execute(_PUT, values)

    def get(self, token: str) -> ButtonRow | None:
        row = self._connection.execute(_GET, {"pressed": token}).one_or_none()
        return None if row is None else _button(row)

    def use(self, outbox: int, used: str) -> bool:
        return self._connection.execute(_USE, {"row": outbox, "how": used}).rowcount > 0

    def temporary(self) -> list[ButtonRow]:
        return [_button(row) for row in self._connection.execute(_TEMPORARY)]


def _button(row: Row[Any]) -> ButtonRow:
    return ButtonRow(
        row.token,
        row.address,
        row.outbox,
        row.label,
        _ACTIONS[row.action](**json.loads(row.body)),
        row.by_whom,
        row.expires,
        row.used,
    )
