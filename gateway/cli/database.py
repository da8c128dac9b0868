"""`bough db …`: whole databases, copied, backed up, restored, checked."""

import argparse
import os

from gateway.configuration.config import Config
from storage.sql.dialect import database_of
from storage.transfer.checking import check
from storage.transfer.copying import Tallies, back_up, copy, restore

TOLD = ("sessions", "entries", "questions", "audit", "blobs")
"""Tables whose rows people are told the number of; of the others the sum."""
FORGOTTEN_SINCE = (
    "It is as it was when the backup was made: who was forgotten since is in it again. Forget them "
    "once more with `bough people forget PERSON`, before you start."
)


def keep(arguments: argparse.Namespace, config: Config) -> int:
    """Carry a subcommand out; its exit status. StoreError where it cannot be done."""
    os.umask(0o077)  # a backup holds what people said
    url = config.storage.url
    match arguments.action:
        case "copy":
            found = copy(arguments.source, arguments.target)
            from_, to = map(database_of, (arguments.source, arguments.target))
            _tell(found, f"{to.description}, from {from_.description}")
        case "backup":
            found = back_up(url, arguments.file)
            _tell(found, f"{arguments.file}, from {database_of(url).description}")
        case "restore":
            _tell(restore(arguments.file, url), database_of(url).description)
            print(FORGOTTEN_SINCE)
        case _:
            return _check(url)
    return 0


def _check(url: str) -> int:
    name = database_of(url).description
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
