"""One suite over every store: a test that takes `store` runs with each of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.sql.store import SqlStore
from storage.store import Store
from tests.support.stores import Clock


@pytest.fixture
def database(sqlite_url: str) -> Path:
    return Path(sqlite_url.removeprefix("sqlite:///"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def sqlite(sqlite_url: str, clock: Clock) -> AsyncIterator[SqlStore]:
    store = await SqlStore.open(sqlite_url, clock)
    yield store
    await store.close()


@pytest.fixture
async def postgres(postgres_url: str, clock: Clock) -> AsyncIterator[SqlStore]:
    store = await SqlStore.open(postgres_url, clock)
    yield store
    await store.close()


@pytest.fixture
async def here(postgres_url: str) -> AsyncIterator[SqlStore]:
    """The store of one of two processes that share a database."""
    store = await SqlStore.open(postgres_url)
    yield store
    await store.close()


@pytest.fixture
async def there(postgres_url: str) -> AsyncIterator[SqlStore]:
    """The store of the other one."""
    store = await SqlStore.open(postgres_url)
    yield store
    await store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Of an empty database, of each kind."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
async def store(url: str, clock: Clock) -> AsyncIterator[Store]:
    store = await SqlStore.open(url, clock)
    yield store
    await store.close()
