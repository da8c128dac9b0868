"""What was chosen for conversations, in SQL."""

from sqlalchemy import Connection, bindparam, delete, select

from storage.records.chats.chat_settings import ChatChoice, ChatChoiceChange
from storage.sql.rows import Shape, upsert
from storage.sql.schema import chat_settings

_CHOICES = Shape(ChatChoice, chat_settings, by="by_whom")
_KEY = ["address", "key"]
_REST = ["value", "by_whom", "time"]
_PUT = upsert(chat_settings, [*_KEY, *_REST], key=_KEY, change=_REST)
_ALL = select(*_CHOICES.columns).order_by(chat_settings.c.address, chat_settings.c.key)
_THERE = _ALL.where(chat_settings.c.address == bindparam("at"))
_ONE = _THERE.where(chat_settings.c.key == bindparam("what"))
_TAKE_BACK = delete(chat_settings).where(
    chat_settings.c.address == bindparam("at"), chat_settings.c.key == bindparam("what")
)


class SqlChatChoices:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.changes: list[ChatChoiceChange] = []
        """What this transaction changed, in order."""

    def of(self, address: str) -> list[ChatChoice]:
        return _CHOICES.all(self._connection.execute(_THERE, {"at": address}))

    def all(self) -> list[ChatChoice]:
        return _CHOICES.all(self._connection.execute(_ALL))

    def choose(self, address: str, key: str, value: str, by: str) -> bool:
        row = self._connection.execute(_ONE, {"at": address, "what": key}).one_or_none()
        if row is not None and _CHOICES.one(row).value == value:
            return False
        values = {"address": address, "key": key, "value": value, "by_whom": by}
        self._connection.execute(_PUT, values | {"time": self._now})
        self.changes.append(ChatChoiceChange(address, key, value))
        return True

    def take_back(self, address: str, key: str) -> bool:
        gone = self._connection.execute(_TAKE_BACK, {"at": address, "what": key}).rowcount > 0
        if gone:
            self.changes.append(ChatChoiceChange(address, key, None))
        return gone
