"""Sessions as files in a chat: /export, /import."""

import time
from collections.abc import Callable
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
from gateway.configuration.secret_values import all_secrets
from gateway.errors import ExportFault
from gateway.media.exchange import keep_pictures
from gateway.media.exporting import Wish, session_file
from gateway.retention.personal_data import NAME, packed
from gateway.views.sessions import name_of, quoted_name, size_of
from storage.blobs.base import BlobStore
from storage.blobs.choosing import blobs_of
from storage.errors import InterchangeError
from storage.interchange.api import prepared
from storage.interchange.arriving import Head
from storage.interchange.reading import read_apart
from storage.interchange.redaction import redactor
from storage.records.entries import Session
from storage.records.inbox_outbox import StoredFile
from storage.store import Transaction

LARGEST_IN = 20 * MEGABYTE
"""Bytes."""
NOTES_SHOWN = 5
_NOTE = 200
"""Characters of a note or an error."""
_REDACT = ("redact", "--redact")
_ME = "me"
ONLY_IN_PRIVATE = "What I keep about you I give you in our private chat only: `/export me` there."
OWN = "All that I keep about you: `person.json`, and what you sent, in `files`."
OWN_TOO_BIG = (
    "The file would have {size:.0f} MB, more than can be sent here. Ask whoever runs this bot: "
    "`bough people export {who} --output FILE` writes it."
)


def _export(tx: Transaction, call: CommandCall) -> Outcome:
    return _own(call) if call.argument.casefold() == _ME else _session(tx, call)


def _own(call: CommandCall) -> Outcome:
    """All that is kept about whoever asks, for their eyes."""
    if not call.message.private:
        return Reply(ONLY_IN_PRIVATE)

    async def written() -> Reply:
        data = await packed(call.context.store, _blobs(call), call.who)
        platform = PLATFORMS.get(call.message.conversation.platform)
        most = platform.largest_upload if platform is not None else None
        if most is not None and len(data) > most:
            return Reply(OWN_TOO_BIG.format(size=len(data) / MEGABYTE, who=call.who))
        return Reply(OWN, file=StoredFile(NAME, data))

    return Slow(written)


def _export_session(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    wish = call.argument.lower().replace("—", "--")
    if wish and wish not in _REDACT:
        text = (
            "`/export` gives this conversation as a file; `/export redact` without secrets; "
            "`/export me` all that I keep about you."
        )
        return Reply(text)
    secrets = tuple(all_secrets(call.context.config)) if wish else None
    overview = tx.directory.overview(session)

    async def sent() -> Reply:
        platform = PLATFORMS.get(call.message.conversation.platform)
        most = platform.largest_upload if platform is not None else None
        url = call.context.config.storage.url
        try:
            file = await session_file(call.context.store, Wish(url, session, secrets, most))
        except ExportFault as fault:
            return Reply(f"The file could not be written: {_shown(str(fault))}.")
        if file.data is None:
            assert most is not None, "without a limit nothing is too big"
            return Reply(_too_big(session, file.size, most, redacted=bool(wish)))
        without = ", secrets taken out" if wish else ""
        text = f"{quoted_name(overview)}, {_entries(file.entries)}{without}."
        name = name_of(overview) if secrets is None else redactor(secrets)(name_of(overview, 1_000))
        return Reply(text, file=StoredFile(safe_name(f"{name}.jsonl"), file.data))

    return Slow(sent)


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
    store = call.context.store
    try:
        async with read_apart(await _fetched(call, file), time.time()) as arriving:
            take = await prepared(store, keep_pictures(_blobs(call), arriving, call.address))
            head = arriving.head
    except AdapterError as error:
        return Reply(f"The file could not be fetched: {_shown(str(error))}.")
    except InterchangeError as error:
        return Reply(f"Nothing was taken in: {_shown(str(error))}. No part of it is in a chat.")
    return Act(partial(_plant, call=call, head=head, take=take), leaving=True)


async def _fetched(call: CommandCall, file: File) -> bytes:
    """AdapterError where the file cannot be had."""
    if file.size > LARGEST_IN:
        raise AdapterError(f"it has more than {LARGEST_IN // MEGABYTE} MB")
    adapter = call.context.adapters.get(call.message.conversation.platform)
    if adapter is None:
        raise AdapterError("its platform is away for the moment; send it again in a while")
    return await adapter.fetch(file.ref, LARGEST_IN)


def _blobs(call: CommandCall) -> BlobStore:
    return blobs_of(call.context.config.storage.url, call.context.store)


def _plant(
    tx: Transaction, call: CommandCall, head: Head, take: Callable[[Transaction], Session]
) -> Reply:
    session = take(tx).id
    tx.directory.bind(call.address, session)
    tx.directory.join(session, call.who)
    overview = tx.directory.overview(session)
    taken = f"{_entries(head.count)}, {size_of(overview)}"
    lines = [f"Taken in: you are in {quoted_name(overview)} now ({taken})."]
    lines += [f"• {_shown(note)}" for note in head.notes[:NOTES_SHOWN]]
    if len(head.notes) > NOTES_SHOWN:
        lines.append(f"… and {len(head.notes) - NOTES_SHOWN} more")
    return Reply("\n".join(lines), way_back(tx, call, session), by=call.who)


def _shown(text: str) -> str:
    return escape(bounded(text, _NOTE)).rstrip(".")


_session = in_session(_export_session)
EXCHANGE = (
    Command(
        CommandSpec("export", "this conversation as a file; redact: no secrets; me", "what"),
        _export,
    ),
    Command(
        CommandSpec("import", "go on with a conversation from a file", file=True),
        _import,
    ),
)
