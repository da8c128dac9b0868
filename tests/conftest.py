"""What all tests share: databases (a file of SQLite to be copied, and a PostgreSQL server where
there is one) and how examples are made: some, or many with `--hypothesis-profile thorough`."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from storage.sql.migrate import upgrade
from tests.support.postgres import HOW_TO_INSTALL, MISSING, PostgresServer, programs
from tests.support.sandboxes import HOW_TO_INSTALL as HOW_TO_CONFINE
from tests.support.sandboxes import MISSING as NO_SANDBOX

# How fast examples are made says more about the machine than about the code.
settings.register_profile(
    "bough", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# In CI the same ones each time: what a change broke fails, not what nobody has looked at yet.
settings.register_profile(
    "thorough",
    settings.get_profile("bough"),
    max_examples=100,
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("bough")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """Commands of ours, run in the process of the tests, make what they write private: the tests
    after them make theirs as usual."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables and no rows, to be copied: that is faster than to make one."""
    file = tmp_path_factory.mktemp("database") / "empty.db"
    upgrade(f"sqlite:///{file}")
    return file


@pytest.fixture
def sqlite_url(empty_database: Path, tmp_path: Path) -> str:
    """The URL of a file with all tables and no rows."""
    return f"sqlite:///{shutil.copy(empty_database, tmp_path / 'bough.db')}"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One for all tests of a process. Skips where its programs are missing, but not in CI."""
    if programs() is None:
        if os.environ.get("CI") == "true":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of a database with all tables and no rows."""
    url = postgres_server.create()
    yield url
    postgres_server.give_back(url)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    unconfined = [
        r for r in terminalreporter.stats.get("skipped", []) if NO_SANDBOX in str(r.longrepr)
    ]
    if unconfined:
        terminalreporter.section("bubblewrap is missing", red=True, bold=True)
        terminalreporter.line(f"{len(unconfined)} tests were skipped for it: {HOW_TO_CONFINE}")
    skipped = [r for r in terminalreporter.stats.get("skipped", []) if MISSING in str(r.longrepr)]
    if skipped:
        terminalreporter.section("PostgreSQL is missing", red=True, bold=True)
        terminalreporter.line(f"{len(skipped)} tests were skipped for it: {HOW_TO_INSTALL}")
