"""Statements over libpq's pipeline: prepared once for each connection; those whose answer nobody
needs go along with the next one that is waited for.

A turn is two dozen small statements. Each that is waited for costs two changes between processes,
and psycopg's cursors take three times the CPU that libpq needs (measured).
"""

import select
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import InvalidSqlStatementName, error_from_result
from sqlalchemy import Connection, Engine, event

from storage.sql.prepared import PIPELINE, Failed, Row, flush

Answer = pq.abc.PGresult
Values = Sequence[Any]
"""Parameters as the server reads them; None: NULL."""

_OPEN = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)


@dataclass(frozen=True, slots=True)
class _Command:
    statement: str
    name: bytes
    values: Values | None
    """None: the statement is prepared under that name."""


class LibpqPipeline:
    """Of one connection, which psycopg uses too: `flush` before it does."""

    def __init__(
        self, connection: psycopg.Connection[Any], isolation: str, *, read_only: bool
    ) -> None:
        """`isolation` and `read_only`: of the transactions that begin here."""
        access = "READ ONLY" if read_only else "READ WRITE"
        self._begin = f"BEGIN ISOLATION LEVEL {isolation} {access}"
        self._server = connection.pgconn
        self._adapters = Transformer(connection)
        self._names: dict[str, bytes] = {}
        """Of the statements that are prepared."""
        self._named = 0
        self._waiting: list[tuple[str, Values]] = []
        self._answered, self._writable = select.poll(), select.poll()
        self._answered.register(self._server.socket, select.POLLIN)
        self._writable.register(self._server.socket, select.POLLIN | select.POLLOUT)

    def rows(self, statement: str, values: Sequence[Any]) -> list[Row]:
        self.later(statement, values)
        answer = self._carry_out()
        self._adapters.set_pgresult(answer)
        return self._adapters.load_rows(0, answer.ntuples, tuple)

    def run(self, statement: str, values: Sequence[Any]) -> int:
        self.later(statement, values)
        return self._carry_out().command_tuples or 0

    def later(self, statement: str, values: Sequence[Any]) -> None:
        try:
            # As text, which is of whatever type the statement says.
            dumped = self._adapters.dump_sequence(values, [PyFormat.TEXT] * len(values))
        except psycopg.Error as error:
            raise Failed(statement) from error
        self._waiting.append((statement, dumped))

    def flush(self) -> None:
        if self._waiting:
            self._carry_out()

    def roll_back(self) -> None:
        """End the transaction, with nothing done. psycopg finds nothing to roll back after this:
        its own way makes the server forget all prepared statements."""
        self._waiting.clear()
        if self._server.transaction_status in _OPEN:
            self._server.exec_(b"ROLLBACK")

    def _carry_out(self) -> Answer:
        waiting, self._waiting = self._waiting, []
        if self._server.transaction_status == pq.TransactionStatus.IDLE:
            waiting = [(self._begin, ()), *waiting]
        new: dict[str, bytes] = {}
        commands = [
            command
            for statement, values in waiting
            for command in self._commands(statement, values, new)
        ]
        answers: list[Answer] = []
        try:
            self._exchange(commands, answers)
        except psycopg.Error as error:
            self._server.finish()  # nobody knows what is still to come over it
            # What the server said before it hung up says more.
            _check(commands, answers)
            raise Failed(waiting[-1][0]) from error
        try:
            _check(commands, answers)
        except Failed as failed:
            if isinstance(failed.__cause__, InvalidSqlStatementName):
                self._names.clear()  # somebody had the server forget them
            raise
        self._names |= new
        return answers[-1]

    def _commands(
        self, statement: str, values: Values, new: dict[str, bytes]
    ) -> Iterator[_Command]:
        name = self._names.get(statement) or new.get(statement)
        if name is None:
            self._named += 1
            name = new[statement] = b"bough_%d" % self._named
            yield _Command(statement, name, None)
        yield _Command(statement, name, values)

    def _exchange(self, commands: Sequence[_Command], answers: list[Answer]) -> None:
        server = self._server
        server.enter_pipeline_mode()
        for each in commands:
            if each.values is None:
                server.send_prepare(each.name, each.statement.encode())
            else:
                server.send_query_prepared(each.name, each.values)
        server.pipeline_sync()
        while server.flush():
            self._writable.poll()
            server.consume_input()
        self._read(answers)
        server.exit_pipeline_mode()

    def _read(self, answers: list[Answer]) -> None:
        """All answers, up to the end of the pipeline. Other threads go on meanwhile."""
        server = self._server
        while True:
            while server.is_busy():
                self._answered.poll()
                server.consume_input()
            answer = server.get_result()
            if answer is None:
                if server.status != pq.ConnStatus.OK:
                    raise psycopg.OperationalError("the connection is lost")
            elif answer.status == pq.ExecStatus.PIPELINE_SYNC:
                return
            else:
                answers.append(answer)


def lay_pipelines(engine: Engine, isolation: str, *, read_only: bool) -> None:
    """Give each connection of an engine one. Statements are carried out in the order in which they
    are given, whichever way they take."""

    def connected(connection: Any, record: Any) -> None:
        record.info[PIPELINE] = LibpqPipeline(connection, isolation, read_only=read_only)

    def before_others(connection: Connection, *_: Any) -> None:
        flush(connection)

    def roll_back(connection: Connection) -> None:
        if not connection.invalidated:
            connection.info[PIPELINE].roll_back()

    event.listen(engine, "connect", connected)
    event.listen(engine, "before_cursor_execute", before_others)
    event.listen(engine, "commit", flush)
    event.listen(engine, "rollback", roll_back)


def _check(commands: Sequence[_Command], answers: Sequence[Answer]) -> None:
    """Failed for the first that went wrong; the server passes over those that follow it."""
    for command, answer in zip(commands, answers, strict=False):
        if answer.status == pq.ExecStatus.FATAL_ERROR:
            raise Failed(command.statement) from error_from_result(answer)
