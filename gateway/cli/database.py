"""`bough db …`: whole databases, copied, backed up, restored, checked."""

import argparse
import asyncio
import os
from collections.abc import Mapping
from functools import partial

from adapters.platforms import bots_of
from gateway.configuration.config import Config
from gateway.errors import ConfigError
from gateway.running.own_bots import adopt
from storage.lock import hold_lock
from storage.sql.dialect import database_of
from storage.sql.store import SqlStore, must_exist
from storage.transfer.checking import check
from storage.transfer.copying import Tallies, back_up, copy, refuse_in_use, restore

TOLD = ("sessions", "entries", "questions", "audit", "blobs")
"""Tables whose rows people are told the number of; of the others the sum."""
FORGOTTEN_SINCE = (
    "It is as it was when the backup was made: who was forgotten since is in it again. Forget them "
    "once more with `bough people forget PERSON`, before you start."
)

ADOPTED = (
    "Messages that still wait to be sent are sent by the new bot. On Telegram it reaches only "
    "people who pressed Start with it, and groups that it was added to."
)


def keep(arguments: argparse.Namespace, config: Config) -> int:
    """Carry a subcommand out; its exit status. StoreError where it cannot be done."""
    os.umask(0o077)  # a backup holds what people said
    url = config.storage.url
    match arguments.action:
        case "copy":
            found = copy(arguments.source, arguments.target)
            from_, to = map(database_of, (arguments.source, arguments.target))
            _tell(found, f"{to.place}, from {from_.place}")
        case "backup":
            found = back_up(url, arguments.file)
            _tell(found, f"{arguments.file}, from {database_of(url).place}")
        case "restore":
            _tell(restore(arguments.file, url), database_of(url).place)
            print(FORGOTTEN_SINCE)
        case "adopt":
            must_exist(database_of(url))  # a lock would leave an empty file there
            with hold_lock(url):
                refuse_in_use(url)
                asyncio.run(_adopt(url, bots_of(config)))
        case _:
            return _check(url)
    return 0


async def _adopt(url: str, bots: Mapping[str, str]) -> None:
    if not bots:
        raise ConfigError(
            "The configuration has no token that says whose it is: give it with --config FILE or "
            "--env-file FILE."
        )
    store = await SqlStore.open(url, create=False)
    try:
        changed = await store.run(partial(adopt, bots=bots))
    finally:
        await store.close()
    for name, before, bot in changed:
        print(f"{name}: the database belongs to the bot {bot} now, before to {before or 'none'}.")
    print(ADOPTED if changed else "Nothing changed: the database belongs to these bots already.")


def _check(url: str) -> int:
    name = database_of(url).place
    if not (faults := check(url)):
        print(f"{name}: nothing is torn.")
        return 0
    for fault in faults:
        print(f"FAIL  {fault}")
    print(f"{name}: keep a copy of it as it is; `bough db restore` brings a backup back.")
    return 1


def _tell(found: Tallies, where: str) -> None:
    named = ", ".join(f"{found[name].rows:,} {name}" for name in TOLD)
    others = sum(each.rows for name, each in found.items() if name not in TOLD)
    print(f"{where}: {named} and {others:,} other rows, compared row by row.")
