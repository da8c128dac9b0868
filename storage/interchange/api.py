"""Sessions as files: Pi's session format in and out, OpenAI's lists of messages in."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from storage.errors import InterchangeError
from storage.interchange.arriving import PART, Arriving, Entries, Head, head_of
from storage.interchange.json_reader import parse, parse_line
from storage.interchange.openai import read_openai
from storage.interchange.pi.read import Imported, read_pi
from storage.interchange.pi.write import Exported
from storage.records.attached import digests
from storage.records.entries import Entry, Growth, Label, Session, SessionDraft, SessionKind
from storage.records.told_notes import still_kept
from storage.store import Store, Transaction
from storage.tree.paths import fork_point

_BOM = b"\xef\xbb\xbf"
_PACKED = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")
"""How archives and packed files begin."""


def read_session(data: bytes, now: float) -> Imported:
    """A file's session: Pi's JSON lines, versions 1 to 3, our own export among them, or a list of
    messages in OpenAI's shape, or an object with one under "messages", or one message on each line.

    `now`, Unix seconds, is the time of what has none. InterchangeError says which line is broken;
    then nothing is to be taken.
    """
    if data.startswith(_PACKED):
        raise InterchangeError("the file is packed; unpack it, and send what is in it")
    data = data.removeprefix(_BOM)
    lines = [(n, raw) for n, line in enumerate(data.split(b"\n"), 1) if (raw := line.strip())]
    if not lines:
        raise InterchangeError("the file is empty")
    if lines[0][1].startswith(b"["):
        return read_openai(_whole(data), now)
    if (messages := _messages(data, lines)) is not None:
        return read_openai(messages, now)
    return read_pi(lines, now)


def _messages(data: bytes, lines: Sequence[tuple[int, bytes]]) -> object:
    """What stands under "messages" where the whole file is one object, or the messages where each
    has a line of its own; else None."""
    first = _object(lines[0][1])
    if first is None:  # An object may take several lines.
        return (_object(data) or {}).get("messages")
    if first.get("type") == "session":
        return None
    if "role" in first:
        return [parse_line(number, raw) for number, raw in lines]
    if "messages" in first and len(lines) > 1:
        raise InterchangeError(
            f"line {lines[1][0]}: is a second conversation; one file is one session"
        )
    return first.get("messages")


def _object(raw: bytes) -> dict[str, Any] | None:
    """None for what is no object. The reader of lines names a fault."""
    try:
        value = parse(raw)
    except InterchangeError:
        return None
    return value if isinstance(value, dict) else None


def _whole(data: bytes) -> object:
    try:
        return parse(data)
    except InterchangeError as error:
        raise InterchangeError(f"the file {error}") from None


def take_in(tx: Transaction, imported: Imported) -> Session:
    """Store it as a new session."""
    return _stored(tx, head_of(imported), imported.entries)


def _stored(tx: Transaction, head: Head, entries: Entries) -> Session:
    session = tx.tree.create(SessionDraft(SessionKind.CHAT, head.title)).id
    growth = Growth()
    _plant(tx, session, entries, 0, growth)
    return _completed(tx, session, head, growth)


async def prepared(store: Store, arriving: Arriving) -> Callable[[Transaction], Session]:
    """What takes it in. Of what is long all is stored before, part by part, so that others write in
    between; until it is taken in, that session is an IMPORT, which nobody sees. Where that never
    comes, pruning sees to what is left of it."""
    head, parts = arriving.head, arriving.parts
    if head.count <= PART:
        entries = tuple([entry async for part in parts for entry in part])
        return partial(_stored, head=head, entries=entries)
    draft = SessionDraft(SessionKind.IMPORT)
    session = await store.run(lambda tx: tx.tree.create(draft).id)
    growth, places = Growth(), 0
    async for part in parts:
        began = time.monotonic()
        plant = partial(_plant, session=session, entries=part, first=places, growth=growth)
        await store.run(plant)
        places += len(part)
        # Who waits for the database's lock in another process looks for it now and then.
        await asyncio.sleep(time.monotonic() - began)
    return partial(_completed, session=session, head=head, growth=growth)


def _plant(tx: Transaction, session: int, entries: Entries, first: int, growth: Growth) -> None:
    """`first`: how many were planted before."""
    growth.cut(first)
    ids = tx.tree.plant(session, entries, None, growth)
    for id_, each in zip(ids, entries, strict=True):
        if named := digests(each.draft.body):
            tx.blobs.use(id_, named)


def _completed(tx: Transaction, session: int, head: Head, growth: Growth) -> Session:
    tx.tree.plant(session, (), head.leaf, growth)
    if head.header is not None:
        tx.directory.set_fact(_header_fact(session), head.header)
    return tx.tree.complete(session, head.title)


def gather(tx: Transaction, session: int) -> Exported:
    """All that an export of a session says. Transcripts of its delegations are sessions of their
    own, and not part of it; notes that it began with are, unless they were changed or deleted
    since. NotFound where there is no such session."""
    found = tx.tree.session(session)
    entries = tuple(_as_exported(tx, entry) for entry in with_ancestors(tx, session))
    originals: dict[int, str] = {}
    for one in {entry.session for entry in entries}:
        originals |= tx.tree.originals(one)
    labels: list[Label] = tx.tree.labels(session)
    header = tx.directory.fact(_header_fact(session))
    return Exported(found, entries, tuple(labels), originals, header)


def extent(tx: Transaction, session: int) -> int:
    """As many entries as an export says, or more. Costs as much as there are branches."""
    leaf = tx.tree.session(session).leaf
    last = [] if leaf is None else [tx.tree.entry(leaf).number]
    return max([*last, *(strand.tip_number for strand in tx.tree.strands(session))], default=0)


def _as_exported(tx: Transaction, entry: Entry) -> Entry:
    def text_of(note: int) -> str | None:
        kept = tx.notes.get(note)
        return kept.text if kept is not None else None

    body = still_kept(entry.body, text_of)
    return entry if body is entry.body else replace(entry, body=body)


def with_ancestors(tx: Transaction, session: int) -> tuple[Entry, ...]:
    """A session's entries, oldest first, and those of other sessions that they stand below: what a
    fork begins with."""
    found = tx.tree.session(session)
    entries = {entry.id: entry for entry in tx.tree.entries(session)}
    named = {fork_point(found), found.leaf, *(entry.parent for entry in entries.values())}
    for upper in sorted((id_ for id_ in named if id_ is not None), reverse=True):
        if upper not in entries:  # a path may be long, and most of these are on one
            entries |= {entry.id: entry for entry in tx.tree.path(upper)}
    return tuple(entries[id_] for id_ in sorted(entries))


def _header_fact(session: int) -> str:
    return f"header:{session}"
