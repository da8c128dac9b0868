"""The statements of every turn, which go to the driver as they are: SQLAlchemy compiles them, once
for each database, and takes no part in running them, which costs it four times what SQLite needs
(measured). To PostgreSQL they go over a pipeline."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import ClauseElement, Connection, Dialect
from sqlalchemy.exc import DBAPIError, StatementError

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement as one database takes it."""

    text: str
    names: tuple[str, ...]
    """Of the parameters in their order; empty where the driver takes them by name."""
    constants: Mapping[str, Any]
    """Parameters that are in the statement already."""
    convert: Mapping[str, Callable[[Any], Any]]
    """What is to be done to the others before the driver gets them, where something is."""

    def parameters(self, values: Mapping[str, Any]) -> Any:
        given = {**self.constants, **values}
        for name, function in self.convert.items():
            given[name] = function(given[name])
        return [given[name] for name in self.names] if self.names else given


class Prepared:
    """What its methods give is as the driver gives it: for columns whose values SQLAlchemy would
    leave alone."""

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> list[Row]:
        compiled, pipeline = self._compiled_for(connection.dialect), pipeline_of(connection)
        if pipeline is None:
            found: list[Row] = _execute(connection, compiled, values).fetchall()
            return found
        with _failing(connection):
            return pipeline.rows(compiled.text, compiled.parameters(values))

    def row(self, connection: Connection, values: Mapping[str, Any]) -> Row | None:
        """The first row, if there is one."""
        # All are fetched: SQLite checks foreign keys at the end of a statement.
        found = self.rows(connection, values)
        return found[0] if found else None

    def scalar(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """The first value of the first row; None where there is none."""
        found = self.row(connection, values)
        return found[0] if found is not None else None

    def run(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """How many rows it was about, of a statement that gives none."""
        compiled, pipeline = self._compiled_for(connection.dialect), pipeline_of(connection)
        if pipeline is None:
            count: int = _execute(connection, compiled, values).rowcount
            return count
        with _failing(connection):
            return pipeline.run(compiled.text, compiled.parameters(values))

    def later(self, connection: Connection, values: Mapping[str, Any]) -> None:
        """Run it before whatever else the transaction runs, at the latest at its end: what goes
        wrong with it is raised there."""
        compiled, pipeline = self._compiled_for(connection.dialect), pipeline_of(connection)
        if pipeline is None:
            _execute(connection, compiled, values)
            return
        with _failing(connection):
            pipeline.later(compiled.text, compiled.parameters(values))

    def _compiled_for(self, dialect: Dialect) -> _Compiled:
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = _compile(self._statement, dialect)
        return compiled


class Failed(Exception):
    """A statement went wrong; its cause is the driver's error."""

    def __init__(self, statement: str) -> None:
        super().__init__(statement)
        self.statement = statement


class Pipeline(Protocol):
    """A connection's own way for these statements. All raise Failed, for what waited too."""

    def rows(self, statement: str, values: Sequence[Any]) -> list[Row]: ...

    def run(self, statement: str, values: Sequence[Any]) -> int: ...

    def later(self, statement: str, values: Sequence[Any]) -> None: ...

    def flush(self) -> None:
        """Run what waits."""
        ...


PIPELINE = "pipeline"
"""Where a connection has its Pipeline, among what SQLAlchemy keeps with it."""


def pipeline_of(connection: Connection) -> Pipeline | None:
    """None where the driver takes statements as they are."""
    found: Pipeline | None = connection.info.get(PIPELINE)
    return found


def flush(connection: Connection) -> None:
    """Run what was to be run later. DBAPIError."""
    pipeline = pipeline_of(connection)
    if pipeline is not None:
        with _failing(connection):
            pipeline.flush()


@contextmanager
def _failing(connection: Connection) -> Iterator[None]:
    """DBAPIError for Failed."""
    try:
        yield
    except Failed as failed:
        cause = failed.__cause__
        assert isinstance(cause, Exception)
        raise failure(connection, failed.statement, cause) from cause


def _execute(connection: Connection, compiled: _Compiled, values: Mapping[str, Any]) -> Any:
    """The driver's cursor. DBAPIError, as SQLAlchemy would raise it."""
    driver: Any = connection.connection.driver_connection
    errors: Any = connection.dialect.loaded_dbapi
    try:
        return driver.execute(compiled.text, compiled.parameters(values))
    except errors.Error as error:
        raise failure(connection, compiled.text, error) from error


def failure(connection: Connection, statement: str, error: Exception) -> StatementError:
    """An error of the driver as SQLAlchemy raises it. A connection that broke is given up."""
    dialect: Any = connection.dialect
    broken = dialect.is_disconnect(error, connection.connection.driver_connection, None)
    if broken:
        connection.invalidate(error)
    return DBAPIError.instance(
        statement,
        None,
        error,
        dialect.loaded_dbapi.Error,
        connection_invalidated=broken,
        dialect=dialect,
    )


def _compile(statement: ClauseElement, dialect: Dialect) -> _Compiled:
    if dialect.name == "postgresql":
        # libpq knows parameters by their numbers, not by names.
        of_its_kind: Any = type(dialect)
        dialect = of_its_kind(paramstyle="numeric_dollar")
    compiled: Any = statement.compile(dialect=dialect)
    constants: dict[str, Any] = {}
    convert: dict[str, Callable[[Any], Any]] = {}
    for name in compiled.positiontup or compiled.params:
        bind = compiled.binds[name]
        function = bind.type.dialect_impl(dialect).bind_processor(dialect)
        if not bind.required:
            constants[name] = function(bind.value) if function is not None else bind.value
        elif function is not None:
            convert[name] = function
    return _Compiled(compiled.string, tuple(compiled.positiontup or ()), constants, convert)
