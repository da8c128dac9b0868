"""Menu buttons in memory."""

from dataclasses import replace

from storage.json_text import copied
from storage.memory_boxes import BoxTables
from storage.memory_rows import Table
from storage.records.buttons import MenuButton


class MemoryMenus:
    def __init__(self, tables: Table[str, MenuButton], boxes: BoxTables) -> None:
        self._tables = tables
        self._boxes = boxes

    def put(self, button: MenuButton) -> None:
        self._boxes.outbox.expect(button.outbox)
        self._tables[button.token] = replace(button, subject=copied(button.subject))

    def get(self, token: str) -> MenuButton | None:
        button = self._tables.get(token)
        return replace(button, subject=copied(button.subject)) if button is not None else None

    def use(self, outbox: int, used: str) -> bool:
        valid = [b for b in self._tables.values() if b.outbox == outbox and not b.used]
        for button in valid:
            self._tables[button.token] = replace(button, used=used)
        return bool(valid)
