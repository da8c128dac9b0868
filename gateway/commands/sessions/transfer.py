"""Sessions as files in a chat: /export, /import."""

import asyncio
import time
from functools import partial

from adapters.base import AdapterError, CommandSpec
from adapters.events import File
from adapters.filenames import safe_name
from adapters.platforms import MEGABYTE, PLATFORMS
from agent.text.markdown import bounded, escape
from gateway.commands.context import (
    Act,
    Command,
    CommandCall,
    Outcome,
    Reply,
    Slow,
    in_session,
)
from gateway.commands.sessions.switch import way_back
from gateway.config_secrets import all_secrets
from gateway.media.exchange import keep_pictures, with_pictures
from gateway.views.sessions import name_of, quoted_name, size_of
from storage.blobs.base import BlobStore
from storage.blobs.choosing import blobs_of
from storage.errors import InterchangeError
from storage.interchange.api import gather, read_session, take_in
from storage.interchange.pi.read import Imported
from storage.interchange.pi.write import write_session
from storage.interchange.redaction import redactor
from storage.records.inbox_outbox import StoredFile
from storage.store import Transaction

LARGEST_IN = 20 * MEGABYTE
"""Bytes."""
NOTES_SHOWN = 5
_NOTE = 200
"""Characters of a note or an error."""
_REDACT = ("redact", "--redact")


def _export(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    wish = call.argument.lower().replace("—", "--")
    if wish and wish not in _REDACT:
        text = "`/export` gives this conversation as a file; `/export redact` without secrets."
        return Reply(text)
    redact = redactor(all_secrets(call.context.config)) if wish else None
    overview, exported = tx.directory.overview(session), gather(tx, session)

    async def written() -> Reply:
        whole = await with_pictures(_blobs(call), exported)
        data = await asyncio.to_thread(
            lambda: "".join(write_session(whole, redact)).encode("utf-8", "replace")
        )
        platform = PLATFORMS.get(call.message.conversation.platform)
        most = platform.largest_upload if platform is not None else None
        if most is not None and len(data) > most:
            return Reply(_too_big(session, len(data), most, redacted=bool(wish)))
        without = ", secrets taken out" if wish else ""
        text = f"{quoted_name(overview)}, {_entries(len(exported.entries))}{without}."
        name = redact(name_of(overview, 1_000)) if redact else name_of(overview)
        return Reply(text, file=StoredFile(safe_name(f"{name}.jsonl"), data))

    return Slow(written)


def _too_big(session: int, size: int, most: int, *, redacted: bool) -> str:
    option = " --redact" if redacted else ""
    return (
        f"The file would have {size / MEGABYTE:.0f} MB, and {most // MEGABYTE} MB is the most that "
        f"can be sent here. On the bot's machine, `bough sessions export {session} "
        f"--output FILE{option}` writes it."
    )


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


def _import(tx: Transaction, call: CommandCall) -> Outcome:
    files = [file for file in call.message.files if file.kind == "document"]
    if len(files) != 1:
        count = "One file at a time." if files else "There is no file with that."
        how = "Send a file together with /import, or answer a message that has one by /import."
        return Reply(f"{count} {how}")
    return Slow(partial(_taken_in, call, files[0]))


async def _taken_in(call: CommandCall, file: File) -> Reply | Act:
    try:
        imported = await _read(call, file)
    except AdapterError as error:
        return Reply(f"The file could not be fetched: {_shown(str(error))}.")
    except InterchangeError as error:
        return Reply(f"Nothing was taken in: {_shown(str(error))}. No part of it is kept.")
    return Act(partial(_plant, call=call, imported=imported), leaving=True)


async def _read(call: CommandCall, file: File) -> Imported:
    """AdapterError where the file cannot be had, InterchangeError where it holds no session."""
    if file.size > LARGEST_IN:
        raise AdapterError(f"it has more than {LARGEST_IN // MEGABYTE} MB")
    adapter = call.context.adapters.get(call.message.conversation.platform)
    if adapter is None:
        raise AdapterError("its platform is away for the moment; send it again in a while")
    data = await adapter.fetch(file.ref, LARGEST_IN)
    imported = await asyncio.to_thread(read_session, data, time.time())
    return await keep_pictures(_blobs(call), imported)


def _blobs(call: CommandCall) -> BlobStore:
    return blobs_of(call.context.config.storage.url, call.context.store)


def _plant(tx: Transaction, call: CommandCall, imported: Imported) -> Reply:
    session = take_in(tx, imported).id
    tx.directory.bind(call.address, session)
    tx.directory.join(session, call.who)
    overview = tx.directory.overview(session)
    taken = f"{_entries(len(imported.entries))}, {size_of(overview)}"
    lines = [f"Taken in: you are in {quoted_name(overview)} now ({taken})."]
    lines += [f"• {_shown(note)}" for note in imported.notes[:NOTES_SHOWN]]
    if len(imported.notes) > NOTES_SHOWN:
        lines.append(f"… and {len(imported.notes) - NOTES_SHOWN} more")
    return Reply("\n".join(lines), way_back(tx, call, session), by=call.who)


def _shown(text: str) -> str:
    return escape(bounded(text, _NOTE)).rstrip(".")


EXCHANGE = (
    Command(
        CommandSpec("export", "this conversation as a file; redact: no secrets", "redact"),
        in_session(_export),
    ),
    Command(
        CommandSpec("import", "go on with a conversation from a file", file=True),
        _import,
    ),
)
