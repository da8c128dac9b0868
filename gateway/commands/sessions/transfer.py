"""Sessions as files in a chat: /export, /import."""

import asyncio
import time
from functools import partial

from adapters.base import AdapterError, CommandSpec
from adapters.events import File
from adapters.filenames import safe_name
from adapters.platforms import MEGABYTE, PLATFORMS
from agent.text.markdown import bounded, escape
from gateway.commands.context import NOTHING_YET, Command, CommandCall, CommandContext, Work, answer
from gateway.commands.sessions.switch import leave, way_back
from gateway.config import all_secrets
from gateway.views.sessions import name_of, quoted_name, size_of
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


async def _export(desk: CommandContext, asked: CommandCall) -> Work:
    session, wish = asked.session, asked.argument.lower().replace("—", "--")
    if session is None:
        return answer(desk, asked, NOTHING_YET)
    if wish and wish not in _REDACT:
        text = "`/export` gives this conversation as a file; `/export redact` without secrets."
        return answer(desk, asked, text)
    redact = redactor(all_secrets(desk.config)) if wish else None
    overview, exported = await desk.store.read(
        lambda tx: (tx.directory.overview(session), gather(tx, session))
    )
    data = await asyncio.to_thread(
        lambda: "".join(write_session(exported, redact)).encode("utf-8", "replace")
    )
    platform = PLATFORMS.get(asked.message.conversation.platform)
    most = platform.largest_upload if platform is not None else None
    if most is not None and len(data) > most:
        return answer(desk, asked, _too_big(session, len(data), most, redacted=bool(wish)))
    without = ", secrets taken out" if wish else ""
    text = f"{quoted_name(overview)}, {_entries(len(exported.entries))}{without}."
    name = redact(name_of(overview, 1_000)) if redact else name_of(overview)
    file = StoredFile(safe_name(f"{name}.jsonl"), data)
    return lambda tx: desk.say(tx, asked, text, file=file)


def _too_big(session: int, size: int, most: int, *, redacted: bool) -> str:
    option = " --redact" if redacted else ""
    return (
        f"The file would have {size / MEGABYTE:.0f} MB, and {most // MEGABYTE} MB is the most that "
        f"can be sent here. On the bot's machine, `bough sessions export {session} "
        f"--output FILE{option}` writes it."
    )


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


async def _import(desk: CommandContext, asked: CommandCall) -> Work:
    files = asked.message.files
    if len(files) != 1:
        count = "One file at a time." if files else "There is no file with that."
        how = "Send a file together with /import, or answer a message that has one by /import."
        return answer(desk, asked, f"{count} {how}")
    try:
        imported = await _read(desk, asked, files[0])
    except AdapterError as error:
        return answer(desk, asked, f"The file could not be fetched: {_shown(str(error))}.")
    except InterchangeError as error:
        return answer(
            desk, asked, f"Nothing was taken in: {_shown(str(error))}. No part of it is kept."
        )
    await leave(desk, asked)
    return partial(_plant, desk, asked, imported)


async def _read(desk: CommandContext, asked: CommandCall, file: File) -> Imported:
    """AdapterError where the file cannot be had, InterchangeError where it holds no session."""
    if file.size > LARGEST_IN:
        raise AdapterError(f"it has more than {LARGEST_IN // MEGABYTE} MB")
    adapter = desk.adapters.get(asked.message.conversation.platform)
    if adapter is None:
        raise AdapterError("its platform is away for the moment; send it again in a while")
    data = await adapter.fetch(file.ref, LARGEST_IN)
    return await asyncio.to_thread(read_session, data, time.time())


def _plant(desk: CommandContext, asked: CommandCall, imported: Imported, tx: Transaction) -> None:
    session = take_in(tx, imported).id
    tx.directory.bind(asked.address, session)
    tx.directory.join(session, asked.who)
    overview = tx.directory.overview(session)
    taken = f"{_entries(len(imported.entries))}, {size_of(overview)}"
    lines = [f"Taken in: you are in {quoted_name(overview)} now ({taken})."]
    lines += [f"• {_shown(note)}" for note in imported.notes[:NOTES_SHOWN]]
    if len(imported.notes) > NOTES_SHOWN:
        lines.append(f"… and {len(imported.notes) - NOTES_SHOWN} more")
    desk.say(tx, asked, "\n".join(lines), way_back(tx, asked, session), by=asked.who)


def _shown(text: str) -> str:
    return escape(bounded(text, _NOTE)).rstrip(".")


EXCHANGE = (
    Command(
        CommandSpec("export", "this conversation as a file; redact: no secrets", "redact"), _export
    ),
    Command(
        CommandSpec("import", "go on with a conversation from a file", file=True),
        _import,
    ),
)
