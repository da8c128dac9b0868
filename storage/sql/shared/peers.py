"""The other processes on a PostgreSQL, as a store knows them."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from psycopg.conninfo import make_conninfo
from sqlalchemy import Connection

from storage.jobs import TakenJob
from storage.news import Committed
from storage.sql.shared.alone import Write
from storage.sql.shared.announcing import Announcer
from storage.sql.shared.jobs import ProcrastinateJobs
from storage.sql.shared.listening import Listening


class Peers:
    """`parameters`: how to connect, as the driver takes it."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        conninfo = make_conninfo(**parameters)
        self.process = uuid.uuid4().hex
        """The name of this process among them."""
        self.announce = Announcer(self.process)
        self.jobs = ProcrastinateJobs(conninfo)
        self._listening = Listening(conninfo, self.process)

    def written_by(self, write: Write) -> None:
        self.jobs.written_by(write)

    def take(self, connection: Connection, session: int) -> TakenJob | None:
        return self.jobs.take(connection, session)

    def begin(self, taken: Sequence[TakenJob]) -> None:
        self.jobs.begin(taken)

    async def listen(self, tell: Callable[[Committed], None]) -> None:
        await self._listening.run(tell)

    async def close(self) -> None:
        await self.jobs.close()
