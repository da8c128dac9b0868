"""What the SQL parts share: records as rows, and two ways to write one."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import Enum
from itertools import chain, count, islice
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar, get_args, get_origin, get_type_hints

from sqlalchemy import Column, Connection, Insert, Table, TextClause, bindparam, text

from storage.json_text import dumps, loads
from storage.records.entries import Entry, Run, Session, Unasked, Usage
from storage.sql.schema import entries, sessions

Rows = Sequence[Sequence[Any]]
Columns = Iterator[Sequence[Any]]
"""What is left of the columns of some rows, each with its value in every row."""


class Part(Protocol):
    """A field of a record: the columns it stands in, and the way from them and to them."""

    @property
    def columns(self) -> tuple[Column[Any], ...]: ...

    def read(self, columns: Columns) -> Iterable[Any]:
        """The field of each row, from as many of the columns as it stands in."""
        ...

    def write(self, value: Any, values: dict[str, Any]) -> None: ...


_Record = TypeVar("_Record")
_Codec = tuple[Callable[[Columns], Iterable[Any]], Callable[[Any], Any]]


class Shape(Generic[_Record]):
    """How a slotted dataclass stands in a table: each field in the column of its name, or of the
    one given here. An enum is its value there, a dict JSON, and so is a tuple of dataclasses. A
    dataclass with a shape of its own has columns of its own, and is None where all are NULL.

    Rows are read column by column, because a path may have thousands: one call decodes all the
    JSON of a column, and fields are set through their slots, which is twice as fast as the
    constructor of a frozen dataclass.
    """

    def __init__(
        self,
        record: type[_Record],
        table: Table,
        *,
        only: Collection[str] = (),
        **parts: str | Part,
    ) -> None:
        hints = get_type_hints(record)
        self._record = record
        self._parts: dict[str, Part] = {
            name: _Field(table.c[part], hints[name]) if isinstance(part, str) else part
            for name in only or hints
            for part in (parts.get(name, name),)
        }
        self._set = {name: vars(record)[name].__set__ for name in hints}
        self._steps = [(self._set[name], part.read) for name, part in self._parts.items()]
        self.columns: tuple[Column[Any], ...] = tuple(
            chain.from_iterable(part.columns for part in self._parts.values())
        )
        """What to select for `all` and `one`."""

    def one(self, row: Sequence[Any]) -> _Record:
        return self.all((row,))[0]

    def all(self, rows: Iterable[Sequence[Any]]) -> list[_Record]:
        rows = [*rows]
        records = [object.__new__(self._record) for _ in rows]
        columns = iter(zip(*rows, strict=True))
        for set_, read in self._steps if rows else ():
            deque(map(set_, records, read(columns)), maxlen=0)
        return records

    def fill(self, records: Sequence[_Record], field: str, values: Iterable[Any]) -> None:
        """Set a field that no column gives."""
        deque(map(self._set[field], records, values), maxlen=0)

    def row(self, record: Any, **more: Any) -> dict[str, Any]:
        """The columns of those of a record's fields that stand in the table, and of more fields:
        a draft has fewer than what it becomes."""
        values: dict[str, Any] = {}
        for name, part in self._parts.items():
            if name in more:
                part.write(more[name], values)
            elif hasattr(record, name):
                part.write(getattr(record, name), values)
        return values

    def stored(self, draft: Any, **more: Any) -> _Record:
        """What a draft became, with the fields that it got."""
        given = {name: getattr(draft, name) for name in self._parts if hasattr(draft, name)}
        return self._record(**given | more)

    def read(self, columns: Columns) -> Iterable[_Record | None]:
        for row in zip(*islice(columns, len(self.columns)), strict=True):
            yield None if row.count(None) == len(row) else self.one(row)

    def write(self, record: Any, values: dict[str, Any]) -> None:
        values |= dict.fromkeys((column.name for column in self.columns), None)
        if record is not None:
            values |= self.row(record)


class _Field:
    """A field that is one column."""

    def __init__(self, column: Column[Any], hint: Any) -> None:
        self.columns = (column,)
        self._name = column.name
        self.read, self._written = _codec(hint)

    def write(self, value: Any, values: dict[str, Any]) -> None:
        values[self._name] = self._written(value)


def _codec(hint: Any) -> _Codec:
    if isinstance(hint, type) and issubclass(hint, Enum):
        members = {member.value: member for member in hint}
        return lambda columns: map(members.__getitem__, next(columns)), attrgetter("value")
    if get_origin(hint) is dict:
        return _decoded, dumps
    if get_origin(hint) is tuple:
        element = get_args(hint)[0]
        return (
            lambda columns: (tuple(element(**each) for each in all_) for all_ in _decoded(columns)),
            lambda value: dumps([asdict(each) for each in value]),
        )
    return next, lambda value: value


def _decoded(columns: Columns) -> Iterable[Any]:
    decoded: list[Any] = loads(f"[{','.join(next(columns))}]")
    return decoded


ENTRIES = Shape(Entry, entries)
UNPLACED = Shape(
    Entry, entries, only=("id", "session", "number", "kind", "body", "author", "tokens", "time")
)
"""Without what is known from an entry's place on a path: `place_on_path` gives them that."""
UNASKED = Shape(Unasked, sessions, turns="unasked_turns", row="unasked_row", told="unasked_told")
SESSIONS = Shape(
    Session,
    sessions,
    run=Shape(Run, sessions, role="run_role", number="run_number"),
    unasked=UNASKED,
)


def usage_shape(table: Table) -> Shape[Usage]:
    return Shape(Usage, table, input="input_tokens", output="output_tokens", cached="cached_tokens")


def place_on_path(path: Sequence[Entry], *, parent: int | None, depth: int) -> None:
    """Each entry hangs on the one before; `parent` and `depth` are the first one's."""
    UNPLACED.fill(path, "parent", chain((parent,), map(attrgetter("id"), path)))
    UNPLACED.fill(path, "depth", count(depth))


def insert_row(connection: Connection, statement: Insert, values: Mapping[str, Any]) -> int:
    """Insert a row and return the id it got."""
    key: Any = connection.execute(statement, values).inserted_primary_key
    id_: int = key[0]
    return id_


def upsert(
    table: Table,
    columns: Sequence[str],
    *,
    key: Sequence[str],
    change: Sequence[str] = (),
    returning: str = "",
) -> TextClause:
    """Insert a row or, where one with its key is there already, change these columns of that one;
    nothing where there are none, and nothing is returned then. Settled by the database, whoever
    else does it at the same time."""
    values = ", ".join(f":{name}" for name in columns)
    changes = ", ".join(f"{name} = excluded.{name}" for name in change)
    statement = text(
        f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({values}) "  # noqa: S608 - names
        f"ON CONFLICT ({', '.join(key)}) DO {f'UPDATE SET {changes}' if change else 'NOTHING'}"
        f"{f' RETURNING {returning}' if returning else ''}"
    )
    return statement.bindparams(*(bindparam(name, type_=table.c[name].type) for name in columns))
