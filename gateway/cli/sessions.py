"""`bough sessions …`: what is stored, as text and JSON, from files and to files.

It runs beside a gateway: every command is one transaction, and no lock is held.
"""

import argparse
import asyncio
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from gateway.access.roles import LOCAL
from gateway.cli.sessions_output import (
    context_text,
    context_view,
    list_text,
    list_view,
    tree_text,
    tree_view,
)
from gateway.configuration.config import Config
from gateway.configuration.secret_values import all_secrets
from gateway.errors import SessionsFault
from gateway.media.exchange import keep_pictures
from gateway.media.exporting import Wish, lines_of
from storage.blobs.choosing import blobs_of
from storage.interchange.api import gather, prepared, read_session
from storage.interchange.arriving import at_hand
from storage.json_text import dumps
from storage.records.chats.people import Role
from storage.records.entries import Session, SessionKind
from storage.sql.store import SqlStore
from storage.store import Store, Transaction

STREAM = "-"
"""Instead of a file: standard input or output."""


async def manage(arguments: argparse.Namespace, config: Config) -> int:
    """Carry a subcommand out. Nothing is printed to standard output before all is well.

    SessionsFault or StoreError where it cannot be done.
    """
    os.umask(0o077)  # the database, and an export, hold what people said
    store = await SqlStore.open(config.storage.url, create=False)
    gc.disable()  # it would go through 100,000 entries again and again, for seconds
    try:
        lines = await _lines(arguments, store, config)
        await asyncio.to_thread(print_lines, lines)  # some wait for this event loop
    finally:
        gc.enable()
        await store.close()
    return 0


async def _lines(arguments: argparse.Namespace, store: Store, config: Config) -> Iterable[str]:
    """What is to be printed."""
    match arguments.action:
        case "list":
            kinds = tuple(SessionKind) if arguments.all else (SessionKind.CHAT,)
            found = await store.read(partial(list_view, kinds=kinds))
            return _shown(arguments, found, list_text)
        case "tree":
            tree = await store.read(partial(tree_view, session=arguments.session))
            return _shown(arguments, tree, tree_text)
        case "context":
            view = partial(context_view, session=arguments.session, at=arguments.at)
            return _shown(arguments, await store.read(view), context_text)
        case "import":
            return await _import(arguments, store, config)
        case _:
            return await _export(arguments, store, config)


async def _import(arguments: argparse.Namespace, store: Store, config: Config) -> Iterable[str]:
    """Owners find the session among theirs: who may use this command line owns the bot."""
    imported = read_session(_read(arguments.file), time.time())
    blobs = blobs_of(config.storage.url, store)
    take = await prepared(store, keep_pictures(blobs, at_hand(imported), ""))
    owners = {LOCAL, *(owner for owner in config.access.owners if not owner.endswith("*"))}

    def work(tx: Transaction) -> Session:
        session = take(tx)
        given = {right.identity for right in tx.rights.all() if right.role is Role.OWNER}
        for owner in sorted(owners | given):
            tx.directory.join(session.id, owner)
        return session

    session = await store.run(work)
    taken = {
        "session": session.id,
        "entries": len(imported.entries),
        "notes": list(imported.notes),
    }
    return _shown(arguments, taken, _import_text)


def _import_text(taken: dict[str, Any]) -> Iterator[str]:
    count = taken["entries"]
    yield f"Session {taken['session']}: {count} {'entry' if count == 1 else 'entries'}."
    yield from (f"Note: {note}." for note in taken["notes"])


async def _export(arguments: argparse.Namespace, store: Store, config: Config) -> Iterable[str]:
    exported = await store.read(lambda tx: gather(tx, arguments.session))
    secrets = tuple(all_secrets(config)) if arguments.redact else None
    wish = Wish(config.storage.url, arguments.session, secrets, most=None)
    lines = lines_of(exported, wish, store)
    children = await store.read(lambda tx: tx.tree.children(arguments.session))
    if transcripts := sum(child.kind is SessionKind.SUBAGENT for child in children):
        print(
            f"bough: left out: the transcripts of delegations ({transcripts}); each is a session "
            "of its own, see `bough sessions list --all`",
            file=sys.stderr,
        )
    if arguments.output == STREAM:
        return (line.removesuffix("\n") for line in lines())
    await asyncio.to_thread(_write_lines, Path(arguments.output), lines)
    return ()


def _write_lines(file: Path, lines: Callable[[], Iterable[str]]) -> None:
    write_file(file, (line.encode() for line in lines()))


def _shown(
    arguments: argparse.Namespace, value: object, text: Callable[[Any], Iterable[str]]
) -> Iterable[str]:
    return [dumps(value)] if arguments.json else text(value)


def _read(name: str) -> bytes:
    if name == STREAM and sys.__stdin__ is None:
        raise SessionsFault("standard input is closed")
    try:
        return sys.stdin.buffer.read() if name == STREAM else Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise SessionsFault(f"{name!r} cannot be read: {_reason(error)}") from error


def write_file(file: Path, parts: Iterable[bytes]) -> None:
    """Whole or not at all: to a file beside it first, which then takes its name."""
    try:
        if file.exists() and not file.is_file():
            raise SessionsFault(f"{str(file)!r} is no regular file: name another")
        number, name = tempfile.mkstemp(prefix=".bough-", dir=file.parent)
        beside = Path(name)
        try:
            with os.fdopen(number, "wb") as out:
                out.writelines(parts)
            beside.replace(file)
        finally:
            beside.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise SessionsFault(f"{str(file)!r} cannot be written: {_reason(error)}") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def print_lines(lines: Iterable[str]) -> None:
    """To standard output in UTF-8, wherever we are. A reader that has enough is no fault."""
    if sys.__stdout__ is None:
        raise SessionsFault("standard output is closed")
    try:
        for line in lines:
            sys.stdout.buffer.write(line.encode() + b"\n")
        sys.stdout.buffer.flush()
    except OSError as error:
        # Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise SessionsFault(f"standard output cannot be written: {_reason(error)}") from error
