"""Buttons in memory."""

from dataclasses import replace

from storage.errors import StoreError
from storage.json_text import copied
from storage.memory_boxes import BoxTables
from storage.memory_rows import Table
from storage.records.buttons import ButtonRow, RunCommand


class MemoryButtons:
    def __init__(self, tables: Table[str, ButtonRow], boxes: BoxTables) -> None:
        self._tables = tables
        self._boxes = boxes

    def put(self, button: ButtonRow) -> None:
        self._boxes.outbox.expect(button.outbox)
        if button.token in self._tables:
            raise StoreError("a button with that token is there already")
        self._tables[button.token] = _copy(button)

    def get(self, token: str) -> ButtonRow | None:
        button = self._tables.get(token)
        return None if button is None else _copy(button)

    def use(self, outbox: int, used: str) -> bool:
        valid = [b for b in self._tables.values() if b.outbox == outbox and not b.used]
        for button in valid:
            self._tables[button.token] = replace(button, used=used)
        return bool(valid)

    def temporary(self) -> list[ButtonRow]:
        rows = [b for b in self._tables.values() if b.expires is not None and not b.used]
        return [_copy(row) for row in sorted(rows, key=lambda row: row.outbox)]


def _copy(button: ButtonRow) -> ButtonRow:
    action = button.action
    if isinstance(action, RunCommand):
        action = replace(action, subject=copied(action.subject))
    return replace(button, action=action)
