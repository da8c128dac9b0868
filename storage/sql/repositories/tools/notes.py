"""Notes in SQL."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from storage.records.tools.notes import Note, NoteDraft, NoteOwner
from storage.sql.rows import Shape, insert_row
from storage.sql.tool_schema import notes

_NOTES = Shape(Note, notes, by="by_whom")
_ADD = insert(notes)
_GET = select(*_NOTES.columns).where(notes.c.id == bindparam("note"))
_OF = select(*_NOTES.columns).where(
    notes.c.scope == bindparam("of_scope"), notes.c.owner == bindparam("of_owner")
)
_REPLACE = (
    update(notes)
    .where(
        notes.c.id == bindparam("note"),
        notes.c.scope == bindparam("of_scope"),
        notes.c.owner == bindparam("of_owner"),
    )
    .values(
        text=bindparam("new"),
        by_whom=bindparam("who"),
        address=bindparam("place"),
        time=bindparam("now"),
    )
)
_DELETE = delete(notes).where(
    notes.c.id == bindparam("note"),
    notes.c.scope == bindparam("of_scope"),
    notes.c.owner == bindparam("of_owner"),
)


class SqlNotes:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def add(self, draft: NoteDraft) -> Note:
        values = _NOTES.row(draft, time=self._now)
        id_ = insert_row(self._connection, _ADD, values)
        return _NOTES.stored(draft, id=id_, time=self._now)

    def get(self, note: int) -> Note | None:
        row = self._connection.execute(_GET, {"note": note}).one_or_none()
        return None if row is None else _NOTES.one(row)

    def of(self, owners: Collection[NoteOwner]) -> list[Note]:
        found: list[Note] = []
        for owner in dict.fromkeys(owners):
            found += _NOTES.all(self._connection.execute(_OF, _named(owner)))
        return sorted(found, key=lambda note: (note.time, note.id), reverse=True)

    def replace(self, note: int, draft: NoteDraft) -> bool:
        values = {
            **_named(NoteOwner(draft.scope, draft.owner)),
            "note": note,
            "new": draft.text,
            "who": draft.by,
            "place": draft.address,
            "now": self._now,
        }
        return self._connection.execute(_REPLACE, values).rowcount > 0

    def delete(self, notes: Collection[int], owners: Sequence[NoteOwner]) -> list[int]:
        return [
            note
            for note in dict.fromkeys(notes)
            if any(
                self._connection.execute(_DELETE, {"note": note, **_named(owner)}).rowcount
                for owner in owners
            )
        ]


def _named(owner: NoteOwner) -> dict[str, str]:
    return {"of_scope": owner.scope.value, "of_owner": owner.owner}
