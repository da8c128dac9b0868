"""`bough doctor --fix`: what it mends, and what it leaves with its cure."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Misconfigured
from adapters.telegram.checkup import check
from agent.models.scripted import Rule
from gateway.cli.doctor import examine
from gateway.cli.mending import looking
from gateway.cli.mending.cures import cure_of
from gateway.cli.mending.fault import Fault
from gateway.cli.mending.looking import look
from gateway.cli.mending.mender import mend
from gateway.configuration.config import load
from storage.lock import file_of, hold_lock
from storage.sql.store import SqlStore
from tests.flow.telegram_gateway import says
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.model import ModelServer, Status
from tests.stand_ins.telegram import TelegramServer
from tests.support.gateway_process import write_config
from tests.support.stores import make_database

TOKEN = "1000:hush-hush"
HOOK = "https://elsewhere.example/hook"


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(token=TOKEN) as server:
        yield server
        assert server.violations == []


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(token=TOKEN) as server:
        yield server
        assert server.violations == []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def written(folder: Path, **sections: Any) -> Path:
    """A file for its owner alone, and the database of a bot that has run."""
    file = write_config(folder, **sections)
    make_database(folder / "bough.db")
    file.chmod(0o600)
    return file


def on_telegram(server: TelegramServer) -> dict[str, Any]:
    return {
        "telegram": {"token": TOKEN, "base_url": server.base_url},
        "access": {"owners": ["telegram:1001"]},
    }


async def seen(file: Path, subject: str) -> list[Fault]:
    return [fault async for fault in look(load(file, {})) if fault.subject == subject]


async def test_where_all_is_well_nothing_is_changed(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(place)
    before = file.read_bytes()
    assert await mend(file) == 0
    assert capsys.readouterr().out.endswith("All is well.\n")
    assert (file.read_bytes(), mode(file)) == (before, 0o600)
    assert mode(place / "bough.db") == 0o600


async def test_files_that_others_may_open_are_closed_to_them(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, database = written(place), place / "bough.db"
    assert await mend(file) == 0
    file.chmod(0o646)
    database.chmod(0o604)
    capsys.readouterr()
    assert await mend(file) == 0
    said = capsys.readouterr().out
    assert (mode(file) & stat.S_IRWXO, mode(database)) == (0, 0o600)
    assert f"FAIL  files: others on this machine may open {file} (mode 646)" in said
    assert f"      mended: chmod 6{'0' if os.geteuid() else '4'}0 {file}" in said
    assert said.endswith("2 mended.\n")


async def test_without_fix_nothing_of_that_is_changed_or_said(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(place)
    file.chmod(0o644)
    assert await examine(file) == 0
    assert mode(file) == 0o644
    assert "files:" not in capsys.readouterr().out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
async def test_what_a_bot_of_another_user_reads_is_not_closed_to_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, database = written(place), place / "bough.db"
    os.chown(database, 4711, -1)
    file.chmod(0o644)
    assert await mend(file) == 1
    assert mode(file) == 0o644
    assert "to do: chmod 640" in (said := capsys.readouterr().out)
    assert "once it is user 4711's (chown)" in said
    assert not (place / "bough.db.lock").exists()


async def test_a_link_and_what_it_leads_to_are_left_alone(place: Path) -> None:
    other = place / "other.toml"
    other.write_text("")
    other.chmod(0o666)
    (place / "link.toml").symlink_to(other)
    assert await seen(place / "link.toml", "files") == []
    assert mode(other) == 0o666


async def test_a_webhook_that_keeps_updates_away_is_removed(
    place: Path, telegram: TelegramServer, capsys: pytest.CaptureFixture[str]
) -> None:
    telegram.methods.webhook = HOOK
    file = written(place, **on_telegram(telegram), models={"parent": {"model": "scripted:r.yaml"}})
    assert await mend(file) == 1  # there is no r.yaml
    said = capsys.readouterr().out
    assert "FAIL  telegram: a webhook is set" in said
    assert "mended: remove it (deleteWebhook); what waits at Telegram is kept" in said
    assert "1 mended, 1 to mend by hand." in said
    assert telegram.methods.webhook == ""
    (deleted, *_) = [call for call in telegram.sent if call.method == "deleteWebhook"]
    assert deleted.params.get("drop_pending_updates") in (None, False)
    assert TOKEN not in said


async def test_looking_alone_removes_no_webhook(place: Path, telegram: TelegramServer) -> None:
    telegram.methods.webhook = HOOK
    (fault,) = await seen(written(place, **on_telegram(telegram)), "telegram")
    assert fault.mend is not None
    assert telegram.methods.webhook == HOOK


async def test_the_doctor_changes_nothing_at_telegram_while_it_looks(
    place: Path, telegram: TelegramServer, capsys: pytest.CaptureFixture[str]
) -> None:
    telegram.methods.webhook = HOOK
    assert await examine(written(place, **on_telegram(telegram))) == 1
    assert "FAIL  telegram: a webhook is set" in capsys.readouterr().out
    assert telegram.methods.webhook == HOOK
    assert {call.method for call in telegram.sent} <= {"getMe", "getWebhookInfo"}


async def test_of_a_webhook_of_ones_own_the_doctor_says_how_it_does(
    place: Path, telegram: TelegramServer, capsys: pytest.CaptureFixture[str]
) -> None:
    sections = on_telegram(telegram)
    sections["telegram"] |= {"mode": "webhook", "webhook_url": HOOK}
    file = written(place, **sections)
    assert await examine(file) == 0
    assert "no webhook is set yet: bough run sets it" in capsys.readouterr().out
    telegram.methods.webhook = HOOK
    telegram.say(1001, 1001, "hello")
    assert await examine(file) == 0
    assert "the webhook is set, 1 update waits at Telegram" in capsys.readouterr().out
    telegram.methods.deliveries.last_error = (telegram.clock(), "Connection refused")
    assert await examine(file) == 1
    said = capsys.readouterr().out
    assert "FAIL  telegram: Telegram could not bring updates" in said
    assert "Connection refused" in said
    assert await mend(file) == 1
    assert capsys.readouterr().out.count("Telegram could not bring updates") == 1
    assert telegram.methods.webhook == HOOK


async def test_the_demo_model_on_a_platform_is_a_fault_with_its_cure(
    place: Path, telegram: TelegramServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await mend(written(place, **on_telegram(telegram))) == 1
    said = capsys.readouterr().out
    assert "FAIL  model: the demo model answers people on telegram" in said
    assert "to do: name a real one: model under [models.parent], or bough init" in said
    assert await seen(written(place), "model") == []


async def test_a_wrong_token_is_one_fault_and_comes_with_what_to_do(
    place: Path, telegram: TelegramServer, capsys: pytest.CaptureFixture[str]
) -> None:
    sections = on_telegram(telegram)
    sections["telegram"]["token"] = "2000:wrong-token"
    assert await mend(written(place, **sections)) == 1
    said = capsys.readouterr().out
    assert said.count("FAIL  telegram") == 1
    assert "to do: check its token, base_url and the network" in said


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_model_that_takes_no_tools_is_a_fault(place: Path, status: int) -> None:
    async with ModelServer([Rule.model_validate(says("m", "OK"))]) as server:
        file = written(place, models={"parent": {"model": "openai/m", "api_base": server.url}})
        assert await seen(file, "model of parent") == []
        server.faults.append(Status(status, message="no endpoints that support tool use"))
        (fault,) = await seen(file, "model of parent")
        assert "openai/m answers, but takes no tools" in fault.text
        server.faults += [Status(401, message="no"), Status(401, message="no")]
        assert await seen(file, "model of parent") == []


async def test_a_disk_that_is_nearly_full_and_a_log_that_grows_are_seen(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(place)
    monkeypatch.setattr(looking, "LEAST_SPACE", 10**18)
    monkeypatch.setattr(looking, "LARGEST_WAL", 10)
    (place / "bough.db-wal").write_bytes(b"x" * 11)
    (disk,), (log,) = await seen(file, "disk"), await seen(file, "database")
    assert "MB are free in" in disk.text
    assert disk.mend is None and log.mend is not None
    assert "bough.db-wal has 0 MB" in log.text


async def _with_a_log(file: Path) -> Path:
    """A database whose log was left behind, as by a kill; the log."""
    config = load(file, {})
    await (await SqlStore.open(config.storage.url)).close()
    database = file_of(config.storage.url)
    assert database is not None
    script = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1]); "
        "db.execute('PRAGMA journal_mode=WAL'); "
        "db.execute(\"INSERT INTO facts VALUES ('kept', '1')\"); db.commit(); os._exit(0)"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(database))
    assert await process.wait() == 0
    return Path(f"{database}-wal")


async def test_a_log_that_grew_is_written_back_and_nothing_is_lost(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LARGEST_WAL", 10)
    file = written(place)
    log = await _with_a_log(file)
    assert log.stat().st_size > 10
    (fault,) = await seen(file, "database")
    assert fault.mend is not None
    await fault.mend()
    assert not log.exists() or log.stat().st_size == 0
    store = await SqlStore.open(load(file, {}).storage.url)
    assert await store.read(lambda tx: tx.directory.fact("kept")) == 1
    await store.close()


async def test_the_log_of_a_bot_that_runs_is_left_to_it(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(looking, "LARGEST_WAL", 10)
    file = written(place)
    log = await _with_a_log(file)
    with hold_lock(load(file, {}).storage.url):
        (fault,) = await seen(file, "database")
        assert fault.mend is not None
        with pytest.raises(OSError, match="the bot is running: stop it first"):
            await fault.mend()
    assert log.stat().st_size > 10


async def test_groups_that_are_to_be_answered_whole_need_privacy_off(
    place: Path, telegram: TelegramServer
) -> None:
    whole = {"chats": {"telegram:-500": {"answer": "all"}}}
    (fault,) = await seen(written(place, **on_telegram(telegram), **whole), "telegram")
    assert fault.text.startswith("telegram:-500: everything is to be answered there")
    assert "/setprivacy" in fault.cure and fault.mend is None
    assert await seen(written(place, **on_telegram(telegram)), "telegram") == []


@pytest.mark.parametrize(("seconds", "side"), [(-90, "ahead of"), (90, "behind")])
async def test_a_clock_that_is_wrong_is_seen_by_the_dates_of_answers(
    place: Path, telegram: TelegramServer, seconds: int, side: str
) -> None:
    file = written(place, **on_telegram(telegram))
    assert await seen(file, "clock") == []
    telegram.clock_ahead = timedelta(seconds=seconds)
    (fault,) = await seen(file, "clock")
    assert side in fault.text and "timedatectl" in fault.cure


def on_discord(server: DiscordServer) -> dict[str, Any]:
    section = {"token": TOKEN, "api_base": server.api_base, "gateway_url": server.gateway_url}
    return {"discord": section, "access": {"owners": ["discord:42"]}}


async def _choose(file: Path, address: str, value: str) -> None:
    """As /settings does."""
    store = await SqlStore.open(load(file, {}).storage.url)
    await store.run(lambda tx: tx.chat_settings.choose(address, "answer", value, "telegram:1001"))
    await store.close()


async def test_what_was_chosen_in_a_group_is_looked_at_like_what_the_file_says(
    place: Path, telegram: TelegramServer
) -> None:
    whole = {"chats": {"telegram:-500": {"answer": "all"}}}
    file = written(place, **on_telegram(telegram), **whole)
    await _choose(file, "telegram:-700", "thread")
    await _choose(file, "telegram:-500", "mention")
    (fault,) = await seen(file, "telegram")
    assert fault.text.startswith("telegram:-700: everything is to be answered there")


async def test_a_missing_intent_is_a_fault_only_where_everything_is_to_be_answered(
    place: Path, discord: DiscordServer
) -> None:
    file = written(place, **on_discord(discord))
    assert await seen(file, "discord") == []
    await _choose(file, "discord:55", "thread")
    (fault,) = await seen(file, "discord")
    assert fault.text.startswith("discord:55: everything is to be answered there")
    assert "Message Content Intent" in fault.cure and fault.mend is None
    discord.world.message_content = True
    assert await seen(file, "discord") == []
    assert discord.gateway.opened == 0
    assert {request.method for request in discord.requests} == {"GET"}


async def test_a_clock_is_held_against_discords_too(place: Path, discord: DiscordServer) -> None:
    file = written(place, **on_discord(discord))
    assert await seen(file, "clock") == []
    discord.rest.clock_ahead = timedelta(seconds=90)
    (fault,) = await seen(file, "clock")
    assert "90 s behind that of discord" in fault.text or "89 s behind" in fault.text


async def test_what_telegram_refuses_is_told_in_our_words(telegram: TelegramServer) -> None:
    telegram.fail_next("getMe", kind="400", description="Bad Request: logged out")
    with pytest.raises(Misconfigured, match="it must lead to a Bot API server") as refused:
        await check(TOKEN, telegram.base_url)
    assert "logged out" not in str(refused.value)


async def test_a_bot_that_runs_is_said_and_goes_on(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(place)
    assert await mend(file) == 0
    with hold_lock(load(file, {}).storage.url):
        capsys.readouterr()
        assert await mend(file) == 0
    said = capsys.readouterr().out
    assert f"ok    running: another bough uses {place / 'bough.db'} (pid {os.getpid()})" in said


async def test_a_configuration_that_cannot_be_read_is_left_with_what_to_do(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = place / "bough.toml"
    file.write_text("[telgram]\n")
    assert await mend(file) == 2
    said = capsys.readouterr().out
    assert "Did you mean telegram?" in said
    assert "to do: change it in the file or the variable that it names" in said


@pytest.mark.parametrize(
    ("subject", "cure"),
    [
        ("model of parent, worker", "api_base"),
        ("models.worker", "change it in the configuration"),
        ("mcp.github", "start it by hand"),
        ("something new", "change it in the configuration"),
    ],
)
def test_every_fault_has_a_cure(subject: str, cure: str) -> None:
    assert cure in cure_of(subject)
    assert "install it" in cure_of(subject, "it is not installed: pip install 'it>=1'")
