"""Inbox and outbox in SQL."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    true,
    update,
)

from storage.errors import NotFound
from storage.json_text import dumps
from storage.records.entries import Json
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
    InboxRow,
    InboxState,
    OutboxDraft,
    OutboxRow,
    OutboxState,
    StoredFile,
    name_of,
    person_of,
)
from storage.sql.prepared import Prepared
from storage.sql.repositories.directory import set_cursor
from storage.sql.rows import Shape, insert_row, upsert
from storage.sql.schema import (
    buttons,
    files,
    inbox,
    live_messages,
    message_links,
    outbox,
    question_posts,
)
from storage.traces import with_trace

_INBOX = Shape(InboxRow, inbox)
_EMPTY: ColumnElement[str] = literal_column("'{}'")
"""Where a payload is taken out, `id` is set, to what it is: then SQLite takes the row out of its
page and puts it in again, and joins pages that have become empty. Else they stay as they are."""
_GIVEN = ("key", "kind", "address", "payload", "session", "state", "time", "person", "name")
_RECEIVE = Prepared(upsert(inbox, _GIVEN, key=["key"], returning="id"))
_ARRIVED = select(*_INBOX.columns).where(inbox.c.id == bindparam("row"))
_UNFINISHED = (
    select(*_INBOX.columns).where(inbox.c.state == InboxState.OPEN.value).order_by(inbox.c.id)
)
_UNFINISHED_OF = Prepared(_UNFINISHED.where(inbox.c.session == bindparam("session")))
_SEEN = select(inbox.c.id).where(inbox.c.key == bindparam("key"))
_ROUTE = update(inbox).where(inbox.c.id == bindparam("row")).values(session=bindparam("to"))
_AMEND = update(inbox).where(inbox.c.id == bindparam("row")).values(payload=bindparam("to"))
_LINK = Prepared(update(inbox).where(inbox.c.id == bindparam("row")).values(entry=bindparam("to")))
_HOLD = (
    update(inbox).where(inbox.c.id == bindparam("row")).values(payload=bindparam("to"), held=true())
)
_done = {
    "id": inbox.c.id,
    "state": InboxState.DONE.value,
    "payload": case((inbox.c.held, inbox.c.payload), else_=_EMPTY),
}
_DONE_ONE = Prepared(update(inbox).where(inbox.c.id == bindparam("row")).values(_done))
_these = inbox.c.id.in_(bindparam("rows", expanding=True))
_DONE = update(inbox).where(_these).values(_done)
_FINISH = update(inbox).where(_these).values(state=bindparam("to"))
_LAST_SAID = (
    select(inbox.c.person, inbox.c.name)
    .where(
        # Every state: the index begins with it.
        inbox.c.state.in_([state.value for state in InboxState]),
        inbox.c.session == bindparam("at"),
        inbox.c.kind == InboxKind.MESSAGE.value,
    )
    .order_by(inbox.c.id.desc())
    .limit(50)
)

_OUTBOX = Shape(OutboxRow, outbox)
_DRAFTED = [column.name for column in outbox.c if not column.primary_key]
_ENQUEUE = Prepared(
    insert(outbox).values({name: bindparam(name) for name in _DRAFTED}).returning(outbox.c.id)
)
_ENQUEUED = select(*_OUTBOX.columns).where(outbox.c.id == bindparam("row"))
# As it stands in the index, so that it is known to fit when the statement is planned.
_IS_PENDING = outbox.c.state == literal_column(f"'{OutboxState.PENDING.value}'")
# From address to address through the index, past what waits at each of them.
_waiting = (
    select(func.min(outbox.c.address).label("address"))
    .where(_IS_PENDING)
    .cte("waiting", recursive=True)
)
_next = select(func.min(outbox.c.address)).where(_IS_PENDING, outbox.c.address > _waiting.c.address)
_waiting = _waiting.union_all(
    select(_next.scalar_subquery()).where(_waiting.c.address.is_not(None))
)
_other = outbox.alias("other")
_last_of_each = (
    select(_other.c.id)
    .where(
        _other.c.state == literal_column(f"'{OutboxState.PENDING.value}'"),
        _other.c.address == _waiting.c.address,
    )
    .order_by(_other.c.id)
    .offset(bindparam("others"))
    .limit(literal_column("1"))
    .scalar_subquery()
)
_PENDING = (
    select(*_OUTBOX.columns)
    .join(_waiting, _waiting.c.address == outbox.c.address)
    .where(_IS_PENDING, outbox.c.id <= func.coalesce(_last_of_each, outbox.c.id))
    .order_by(outbox.c.id)
)
_read_again = or_(
    *(
        exists().where(column == outbox.c.id)
        for column in (buttons.c.outbox, question_posts.c.outbox, live_messages.c.outbox)
    )
)
_SENT = Prepared(
    update(outbox)
    .where(outbox.c.id == bindparam("row"))
    .values(
        id=outbox.c.id,
        state=OutboxState.SENT.value,
        message_id=bindparam("message"),
        payload=case((_read_again, outbox.c.payload), else_=_EMPTY),
    )
    .returning(outbox.c.address, outbox.c.entry)
)
_FAILED = (
    update(outbox)
    .where(outbox.c.id == bindparam("row"))
    .values(state=OutboxState.FAILED.value, error=bindparam("reason"))
)
_LINKED = select(message_links.c.entry).where(
    message_links.c.address == bindparam("at"), message_links.c.message_id == bindparam("message")
)
_LINK_MESSAGE = Prepared(
    upsert(
        message_links,
        ["address", "message_id", "entry"],
        key=["address", "message_id"],
        change=["entry"],
    )
)
_FILES = Shape(StoredFile, files)
_KEEP = insert(files)
_KEPT = select(*_FILES.columns).where(files.c.id == bindparam("file"))
_DROP = delete(files).where(files.c.id == bindparam("file"))


class SqlInbox:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.grew: set[int] = set()
        """The sessions that got rows."""

    def receive(self, arrival: Arrival) -> InboxRow | None:
        if arrival.cursor is not None:
            set_cursor(self._connection, arrival.address, arrival.cursor)
        arrival = replace(arrival, payload=with_trace(arrival.payload))
        more = {"state": InboxState.OPEN, "time": self._now}
        values = _INBOX.row(arrival, **more)
        values |= {"person": person_of(arrival.payload), "name": name_of(arrival.payload)}
        row: int | None = _RECEIVE.scalar(self._connection, values)
        if row is None:
            return None
        if arrival.session is not None:
            self.grew.add(arrival.session)
        return _INBOX.stored(arrival, id=row, entry=None, **more)

    def seen(self, key: str) -> bool:
        return self._connection.execute(_SEEN, {"key": key}).scalar() is not None

    def get(self, row: int) -> InboxRow:
        found = self._connection.execute(_ARRIVED, {"row": row}).one_or_none()
        if found is None:
            raise NotFound(f"there is no inbox row {row}")
        return _INBOX.one(found)

    def unfinished(self, session: int | None = None) -> list[InboxRow]:
        if session is None:
            return _INBOX.all(self._connection.execute(_UNFINISHED))
        return _INBOX.all(_UNFINISHED_OF.rows(self._connection, {"session": session}))

    def route(self, row: int, session: int) -> None:
        if not self._connection.execute(_ROUTE, {"row": row, "to": session}).rowcount:
            raise NotFound(f"there is no inbox row {row}")
        self.grew.add(session)

    def amend(self, row: int, payload: Json) -> None:
        if not self._connection.execute(_AMEND, {"row": row, "to": dumps(payload)}).rowcount:
            raise NotFound(f"there is no inbox row {row}")

    def link(self, row: int, entry: int) -> None:
        if not _LINK.run(self._connection, {"row": row, "to": entry}):
            raise NotFound(f"there is no inbox row {row}")

    def hold(self, row: InboxRow) -> None:
        self._connection.execute(_HOLD, {"row": row.id, "to": dumps(row.payload)})

    def finish(self, rows: Sequence[int], state: InboxState = InboxState.DONE) -> None:
        if not rows:
            return
        if self._finished(rows, state) != len(set(rows)):
            raise NotFound(f"not all of the inbox rows {list(rows)} are there")

    def _finished(self, rows: Sequence[int], state: InboxState) -> int:
        if state is not InboxState.DONE:
            values = {"rows": list(rows), "to": state.value}
            return self._connection.execute(_FINISH, values).rowcount
        if len(rows) == 1:
            return _DONE_ONE.run(self._connection, {"row": rows[0]})
        return self._connection.execute(_DONE, {"rows": list(rows)}).rowcount

    def name_in(self, session: int, identity: str) -> str:
        said = self._connection.execute(_LAST_SAID, {"at": session})
        return next((str(name) for person, name in said if person == identity), "")


class SqlOutbox:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.grew = False
        """Something was put in."""

    def enqueue(self, parcel: OutboxDraft) -> OutboxRow:
        self.grew = True
        payload = with_trace(parcel.payload)
        if parcel.file is not None:
            payload = {**payload, "file": self.keep(parcel.file)}
        more = {
            "payload": payload,
            "state": OutboxState.PENDING,
            "message_id": None,
            "error": "",
            "time": self._now,
        }
        row = _ENQUEUE.scalar(self._connection, _OUTBOX.row(parcel, **more))
        return _OUTBOX.stored(parcel, id=row, **more)

    def get(self, row: int) -> OutboxRow:
        found = self._connection.execute(_ENQUEUED, {"row": row}).one_or_none()
        if found is None:
            raise NotFound(f"there is no outbox row {row}")
        return _OUTBOX.one(found)

    def pending(self, each: int = 20) -> list[OutboxRow]:
        rows = self._connection.execute(_PENDING, {"others": each - 1})
        return _OUTBOX.all(rows)

    def sent(self, row: int, message_id: str | None) -> None:
        found = _SENT.row(self._connection, {"row": row, "message": message_id})
        if found is None:
            raise NotFound(f"there is no outbox row {row}")
        address, entry = found
        if message_id is not None and entry is not None:
            self.link_message(address, message_id, entry)

    def failed(self, row: int, error: str) -> None:
        if not self._connection.execute(_FAILED, {"row": row, "reason": error}).rowcount:
            raise NotFound(f"there is no outbox row {row}")

    def link_message(self, address: str, message_id: str, entry: int) -> None:
        link = {"address": address, "message_id": message_id, "entry": entry}
        _LINK_MESSAGE.later(self._connection, link)

    def linked_entry(self, address: str, message_id: str) -> int | None:
        entry: int | None = self._connection.execute(
            _LINKED, {"at": address, "message": message_id}
        ).scalar()
        return entry

    def keep(self, file: StoredFile) -> int:
        return insert_row(self._connection, _KEEP, _FILES.row(file))

    def kept(self, file: int) -> StoredFile:
        row = self._connection.execute(_KEPT, {"file": file}).one_or_none()
        if row is None:
            raise NotFound(f"there is no file {file}")
        return _FILES.one(row)

    def drop(self, file: int) -> None:
        self._connection.execute(_DROP, {"file": file})
