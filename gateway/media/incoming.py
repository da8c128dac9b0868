"""Files that came with messages, before a turn begins with those.

A message's inbox row waits until it says under "attached" what became of each of its files. They
are fetched in the session's lane, so nobody else waits, and what was found out is one commit: a
process that dies before it fetches again, and keeps no content twice.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePath

from adapters.cleaning import printable
from adapters.events import Conversation, File
from adapters.filenames import safe_name
from agent.concurrency import together
from agent.fairness import FairPlaces
from agent.models.media.transcription import NotHeard, Transcriber
from agent.text.markdown import escape
from agent.tools.base import Toolset
from agent.tools.files.common import FILE_THREADS
from agent.tools.files.programs import taken_up
from agent.tools.files.workspace import Missing, Workspace, WorkspaceError
from gateway.media.fetching import NotFetched, check_bounds, connected, fetch
from gateway.media.looking import look
from gateway.outbound.composer import Composer
from gateway.outbound.connections import Connections
from storage.blobs.base import BlobStore
from storage.errors import NotKept
from storage.records.attached import HEARD, INBOX, Attached, as_json
from storage.records.entries import Json
from storage.records.inbox_outbox import InboxKind, InboxRow, InboxState
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

MOST_FILES = 10
"""Of one message, with those of the message it replies to."""
ALBUM_SECONDS = 1.0
"""After the newest message of an album, within which another of it may come."""
AT_ONCE = 4
"""Files that are fetched at the same time, in all: each may take a lot of memory."""
RECEIVED = "received-"
"""Before names that make programs run."""
_NAME = 200
"""Characters of a file's name that are kept."""
_SUFFIXES = {"voice": ".ogg", "video_note": ".mp4", "audio": ".mp3"}
_HEARD_BY_SERVERS = frozenset(
    {".flac", ".m4a", ".mp3", ".mp4", ".mpeg", ".mpga", ".oga", ".ogg", ".wav", ".webm"}
)
NO_TRANSCRIBER = (
    "I cannot listen to voice messages here; please write it. The bot's owner can switch that on "
    "with a model under `[models.transcription]` in bough.toml."
)
UNKEPT = "it could not be kept: something is wrong where the bot runs, and its log says what"
UNHEARD = "not listened to: nothing here writes down voices"
"""What the model is told, of each."""
TOLD_AGAIN = 30 * 86_400.0
"""Seconds after which a conversation is told once more that voices are not heard."""
_TOLD = "voices unheard:{}"


def given_files(payload: Json) -> list[Json]:
    """Those of a message as its row has them; a command's are its own matter."""
    return list(payload.get("files") or ())[:MOST_FILES]


def is_ready(row: InboxRow) -> bool:
    """Whether a turn can begin with a row: it has no files, or they were looked at."""
    if row.kind is not InboxKind.MESSAGE or row.entry is not None:
        return True
    return "attached" in row.payload or not given_files(row.payload)


@dataclass(frozen=True, slots=True)
class _Found:
    file: Attached
    told: str = ""
    """What its sender is told of it, in Markdown."""
    unheard: bool = False
    """It is a voice, and nobody here writes those down."""


@dataclass(frozen=True, slots=True)
class Incoming:
    store: Store
    blobs: BlobStore
    connections: Connections
    composer: Composer
    toolsets_at: Callable[[str], frozenset[str]]
    """Of a conversation, by its address."""
    workspace: Callable[[int], Workspace]
    """Of a session."""
    transcriber: Transcriber | None
    """None where nobody writes down voices."""
    _slots: FairPlaces = field(
        default_factory=lambda: FairPlaces(AT_ONCE, "files that come in"), init=False
    )

    async def prepare(self, session: int, rows: Sequence[InboxRow]) -> None:
        """Fetch the files of these rows of a session, where that was not done; wait for what else
        belongs to an album. StoreError where they cannot be kept."""
        waiting = [row for row in rows if not is_ready(row)]
        albums = [row.time for row in waiting if row.payload.get("album")]
        if albums:
            left = max(albums) + ALBUM_SECONDS - time.time()
            await asyncio.sleep(min(max(left, 0.0), ALBUM_SECONDS))
        await together(self._prepare(session, row) for row in waiting)

    async def _prepare(self, session: int, row: InboxRow) -> None:
        files = [_file(one) for one in given_files(row.payload)]
        found = await together(self._one(session, row.address, file) for file in files)
        await self.store.run(partial(self._settle, row=row, found=found))

    def _settle(self, tx: Transaction, row: InboxRow, found: Sequence[_Found]) -> None:
        """Say in the row what became of its files, and to its sender what they should know."""
        now = tx.inbox.get(row.id)
        # Ended meanwhile, its words gone with it, or another process was faster.
        if now.state is not InboxState.OPEN or "attached" in now.payload:
            return
        tx.inbox.amend(row.id, {**now.payload, "attached": [as_json(one.file) for one in found]})
        lines = [one.told for one in found if one.told]
        if any(one.unheard for one in found) and _is_news(tx, row.address):
            lines.insert(0, f"🎤 {NO_TRANSCRIBER}")
        told = "\n".join(dict.fromkeys(lines))
        left = len(row.payload["files"]) - len(found)
        if left > 0:
            told += f"\n📎 Only the first {MOST_FILES} files were taken, {left} were not."
        if told:
            reply_to = "" if row.payload.get("private", True) else row.payload["message_id"]
            for parcel in self.composer.post(row.address, told.strip(), reply_to=reply_to):
                tx.outbox.enqueue(parcel)

    async def _one(self, session: int, address: str, file: File) -> _Found:
        kept = Attached(file.kind, file.name[:_NAME], "", file.size, file.seconds)
        writes = Toolset.FILE in self.toolsets_at(address)
        if file.kind in HEARD and self.transcriber is None and not writes:
            return _Found(replace(kept, fault=UNHEARD), unheard=True)
        try:
            check_bounds(file)
            # Before the slot: a platform that is away must not hold up the files of others.
            adapter = await connected(self.connections, Conversation.parse(address).platform)
            async with self._slots.place(address):
                data = await fetch(adapter, file)
                kept = replace(kept, size=len(data))
                return await self._kept(session, address, kept, file, data, writes)
        except NotKept as error:
            # The words are answered all the same: who is to mend that may not be here.
            log.error("a file that came in is lost: %s", error)
            return _Found(replace(kept, fault=UNKEPT), f"📎 {UNKEPT[0].upper()}{UNKEPT[1:]}.")
        except NotFetched as error:
            named = f"{escape(printable(kept.name))}: " if kept.name else ""
            return _Found(replace(kept, fault=f"not here: {error}"), f"📎 {named}{error}.")

    async def _kept(
        self, session: int, address: str, kept: Attached, file: File, data: bytes, writes: bool
    ) -> _Found:
        kept = replace(kept, blob=await self.blobs.put(data))
        if file.kind in HEARD:
            return await self._heard(session, address, kept, file, data, writes)
        seen = await look(data, file.media_type, address)
        shown = await self.blobs.put(seen.picture) if seen.picture is not None else ""
        # An older row may call a picture a document.
        kept = replace(kept, type=seen.type, shown=shown, text=seen.text, fault=seen.fault)
        if writes:
            kept = await self._written(session, address, kept, data)
        return _Found(kept)

    async def _heard(
        self, session: int, address: str, kept: Attached, file: File, data: bytes, writes: bool
    ) -> _Found:
        if writes:
            kept = await self._written(session, address, kept, data)
        if self.transcriber is None:
            return _Found(replace(kept, fault=UNHEARD), unheard=True)
        try:
            text = await self.transcriber.text_of(data, _name_for_server(file))
        except NotHeard as error:
            fault = f"not listened to: {error}"
            return _Found(replace(kept, fault=fault), f"🎤 I could not listen to it: {error}.")
        if not text:
            return _Found(replace(kept, fault="nothing is said in it"))
        return _Found(replace(kept, text=text))

    async def _written(self, session: int, address: str, kept: Attached, data: bytes) -> Attached:
        try:
            write = partial(_write, self.workspace(session), kept, data)
            path = await FILE_THREADS.run(address, write, patient=True)
        except WorkspaceError as error:
            log.warning("a file that came in is not in the workspace: %s", error)
            return kept
        return replace(kept, path=path)


def _is_news(tx: Transaction, address: str) -> bool:
    """Whether a conversation was not told lately that voices are not heard; it is, now."""
    name = _TOLD.format(address)
    told = tx.directory.fact(name)
    if isinstance(told, int | float) and tx.now - TOLD_AGAIN < told <= tx.now:
        return False
    tx.directory.set_fact(name, tx.now)
    return True


def _file(given: Json) -> File:
    """As the row has it; one from before 2026-11 says less."""
    return File(**{key: given[key] for key in File.__dataclass_fields__ if key in given})


def _name_for_server(file: File) -> str:
    suffix = PurePath(safe_name(file.name)).suffix.lower()
    return "voice" + (suffix if suffix in _HEARD_BY_SERVERS else _SUFFIXES[file.kind])


def _write(workspace: Workspace, kept: Attached, data: bytes) -> str:
    """Where it is in the workspace. One with that name and another content stays, and none gets a
    name by which a program takes it up by itself."""
    name = safe_name(kept.name or f"{kept.kind}{_suffix(kept)}")
    for harmless in (name, f"{RECEIVED}{name}", f"{RECEIVED}{name}.txt"):
        given = PurePath(harmless)
        if not taken_up(harmless):
            break
    for number in range(1, 1_000):
        name = given.name if number == 1 else f"{given.stem}-{number}{given.suffix}"
        path = f"{INBOX}/{name}"
        try:
            there = workspace.read(path, len(data)).data
        except Missing:
            workspace.write(path, data)
            return path
        except WorkspaceError:
            continue  # larger, or no file
        if there == data:
            return path
    raise WorkspaceError(f"{INBOX}/{given}: there are too many files of that name")


def _suffix(kept: Attached) -> str:
    suffix = _SUFFIXES.get(kept.kind, "")
    kind, _, what = kept.type.partition("/")
    return suffix or ("." + what.replace("jpeg", "jpg") if kind == "image" else "")
