"""What other processes say of their commits."""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg

from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.news import Committed, Signal
from storage.records.entries import Json
from storage.sql.shared.announcing import CHANNEL
from storage.sql.shared.patient_connection import PatientConnection

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds until a connection that broke is made again."""
MOST_BEGUN = 100
"""Notices in parts of which the last has not come: of a process that was heard in the middle."""
ANYTHING = Committed(
    frozenset(), outbox=True, schedules=True, questions=True, settings=True, elsewhere=True
)
"""What may have happened while nobody listened."""


@dataclass(slots=True)
class Listening:
    conninfo: str
    process: str
    """Whose own words are passed over."""
    _begun: dict[tuple[str, str], list[str]] = field(default_factory=dict, init=False)

    async def run(self, tell: Callable[[Committed], None]) -> None:
        """Hear until cancelled."""
        faults = Faults(log)
        while True:
            try:
                await self._hear(tell)
            except psycopg.Error as error:
                said = str(error).partition("\n")[0].strip()
                faults.failed("other processes are not heard", StoreUnavailable(said))
            await asyncio.sleep(PAUSE)

    async def _hear(self, tell: Callable[[Committed], None]) -> None:
        connection = await PatientConnection.connect(self.conninfo, autocommit=True)
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            tell(ANYTHING)
            async for notice in connection.notifies():
                if (news := self.heard(notice.payload)) is not None:
                    tell(news)

    def heard(self, payload: str) -> Committed | None:
        """None for our own words, and for a part that others follow. Anybody may speak on the
        channel, another version of the program too: what cannot be read may mean anything."""
        try:
            return self._read(payload)
        except (LookupError, TypeError, ValueError) as error:
            log.warning("another process cannot be understood: %r", error)
            return ANYTHING

    def _read(self, payload: str) -> Committed | None:
        process, notice, number, count, piece = json.loads(payload)
        if process == self.process:
            return None
        pieces = self._begun.setdefault((process, notice), [])
        pieces.append(piece)
        if number + 1 < count:
            while len(self._begun) > MOST_BEGUN:
                del self._begun[next(iter(self._begun))]
            return None
        del self._begun[process, notice]
        if len(pieces) < count:
            return ANYTHING
        return _committed(json.loads("".join(pieces)))


def _committed(said: Json) -> Committed:
    return Committed(
        frozenset(said["sessions"]),
        said["outbox"],
        said["schedules"],
        said.get("questions", False),  # a version before this one does not say it
        forgetting=said["forgetting"],
        settings=said["settings"],
        queued=frozenset(said["sessions"]),
        elsewhere=True,
        signals=tuple(Signal(topic, message) for topic, message in said["signals"]),
    )
