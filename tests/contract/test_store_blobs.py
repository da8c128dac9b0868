"""What people sent: each content once, for as long as an entry shows it. In a folder beside SQLite,
in the database of PostgreSQL."""

import os
import time
from pathlib import Path

import pytest

from storage.blobs.base import ABANDONED_SECONDS, BlobStore, digest_of
from storage.blobs.choosing import blobs_of
from storage.blobs.files import FileBlobs
from storage.records.entries import Draft, Kind, message
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.store import Store
from tests.support.stores import Clock, new_session


@pytest.fixture
def blobs(url: str, store: Store) -> BlobStore:
    return blobs_of(url, store)


async def age(blobs: BlobStore, clock: Clock) -> None:
    """A day and more goes by."""
    clock.now += ABANDONED_SECONDS + 1
    if isinstance(blobs, FileBlobs):
        before = time.time() - ABANDONED_SECONDS - 1
        for path in blobs._folder.path.glob("??/*"):
            os.utime(path, (before, before))


async def test_a_content_is_kept_once_and_found_by_its_hash(blobs: BlobStore) -> None:
    digest = await blobs.put(b"a picture")
    assert digest == digest_of(b"a picture") == await blobs.put(b"a picture")
    assert await blobs.get(digest) == b"a picture"
    assert await blobs.get(digest_of(b"another")) is None
    assert await blobs.get("../../etc/passwd") is None


async def test_what_no_entry_shows_is_removed_after_a_day(
    blobs: BlobStore, store: Store, clock: Clock
) -> None:
    shown, unshown = await blobs.put(b"shown"), await blobs.put(b"unshown")
    session = (await new_session(store)).id
    draft = Draft(Kind.MESSAGE, message("user", "look"))
    entry = await store.run(lambda tx: tx.tree.append(session, draft, after=None))
    for _ in range(2):
        await store.run(lambda tx: tx.blobs.use(entry.id, [shown]))
    assert await blobs.sweep() == 0
    await age(blobs, clock)
    again = await blobs.put(b"put again")
    assert await blobs.sweep() == 1
    assert [await blobs.get(each) for each in (shown, unshown, again)] == [
        b"shown",
        None,
        b"put again",
    ]


async def test_a_content_that_is_put_again_is_young_again(blobs: BlobStore, clock: Clock) -> None:
    digest = await blobs.put(b"twice")
    await age(blobs, clock)
    await blobs.put(b"twice")
    assert await blobs.sweep() == 0
    assert await blobs.get(digest) == b"twice"


async def test_a_row_is_given_what_was_found_out(store: Store) -> None:
    row = await store.run(
        lambda tx: tx.inbox.receive(Arrival("k", InboxKind.MESSAGE, "telegram:1", {"a": 1}))
    )
    assert row is not None
    await store.run(lambda tx: tx.inbox.amend(row.id, {"a": 1, "b": [2]}))
    assert (await store.read(lambda tx: tx.inbox.get(row.id))).payload == {"a": 1, "b": [2]}


async def test_files_are_for_nobody_else_and_a_damaged_one_is_not_given(
    tmp_path: Path, sqlite: Store
) -> None:
    blobs = FileBlobs(tmp_path / "b.blobs", sqlite)
    digest = await blobs.put(b"a content")
    (path,) = (tmp_path / "b.blobs").glob("??/*")
    assert path.parent.name + path.name == digest
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    path.write_bytes(b"a cont")
    assert await blobs.get(digest) is None
    await blobs.put(b"a content")
    assert await blobs.get(digest) == b"a content"
