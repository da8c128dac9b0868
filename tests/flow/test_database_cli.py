"""`bough db …`, as people run it."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from gateway.__main__ import main
from gateway.running.own_bots import AnotherBot, claim
from storage.lock import hold_lock
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


def on_telegram(config: Path, bot: int) -> None:
    text = config.read_text(encoding="utf-8").partition("[telegram]")[0]
    config.write_text(f"{text}[telegram]\ntoken = '{bot}:hush-hush'\n", encoding="utf-8")


async def claimed(file: Path, bot: str) -> list[str]:
    """By a bot; what is wrong with that."""
    store = await SqlStore.open(f"sqlite:///{file}")
    try:
        await store.run(partial(claim, bots={"telegram": bot}))
    except AnotherBot as error:
        return [str(error)]
    finally:
        await store.close()
    return []


def test_another_bots_database_is_refused_until_it_is_adopted(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "bough.db"
    assert asyncio.run(claimed(database, "1000")) == []
    on_telegram(config, 2000)
    assert run(config, "run") == 2
    (line,) = [one for one in capsys.readouterr().err.splitlines() if one.startswith("bough: ")]
    assert "belongs to the telegram bot 1000, and the token is that of the bot 2000" in line
    assert "`bough db adopt`" in line
    assert run(config, "db", "adopt") == 0
    assert "telegram: the database belongs to the bot 2000 now" in capsys.readouterr().out
    assert run(config, "db", "adopt") == 0
    assert "Nothing changed" in capsys.readouterr().out
    assert asyncio.run(claimed(database, "2000")) == []
    assert len(asyncio.run(claimed(database, "1000"))) == 1


def test_a_copy_is_the_same_bots_and_one_that_is_in_use_is_not_adopted(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database, copied = tmp_path / "bough.db", tmp_path / "copied.db"
    assert asyncio.run(claimed(database, "1000")) == []
    assert run(config, "db", "copy", f"sqlite:///{database}", f"sqlite:///{copied}") == 0
    assert asyncio.run(claimed(copied, "1000")) == []
    assert len(asyncio.run(claimed(copied, "2000"))) == 1
    assert run(config, "db", "adopt") == 2
    assert "no token" in capsys.readouterr().err
    on_telegram(config, 2000)
    with hold_lock(f"sqlite:///{database}"):
        assert run(config, "db", "adopt") == 1
    assert len(asyncio.run(claimed(database, "2000"))) == 1


def test_a_wrong_password_is_one_line(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(filled(tmp_path / "bough.db"))
    assert run(config, "db", "backup", str(tmp_path / "saved.db")) == 0
    capsys.readouterr()
    nowhere = "postgresql://bough:hunter2@127.0.0.1:9/bough"
    config.write_text(f"[storage]\nurl = '{nowhere}'\n", encoding="utf-8")
    for line in (
        ("db", "copy", f"sqlite:///{tmp_path}/bough.db", nowhere),
        ("db", "restore", str(tmp_path / "saved.db")),
        ("db", "adopt"),
        ("people", "list"),
    ):
        assert run(config, *line) != 0
        said = capsys.readouterr().err.splitlines()
        (fault,) = [text for text in said if not text.startswith("bough: working on ")]
        assert fault.startswith("bough: ")
        assert "hunter2" not in "".join(said)


def test_the_database_that_an_env_file_names_is_worked_on_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    database, env = tmp_path / "there.db", tmp_path / "secrets.env"
    asyncio.run(filled(database))
    for line in (["people", "list"], ["sessions", "list"], ["db", "backup", "b.db"]):
        assert main(line) != 0
        said = capsys.readouterr().err
        assert f"there is no database of Bough at sqlite:///{tmp_path}/bough.db" in said
    assert not (tmp_path / "bough.db").exists()
    monkeypatch.setenv("BOUGH_STORAGE__URL", "")  # is put back at the end
    env.write_text(f"BOUGH_STORAGE__URL='sqlite:///{database}'\n", encoding="utf-8")
    assert main(["db", "backup", "b.db", "--env-file", str(env)]) == 0
    found = capsys.readouterr()
    assert f"bough: working on sqlite:///{database}" in found.err
    assert f"b.db, from sqlite:///{database}: 1 sessions" in found.out
    assert main(["--env-file", "none.env", "people", "list"]) == 2
    assert "There is no file none.env" in capsys.readouterr().err


async def test_of_two_bots_that_start_at_the_same_moment_the_database_takes_one(
    postgres_url: str,
) -> None:
    stores = [await SqlStore.open(postgres_url) for _ in range(2)]
    try:
        claims = (
            each.run(partial(claim, bots={"telegram": str(bot)})) for bot, each in enumerate(stores)
        )
        ended = await asyncio.gather(*claims, return_exceptions=True)
    finally:
        for each in stores:
            await each.close()
    assert sorted(type(one).__name__ for one in ended) == ["AnotherBot", "NoneType"]
