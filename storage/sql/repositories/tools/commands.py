"""Commands and terminals in SQL."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, insert, select, update

from storage.json_text import dumps, loads
from storage.records.figures.happened import Happened
from storage.records.tools.commands import Command, CommandDraft, CommandState, Shell
from storage.sql.rows import Shape, insert_row, upsert
from storage.sql.tool_schema import commands, shells

_COMMANDS = Shape(Command, commands)
_START = insert(commands)
_COMMAND = select(*_COMMANDS.columns).where(commands.c.id == bindparam("command"))
_RUNNING = (
    select(*_COMMANDS.columns)
    .where(commands.c.state == CommandState.RUNNING.value)
    .order_by(commands.c.id)
)
_KEPT = ("entry", "directory", "environment", "directory_before", "environment_before")
_SHELL = select(*(shells.c[name] for name in _KEPT)).where(shells.c.session == bindparam("session"))
_KEEP = upsert(shells, ("session", *_KEPT), key=("session",), change=_KEPT)


class SqlCommands:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.happened: list[Happened] = []

    def start(self, draft: CommandDraft) -> Command:
        more = {
            "state": CommandState.RUNNING,
            "status": None,
            "why": "",
            "output": "",
            "started": self._now,
            "ended": None,
        }
        values = _COMMANDS.row(draft, **more)
        id_ = insert_row(self._connection, _START, values)
        return _COMMANDS.stored(draft, id=id_, **more)

    def get(self, command: int) -> Command | None:
        row = self._connection.execute(_COMMAND, {"command": command}).one_or_none()
        return _COMMANDS.one(row) if row is not None else None

    def end(
        self,
        command: int,
        state: CommandState,
        *,
        status: int | None = None,
        why: str = "",
        output: str = "",
    ) -> bool:
        change = (
            update(commands)
            .where(commands.c.id == command, commands.c.state == CommandState.RUNNING.value)
            .values(state=state.value, status=status, why=why, output=output, ended=self._now)
        )
        if not self._connection.execute(change).rowcount:
            return False
        self.happened.append(Happened("command", _came_to(state, status, why)))
        return True

    def running(self) -> list[Command]:
        return _COMMANDS.all(self._connection.execute(_RUNNING))

    def of(self, homes: Sequence[int], limit: int = 20) -> list[Command]:
        latest = (
            select(*_COMMANDS.columns)
            .where(commands.c.home.in_(homes))
            .order_by(commands.c.id.desc())
            .limit(limit)
        )
        return _COMMANDS.all(self._connection.execute(latest))

    def shell(self, session: int, entry: int) -> Shell:
        row = self._connection.execute(_SHELL, {"session": session}).one_or_none()
        if row is None:
            return Shell()
        kept, directory, environment, directory_before, environment_before = row
        if kept == entry:
            return Shell(directory_before, loads(environment_before))
        return Shell(directory, loads(environment))

    def keep_shell(self, session: int, entry: int, shell: Shell) -> None:
        before = self.shell(session, entry)
        values = {
            "session": session,
            "entry": entry,
            "directory": shell.directory,
            "environment": dumps(dict(shell.environment)),
            "directory_before": before.directory,
            "environment_before": dumps(dict(before.environment)),
        }
        self._connection.execute(_KEEP, values)


def _came_to(state: CommandState, status: int | None, why: str) -> str:
    if state is CommandState.LOST:
        return "lost"
    if why:
        return "stopped"
    return "ok" if status == 0 else "failed"
