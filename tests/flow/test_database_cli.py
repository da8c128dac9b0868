"""`bough db …`, as people run it."""

import asyncio
from pathlib import Path

import pytest

from gateway.__main__ import main
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.sql.store import SqlStore
from storage.store import Transaction


def fill(tx: Transaction) -> None:
    session = tx.tree.create(SessionDraft(SessionKind.CHAT))
    tx.tree.append(session.id, Draft(Kind.MESSAGE, message("user", "hello")), after=None)


async def filled(file: Path) -> None:
    store = await SqlStore.open(f"sqlite:///{file}")
    await store.run(fill)
    await store.close()


def run(config: Path, *arguments: str) -> int:
    return main([*arguments, "--config", str(config)])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "bough.toml"
    file.write_text(f"[storage]\nurl = 'sqlite:///{tmp_path}/bough.db'\n", encoding="utf-8")
    return file


def test_a_backup_is_restored_and_checked(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database, saved = tmp_path / "bough.db", tmp_path / "my 'saved'?x=1#%20.db"
    asyncio.run(filled(database))
    assert run(config, "db", "backup", str(saved)) == 0
    assert "1 sessions, 1 entries" in capsys.readouterr().out
    assert run(config, "db", "restore", str(saved)) == 1
    assert "is not empty" in capsys.readouterr().err
    for file in tmp_path.glob("bough.db*"):
        file.unlink()
    assert run(config, "db", "restore", str(saved)) == 0
    assert "who was forgotten since is in it again" in capsys.readouterr().out
    assert run(config, "db", "check") == 0
    assert "nothing is torn" in capsys.readouterr().out


def test_a_copy_names_what_is_wrong_in_one_line(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = f"sqlite:///{tmp_path}/there.db"
    assert run(config, "db", "copy", f"sqlite:///{tmp_path}/none.db", there) == 1
    assert run(config, "db", "copy", "mysql://x", there) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "there is no source database of Bough at sqlite:" in lines[0]
    assert "SQLite or PostgreSQL" in lines[1]


def test_a_torn_database_is_a_failure(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(config, "db", "check") == 1
    assert not (tmp_path / "bough.db").exists()
    (tmp_path / "bough.db").write_bytes(b"x" * 10_000)
    assert run(config, "db", "check") == 1
    assert "Traceback" not in capsys.readouterr().err
