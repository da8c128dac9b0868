"""Commands fill the disk that the database is on, in every way they can: chats are answered on, and
people and the agent are told what happened."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from storage.records.entries import Json
from storage.sql.store import SqlStore
from tests.flow.telegram_gateway import ANN, TelegramGateway, call, says, telegram_gateway
from tests.support.sandboxes import need_bubblewrap
from tests.support.small_disks import fill, small_disk

ALLOWED = {"tool": "run_command", "decision": "allow"}
ALMOST = "the disk is almost full"
ANSWER = says("parent", "result: {last}")


@pytest.fixture
def disk() -> Iterator[Path]:
    need_bubblewrap()
    with small_disk("160m", files=20_000) as folder:
        yield folder


def runs(command: str, **more: object) -> Json:
    return call("parent", "run_command", {"command": command, **more}, last="^go")


@asynccontextmanager
async def gateway(disk: Path, rules: Sequence[Json]) -> AsyncIterator[TelegramGateway]:
    sections: dict[str, Any] = {
        "storage": {"url": f"sqlite:///{disk}/bough.db", "ballast": "8MB"},
        "tools": {
            "toolsets": ["terminal"],
            "workspace": f"{disk}/w/{{session}}",
            "rules": [ALLOWED],
        },
    }
    async with telegram_gateway(disk, rules, **sections) as g:
        yield g


def store_of(g: TelegramGateway) -> SqlStore:
    assert g.app is not None and isinstance(g.app.store, SqlStore)
    return g.app.store


FILLING = {
    "fallocate": "fallocate -l 150M big",
    "posix_fallocate": (
        "python3 -c 'import os; os.posix_fallocate(os.open(\"big\", 65), 0, 150 << 20)'"
    ),
    "dd": "trap '' TERM; dd if=/dev/zero of=big bs=1M",
    "many writers": "trap '' TERM; for i in 1 2 3 4 5 6; do yes >big$i & done; wait",
    "small files": "trap '' TERM; mkdir d; i=0; while :; do echo $i >d/$i; i=$((i+1)); done",
    "folders": "python3 -c 'import os\nfor i in range(10**9): os.mkdir(str(i))'",
    "removed and held": "exec 5>big; rm big; cat /dev/zero >&5",
}


@pytest.mark.parametrize("how", FILLING)
async def test_chats_are_answered_while_a_command_fills_the_disk(disk: Path, how: str) -> None:
    rules = [runs(FILLING[how]), says("parent", "Hello, Ann.", last="^hello"), ANSWER]
    async with gateway(disk, rules) as g:
        g.say("go")
        for number in range(1, 6):
            g.say("hello", chat=ANN)
            await g.hears("Hello, Ann.", chat=ANN, count=number)
        result = str((await g.hears("result: "))["text"])
        g.say("hello again", chat=ANN)
        await g.hears("Hello, Ann.", chat=ANN, count=6)
        if how == "fallocate":
            assert "not supported" in result and "exit code: 1" in result
        else:
            assert "ended because the machine ran short of" in result or ALMOST in result
        if how in ("dd", "posix_fallocate"):
            assert "it left big (" in result and "nothing was removed" in result


async def test_on_a_full_disk_files_can_be_removed_and_none_written(disk: Path) -> None:
    rules = [
        call("parent", "run_command", {"command": "echo more >new; rm big; ls"}, last="^go"),
        ANSWER,
    ]
    async with gateway(disk, rules) as g:
        g.say("first")
        await g.hears("result: ")
        session = await g.read(lambda tx: tx.directory.conversation("telegram:1001"))
        place = disk / "w" / str(session)
        place.mkdir(parents=True)
        fill(disk).rename(place / "big")
        g.say("go")
        result = str((await g.hears("result: ", count=2))["text"])
        assert "the disk is almost full" in result and "write none" in result
        assert not (place / "big").exists()
        assert not (place / "new").exists() or (place / "new").stat().st_size == 0
        assert store_of(g)._database.restore_room() == ""


async def test_owners_are_told_of_a_full_disk(disk: Path) -> None:
    async with gateway(disk, [ANSWER]) as g:
        g.say("first")
        await g.hears("result: ")
        taken = fill(disk)
        g.say("x" * 3_000)
        await g.hears("result: ", count=2)
        store, app = store_of(g), g.app
        assert app is not None
        store.short_of_room = store._database.restore_room()
        await app.upkeep.housekeeping.tell_of_room()
        await app.upkeep.housekeeping.tell_of_room()
        await g.hears("The disk of the database was full")
        await g.settled()
        assert sum("The disk of the database" in text for text in g.texts()) == 1
        taken.unlink()
