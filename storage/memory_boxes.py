"""Inbox and outbox in memory."""

from collections.abc import Sequence
from dataclasses import replace

from storage.errors import NotFound
from storage.json_text import copied
from storage.memory_directory import DirectoryTables, set_cursor
from storage.memory_rows import Table, Undo
from storage.memory_tree import TreeTables
from storage.records.inbox_outbox import (
    Arrival,
    InboxRow,
    InboxState,
    OutboxDraft,
    OutboxRow,
    OutboxState,
    StoredFile,
)


class BoxTables:
    def __init__(self, journal: list[Undo]) -> None:
        self.inbox: Table[int, InboxRow] = Table(journal, "inbox row")
        self.keys: Table[str, int] = Table(journal, "inbox key")
        self.outbox: Table[int, OutboxRow] = Table(journal, "outbox row")
        self.files: Table[int, StoredFile | None] = Table(journal, "file")
        """None where the content was dropped."""
        self.links: Table[tuple[str, str], int] = Table(journal, "message link")


class MemoryInbox:
    def __init__(
        self, tables: BoxTables, tree: TreeTables, directory: DirectoryTables, now: float
    ) -> None:
        self._tables = tables
        self._tree = tree
        self._directory = directory
        self._now = now
        self.grew: set[int] = set()
        """The sessions that got rows."""

    def receive(self, arrival: Arrival) -> InboxRow | None:
        tables = self._tables
        if arrival.cursor is not None:
            set_cursor(self._directory, arrival.address, arrival.cursor)
        if arrival.key in tables.keys:
            return None
        self._tree.sessions.expect(arrival.session)
        row = InboxRow(
            id=tables.inbox.next_id,
            key=arrival.key,
            kind=arrival.kind,
            address=arrival.address,
            payload=copied(arrival.payload),
            session=arrival.session,
            entry=None,
            state=InboxState.OPEN,
            time=self._now,
        )
        tables.inbox[row.id] = row
        tables.keys[row.key] = row.id
        if arrival.session is not None:
            self.grew.add(arrival.session)
        return _copy_arrival(row)

    def seen(self, key: str) -> bool:
        return key in self._tables.keys

    def get(self, row: int) -> InboxRow:
        return _copy_arrival(self._tables.inbox[row])

    def unfinished(self, session: int | None = None) -> list[InboxRow]:
        return [
            _copy_arrival(row)
            for row in self._tables.inbox.values()
            if row.state is InboxState.OPEN and session in (None, row.session)
        ]

    def route(self, row: int, session: int) -> None:
        self._tree.sessions.expect(session)
        self._tables.inbox[row] = replace(self._tables.inbox[row], session=session)
        self.grew.add(session)

    def link(self, row: int, entry: int) -> None:
        self._tree.entries.expect(entry)
        self._tables.inbox[row] = replace(self._tables.inbox[row], entry=entry)

    def finish(self, rows: Sequence[int], state: InboxState = InboxState.DONE) -> None:
        for row in rows:
            self._tables.inbox[row] = replace(self._tables.inbox[row], state=state)


class MemoryOutbox:
    def __init__(self, tables: BoxTables, tree: TreeTables, now: float) -> None:
        self._tables = tables
        self._tree = tree
        self._now = now
        self.grew = False
        """Something was put in."""

    def enqueue(self, parcel: OutboxDraft) -> OutboxRow:
        self.grew = True
        outbox = self._tables.outbox
        self._tree.entries.expect(parcel.entry)
        outbox.expect(parcel.edits)
        payload = copied(parcel.payload)
        if parcel.file is not None:
            payload = {**payload, "file": self.keep(parcel.file)}
        row = OutboxRow(
            id=outbox.next_id,
            address=parcel.address,
            kind=parcel.kind,
            payload=payload,
            entry=parcel.entry,
            edits=parcel.edits,
            state=OutboxState.PENDING,
            message_id=None,
            error="",
            time=self._now,
        )
        outbox[row.id] = row
        return _copy_parcel(row)

    def get(self, row: int) -> OutboxRow:
        return _copy_parcel(self._tables.outbox[row])

    def pending(self) -> list[OutboxRow]:
        rows = self._tables.outbox.values()
        return [_copy_parcel(row) for row in rows if row.state is OutboxState.PENDING]

    def sent(self, row: int, message_id: str | None) -> None:
        outbox = self._tables.outbox
        outbox[row] = replace(outbox[row], state=OutboxState.SENT, message_id=message_id)
        entry = outbox[row].entry
        if message_id is not None and entry is not None:
            self.link_message(outbox[row].address, message_id, entry)

    def failed(self, row: int, error: str) -> None:
        outbox = self._tables.outbox
        outbox[row] = replace(outbox[row], state=OutboxState.FAILED, error=error)

    def link_message(self, address: str, message_id: str, entry: int) -> None:
        self._tree.entries.expect(entry)
        self._tables.links[address, message_id] = entry

    def linked_entry(self, address: str, message_id: str) -> int | None:
        return self._tables.links.get((address, message_id))

    def keep(self, file: StoredFile) -> int:
        files = self._tables.files
        number = files.next_id
        files[number] = file
        return number

    def kept(self, file: int) -> StoredFile:
        found = self._tables.files[file]
        if found is None:
            raise NotFound(f"there is no file {file}")
        return found

    def drop(self, file: int) -> None:
        if file in self._tables.files:
            self._tables.files[file] = None


def _copy_arrival(row: InboxRow) -> InboxRow:
    return replace(row, payload=copied(row.payload))


def _copy_parcel(row: OutboxRow) -> OutboxRow:
    return replace(row, payload=copied(row.payload))
