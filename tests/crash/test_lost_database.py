"""The database file is taken away from, or breaks under, a running gateway."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.scene import ANN, Scene, scene
from tests.stand_ins.discord import DiscordServer
from tests.support.gateway_process import GatewayProcess, write_config

pytestmark = pytest.mark.crash


def delete(database: Path) -> None:
    database.unlink()


def replace(database: Path) -> None:
    Path(shutil.copy(database, database.with_name("other.db"))).replace(database)


def delete_wal(database: Path) -> None:
    database.with_name("bough.db-wal").unlink()


async def ended(running: Scene) -> str:
    """What the gateway said at its end, in its only line that is no log line."""
    assert await running.gateway.wait() == 1
    log = "\n".join(running.gateway.log)
    assert "Traceback" not in log
    (last,) = [line for line in running.gateway.log if line.startswith("bough: ")]
    return last


@pytest.mark.parametrize("away", [delete, replace, delete_wal])
async def test_a_database_that_is_taken_away_ends_it_and_is_saved(
    tmp_path: Path, away: Callable[[Path], None]
) -> None:
    database = tmp_path / "bough.db"
    async with scene(tmp_path) as running:
        running.telegram.say(ANN, ANN, "word 1")
        await running.telegram.hears("answer to word 1")
        await running.recorded_as_sent()
        away(database)
        last = await ended(running)
        (copy,) = tmp_path.glob("bough.db.rescued-*")
        assert "while it was in use" in last and str(copy) in last
        assert running.telegram.texts()[-1].startswith("🛑 The bot stops: ")
        assert str(copy) in running.telegram.texts()[-1]
        if away is replace:
            await running.gateway.start()
            said = f"{database} is used, and {copy} lies beside it"
            await running.telegram.hears(said)
            assert any(said in line for line in running.gateway.log)
            await running.gateway.kill()
        for left in ("bough.db-wal", "bough.db-shm"):
            (tmp_path / left).unlink(missing_ok=True)
        running.telegram.say(ANN, ANN, "word 2")
        if not database.exists():
            await running.gateway.launch()  # as a service manager does
            assert await running.gateway.wait() == 1
            assert str(copy) in running.gateway.log[-1]
            assert running.telegram.world.pending
        copy.replace(database)
        await running.gateway.start()
        await running.telegram.hears("answer to word 2")
        assert running.database.replies("parent") == 2


async def test_a_page_that_breaks_in_mid_run_is_one_message_and_an_end(tmp_path: Path) -> None:
    async with scene(tmp_path) as running:
        running.telegram.say(ANN, ANN, "word 1")
        await running.telegram.hears("answer to word 1")
        await running.recorded_as_sent()
        break_pages(tmp_path / "bough.db")
        running.telegram.say(ANN, ANN, "word 2")
        last = await ended(running)
        assert "malformed" in last and ".recover" in last and "backup" in last
        assert len([line for line in running.gateway.log if "malformed" in line]) == 1
        assert running.telegram.texts()[-1].startswith("🛑 The bot stops: ")
        # It was not taken in, so Telegram still has it.
        assert running.telegram.world.pending


async def test_a_broken_database_is_one_message_at_the_start(tmp_path: Path) -> None:
    async with scene(tmp_path) as running:
        await running.gateway.kill()
        break_pages(tmp_path / "bough.db")
        await running.gateway.launch()
        last = await ended(running)
        assert "malformed" in last and ".recover" in last


def break_pages(database: Path) -> None:
    """All but the first, in the file, past SQLite: as a broken disk does it."""
    with closing(sqlite3.connect(database)) as one:
        one.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = one.execute("PRAGMA page_size").fetchone()
    with database.open("r+b") as file:
        pages = database.stat().st_size // size
        file.seek(size)
        file.write(b"\0" * size * (pages - 1))


async def test_owners_on_discord_are_told_in_private(tmp_path: Path) -> None:
    async with DiscordServer() as discord:
        access = {"owners": ["discord:*", "telegram:1", f"discord:{discord.user('ann').id}"]}
        config = write_config(tmp_path, discord={"token": "token"} | discord.urls, access=access)
        async with GatewayProcess(config, forked=True) as gateway:
            (tmp_path / "bough.db").unlink()
            assert await gateway.wait() == 1
        (told,) = discord.said(discord.dm_of("ann"))
        assert "bough.db` was deleted" in told
        assert "Traceback" not in "\n".join(gateway.log)


async def test_nobody_gets_in_though_the_lock_file_was_removed(tmp_path: Path) -> None:
    async with scene(tmp_path) as running:
        (tmp_path / "bough.db.lock").unlink()
        other = GatewayProcess(running.gateway.config, forked=True)
        await other.launch()
        assert await other.wait() == 1
        assert any("another bough uses" in line for line in other.log)
        assert running.gateway.running
