"""One suite over every store: a test that takes `store` runs with each of them."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.memory import MemoryStore
from storage.sql.migrate import upgrade
from storage.sql.store import SqlStore
from storage.store import Store
from tests.contract.stores import Clock, url_of


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables and no rows, to be copied."""
    file = tmp_path_factory.mktemp("database") / "empty.db"
    upgrade(url_of(file))
    return file


@pytest.fixture
def database(empty_database: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(empty_database, tmp_path / "bough.db"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def sqlite(database: Path, clock: Clock) -> AsyncIterator[SqlStore]:
    store = await SqlStore.open(url_of(database), clock)
    yield store
    await store.close()


@pytest.fixture(params=["memory", "sqlite"])
async def store(
    request: pytest.FixtureRequest, database: Path, clock: Clock
) -> AsyncIterator[Store]:
    store: Store
    if request.param == "memory":
        store = MemoryStore(clock)
    else:
        store = await SqlStore.open(url_of(database), clock)
    yield store
    await store.close()
