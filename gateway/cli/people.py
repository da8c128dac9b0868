"""`bough people …`: who is known, all that is kept about somebody, and forgetting them.

It runs beside a gateway: every step is one short transaction, and no lock is held.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from adapters.platforms import checked_identity
from agent.settings import resolve_template
from agent.tools.files.workspace import Workspace
from gateway.cli.sessions import print_lines, write_file
from gateway.commands.people.forget import goes
from gateway.commands.people.rights import end_work_of
from gateway.configuration.config import Config
from gateway.errors import SessionsFault
from gateway.retention.copies import Copies
from gateway.retention.forgetting import Forgetters
from gateway.retention.personal_data import packed
from gateway.retention.pruning import PAGES
from storage.blobs.choosing import blobs_of
from storage.json_text import dumps
from storage.records.retention.forgetting import Extent, PersonRow
from storage.sql.store import SqlStore
from storage.store import Store, Transaction

BY = "bough people"
"""Who did it, in the audit."""


async def look_after(arguments: argparse.Namespace, config: Config) -> int:
    """Carry a subcommand out. SessionsFault or StoreError where it cannot be done."""
    os.umask(0o077)  # an export holds what people said
    store = await SqlStore.open(config.storage.url, create=False)
    try:
        match arguments.action:
            case "list":
                found = await store.read(lambda tx: tx.people.listed())
                print_lines(_listed(found, as_json=arguments.json))
            case "export":
                await _export(store, config, arguments.person, arguments.output)
            case _:
                await _forget(store, config, arguments)
    finally:
        await store.close()
    return 0


def _listed(found: list[PersonRow], *, as_json: bool) -> Iterable[str]:
    for one in found:
        since = datetime.fromtimestamp(one.first_seen, UTC)
        if as_json:
            yield dumps(
                {
                    "identity": one.identity,
                    "name": one.name,
                    "since": since.isoformat(),
                    "conversations": one.sessions,
                    "role": one.role or None,
                }
            )
            continue
        name = "".join(c if c.isprintable() else " " for c in one.name)
        role = f", {one.role}" if one.role else ""
        yield f"{one.identity}  {name}  since {since:%Y-%m-%d}, conversations: {one.sessions}{role}"


async def _export(store: Store, config: Config, person: str, output: str) -> None:
    identity = _identity(person)
    data = await packed(store, blobs_of(config.storage.url, store), identity)
    await asyncio.to_thread(write_file, Path(output), [data])


async def _forget(store: Store, config: Config, arguments: argparse.Namespace) -> None:
    identity = _identity(arguments.person)
    extent = await store.read(partial(_extent, identity=identity))
    for line in goes(extent):
        print(f"  {line}")
    if arguments.rights:
        print("  what was given to them in a chat")
    if not arguments.yes and not await asyncio.to_thread(_confirmed, identity):
        raise SessionsFault("nothing was forgotten")
    await store.run(partial(_begin, identity=identity, rights=arguments.rights))
    template = config.tools.workspace
    copies = Copies(lambda session: Workspace(resolve_template(template, session)))
    forgetters = Forgetters(store, copies)
    await forgetters.run()
    while await store.run(lambda tx: tx.pruning.tidy_index(PAGES)):
        continue
    print(f"{identity} is forgotten. Files go within a day, lines of cost lose them at 00:00 UTC,")
    print("both by the gateway, once it runs. Backups keep what is in them.")


def _extent(tx: Transaction, identity: str) -> Extent:
    return tx.forgettings.extent(identity)


def _begin(tx: Transaction, identity: str, rights: bool) -> None:
    """A turn of theirs that runs can write nothing any more."""
    end_work_of(tx, identity)
    if rights:
        tx.rights.take(identity)
    tx.directory.audit("person forgotten", BY, {"identity": identity, "rights": rights})
    tx.forgettings.begin(identity, BY, rights=rights)


def _confirmed(identity: str) -> bool:
    if not sys.stdin.isatty():
        raise SessionsFault("nobody is there to confirm it: say --yes")
    return input(f"This is for good. Write {identity} to forget them: ").strip() == identity


def _identity(text: str) -> str:
    try:
        return checked_identity(text)
    except ValueError as error:
        raise SessionsFault(f"{text!r} {error}") from None
