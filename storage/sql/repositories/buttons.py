"""Menu buttons in SQL."""

import json

from sqlalchemy import Connection, bindparam, insert, select, update

from storage.json_text import dumps
from storage.records.buttons import MenuButton
from storage.sql.schema import menu_buttons

_PUT = insert(menu_buttons)
_GET = select(menu_buttons).where(menu_buttons.c.token == bindparam("token"))
_USE = (
    update(menu_buttons)
    .where(menu_buttons.c.outbox == bindparam("row"), menu_buttons.c.used == "")
    .values(used=bindparam("how"))
)


class SqlMenus:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, button: MenuButton) -> None:
        values = {
            "token": button.token,
            "address": button.address,
            "outbox": button.outbox,
            "label": button.label,
            "command": button.command,
            "by_whom": button.by,
            "subject": dumps(button.subject),
            "used": button.used,
        }
        self._connection.execute(_PUT, values)

    def get(self, token: str) -> MenuButton | None:
        row = self._connection.execute(_GET, {"token": token}).one_or_none()
        if row is None:
            return None
        return MenuButton(
            row.token,
            row.address,
            row.outbox,
            row.label,
            row.command,
            row.by_whom,
            json.loads(row.subject),
            row.used,
        )

    def use(self, outbox: int, used: str) -> bool:
        return self._connection.execute(_USE, {"row": outbox, "how": used}).rowcount > 0
