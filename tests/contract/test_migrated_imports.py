"""Imports that broke off before they were known as such, in each database."""

from sqlalchemy import text

from storage.records.entries import SessionKind
from storage.sql.dialect import database_of
from storage.sql.store import SqlStore
from tests.contract.test_migrations import migrate, old

__all__ = ["old"]

TITLE = "[an import that did not come to its end]"
SESSION = (
    "INSERT INTO sessions (id, kind, epoch, last_number, title, created) "
    "VALUES (:id, 'chat', 0, 0, :title, 0.0)"
)


async def test_what_is_left_of_a_broken_import_is_a_conversation_no_more(old: str) -> None:
    migrate(old, "0062_job_locks")
    with database_of(old).migrating() as connection:
        for id_ in (7, 8):
            connection.execute(text(SESSION), {"id": id_, "title": TITLE})
        connection.execute(text(SESSION), {"id": 9, "title": "another"})
        joined = "INSERT INTO session_members (member, session) VALUES ('telegram:1', 8)"
        connection.execute(text(joined))
    store = await SqlStore.open(old)
    kinds = await store.read(lambda tx: {id_: tx.tree.session(id_).kind for id_ in (7, 8, 9)})
    assert kinds == {7: SessionKind.IMPORT, 8: SessionKind.CHAT, 9: SessionKind.CHAT}
    await store.close()
