"""Files of sessions as others write them, and stores to take them in."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from storage.interchange.api import gather, read_session, take_in
from storage.interchange.pi.read import Imported
from storage.interchange.pi.write import write_session
from storage.records.entries import Json, Session
from storage.store import Transaction
from tests.support import stores

T = TypeVar("T")

NOW = 1_700_000_000.0
STAMP = "2025-01-01T00:00:00.000Z"
HEADER: Json = {"type": "session", "version": 3, "id": "s", "timestamp": STAMP, "cwd": "/x"}


def line(type_: str, id_: str, parent: str | None, **more: Any) -> Json:
    return {"type": type_, "id": id_, "parentId": parent, "timestamp": STAMP, **more}


def user(id_: str, parent: str | None, text: str = "hi") -> Json:
    return line("message", id_, parent, message={"role": "user", "content": text, "timestamp": 1})


def assistant(id_: str, parent: str | None, *blocks: Json, **more: Any) -> Json:
    message = {"role": "assistant", "content": list(blocks), "timestamp": 1, **more}
    return line("message", id_, parent, message=message)


def said(text: str) -> Json:
    return {"type": "text", "text": text}


def call(id_: str, **arguments: Any) -> Json:
    return {"type": "toolCall", "id": id_, "name": "look", "arguments": arguments}


def result(id_: str, parent: str, call_id: str, text: str = "seen") -> Json:
    message = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": "look",
        "content": [said(text)],
        "isError": False,
        "timestamp": 1,
    }
    return line("message", id_, parent, message=message)


def compaction(id_: str, parent: str | None, kept: str | None) -> Json:
    more = {"summary": "in short", "firstKeptEntryId": kept, "tokensBefore": 9}
    return line("compaction", id_, parent, **more)


def file_of(*lines: Any) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(each) + "\n" for each in lines).encode()


def taken(*lines: Any) -> Imported:
    """A file with a header and these entries, read."""
    return read_session(file_of(HEADER, *lines), NOW)


def in_store(work: Callable[[Transaction], T]) -> T:
    """What `work` comes to in a store of its own."""
    return stores.in_store(work, lambda: NOW)


def exported(tx: Transaction, session: Session) -> bytes:
    return "".join(write_session(gather(tx, session.id))).encode()


def through_a_store(data: bytes) -> list[Json]:
    """The lines that a file becomes when it is imported and exported."""

    def work(tx: Transaction) -> bytes:
        return exported(tx, take_in(tx, read_session(data, NOW)))

    return lines_of(in_store(work))


def lines_of(data: bytes) -> list[Json]:
    return [json.loads(row) for row in data.split(b"\n") if row]
