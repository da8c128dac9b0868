"""What waits, in SQL: few statements, each of which looks at a bounded number of rows, found by an
index."""

from collections.abc import Sequence

from sqlalchemy import (
    ColumnElement,
    Connection,
    Label,
    Select,
    Table,
    case,
    func,
    literal_column,
    select,
)

from storage.records.figures.backlog import (
    MOST_COUNTED,
    MOST_QUESTIONS,
    OTHER,
    Backlog,
    Queue,
)
from storage.records.inbox_outbox import InboxState, OutboxState
from storage.records.questions import QuestionState
from storage.records.tools.commands import CommandState
from storage.sql.schema import inbox, outbox, questions
from storage.sql.tool_schema import commands

_OPEN = (
    select(questions.c.id, questions.c.kind)
    .where(questions.c.state == QuestionState.OPEN.value)
    .limit(MOST_QUESTIONS)
    .subquery()
)
_KINDS = (
    select(_OPEN.c.kind, func.count().label("count"), func.min(_OPEN.c.id).label("oldest"))
    .group_by(_OPEN.c.kind)
    .subquery()
)
# The time of the oldest alone: it stands behind the texts, which are long to read past (measured).
_QUESTIONS = select(_KINDS.c.kind, _KINDS.c["count"], questions.c.created).join(
    questions, questions.c.id == _KINDS.c.oldest
)
_COMMANDS = select(func.count()).where(commands.c.state == CommandState.RUNNING.value)


_Grouped = Select[str, int, float]
"""Of a name, how many, and the oldest time."""


class SqlBacklogs:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def look(self, platforms: Sequence[str]) -> Backlog:
        return Backlog(
            self._now,
            self._queues(_waiting(inbox, inbox.c.state == InboxState.OPEN.value, platforms)),
            # As it stands in the index, so that it is known to fit when the statement is planned.
            self._queues(
                _waiting(
                    outbox,
                    outbox.c.state == literal_column(f"'{OutboxState.PENDING.value}'"),
                    platforms,
                )
            ),
            self._queues(_QUESTIONS),
            self._connection.execute(_COMMANDS).scalar_one(),
        )

    def _queues(self, query: _Grouped) -> dict[str, Queue]:
        rows = self._connection.execute(query)
        return {name: Queue(count, oldest) for name, count, oldest in rows}


def _waiting(table: Table, waits: ColumnElement[bool], platforms: Sequence[str]) -> _Grouped:
    found = (
        select(_platform(table, platforms), table.c.time)
        .where(waits)
        .limit(MOST_COUNTED)
        .subquery()
    )
    return select(found.c.platform, func.count(), func.min(found.c.time)).group_by(found.c.platform)


def _platform(table: Table, platforms: Sequence[str]) -> Label[str]:
    begins = [
        (func.substr(table.c.address, 1, len(name) + 1) == f"{name}:", name) for name in platforms
    ]
    named = case(*begins, else_=OTHER) if begins else literal_column(f"'{OTHER}'")
    return named.label("platform")
