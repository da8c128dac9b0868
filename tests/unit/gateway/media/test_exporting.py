"""A session as a file, while other sessions are written too."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from gateway.media.exporting import Wish, session_file
from storage.blobs.choosing import blobs_of
from storage.records.attached import KEY, Attached, as_json
from storage.records.entries import Draft, Kind
from storage.sql.store import SqlStore
from tests.support.photos import picture
from tests.support.stores import append, new_session


async def test_many_sessions_with_pictures_are_written_where_one_thread_reads_them(
    sqlite_url: str,
) -> None:
    store = await SqlStore.open(sqlite_url)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    try:
        digest = await blobs_of(sqlite_url, store).put(picture())
        file = Attached("photo", type="image/png", blob=digest, shown=digest)
        wishes = []
        for _ in range(6):
            session = await new_session(store)
            body = {"role": "user", "content": "look", KEY: [as_json(file)]}
            await append(store, session.id, Draft(Kind.MESSAGE, body))
            wishes.append(Wish(sqlite_url, session.id, None, None))
        async with asyncio.timeout(60):  # it stood still for ever
            found = await asyncio.gather(*(session_file(store, wish) for wish in wishes))
        assert all(one.data is not None and b'"image"' in one.data for one in found)
    finally:
        await store.close()
