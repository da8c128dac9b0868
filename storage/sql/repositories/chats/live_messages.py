"""Live messages in SQL."""

from collections.abc import Collection

from sqlalchemy import Connection, bindparam, delete, insert, select

from storage.records.chats.live_messages import LiveMessage
from storage.records.inbox_outbox import InboxState
from storage.sql.rows import Shape
from storage.sql.schema import inbox, live_messages

_LIVE = Shape(LiveMessage, live_messages)
_ALL = select(*_LIVE.columns).order_by(live_messages.c.outbox)
_OF = _ALL.where(live_messages.c.inbox.in_(bindparam("rows", expanding=True)))
_LEFT = _ALL.join(inbox, inbox.c.id == live_messages.c.inbox).where(
    inbox.c.state != InboxState.OPEN.value
)
_PUT = insert(live_messages)
_END = delete(live_messages).where(
    live_messages.c.outbox.in_(bindparam("messages", expanding=True))
)


class SqlLiveMessages:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, message: LiveMessage) -> None:
        self._connection.execute(_PUT, _LIVE.row(message))

    def of(self, rows: Collection[int]) -> list[LiveMessage]:
        return _LIVE.all(self._connection.execute(_OF, {"rows": list(rows)}))

    def left(self) -> list[LiveMessage]:
        return _LIVE.all(self._connection.execute(_LEFT))

    def end(self, messages: Collection[int]) -> None:
        self._connection.execute(_END, {"messages": list(messages)})
