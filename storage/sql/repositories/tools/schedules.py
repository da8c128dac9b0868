"""Schedules and time zones in SQL."""

from sqlalchemy import Connection, bindparam, func, insert, literal_column, select, update

from storage.errors import NotFound
from storage.records.tools.schedules import Schedule, ScheduleDraft, ScheduleState
from storage.sql.prepared import Prepared
from storage.sql.rows import Shape, insert_row, upsert
from storage.sql.tool_schema import schedules, zones

_SCHEDULES = Shape(Schedule, schedules)
_CREATE = insert(schedules)
_ALL = select(*_SCHEDULES.columns)
_SCHEDULE = _ALL.where(schedules.c.id == bindparam("schedule"))
# As it stands in the index, so that it is known to fit when the statement is planned.
_IS_ACTIVE = schedules.c.state == literal_column(f"'{ScheduleState.ACTIVE.value}'")
_IS_OPEN = schedules.c.state.in_([ScheduleState.ACTIVE.value, ScheduleState.PAUSED.value])
_ORDER = (schedules.c.next, schedules.c.id)
_DUE = (
    _ALL.where(_IS_ACTIVE, schedules.c.next <= bindparam("now"))
    .order_by(*_ORDER)
    .limit(bindparam("most"))
)
_NEXT_DUE = select(func.min(schedules.c.next)).where(_IS_ACTIVE)
_AHEAD = _ALL.where(_IS_ACTIVE, schedules.c.fired > bindparam("now")).order_by(*_ORDER)
_OF_CONVERSATION = _ALL.where(_IS_OPEN, schedules.c.address == bindparam("at")).order_by(*_ORDER)
_MADE_SINCE = select(func.count()).where(
    schedules.c.address == bindparam("at"), schedules.c.created >= bindparam("since")
)
_PAUSE_ALL = (
    update(schedules)
    .where(_IS_ACTIVE, schedules.c.person == bindparam("who"))
    .values(state=ScheduleState.PAUSED.value, reason=bindparam("why"))
)
_PAUSE_FIRED = (
    update(schedules)
    .where(_IS_ACTIVE, schedules.c.address == bindparam("at"), schedules.c.fired.is_not(None))
    .values(state=ScheduleState.PAUSED.value, reason=bindparam("why"))
)
# All columns, so that it is one statement: only `change` and those that pause write to a row, and
# they change its state or its next time.
_CHANGE = Prepared(
    update(schedules)
    .where(
        schedules.c.id == bindparam("schedule"),
        schedules.c.state == bindparam("was"),
        schedules.c.next == bindparam("due"),
    )
    .values(
        state=bindparam("to"),
        next=bindparam("at"),
        fired=bindparam("done"),
        reason=bindparam("why"),
        text=bindparam("what"),
    )
)
_ZONE = select(zones.c.zone).where(zones.c.person == bindparam("who"))
_SET_ZONE = upsert(zones, ["person", "zone"], key=["person"], change=["zone"])


class SqlSchedules:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.changed = False
        """Something may be due at another time than before."""

    def create(self, draft: ScheduleDraft) -> Schedule:
        self.changed = True
        more = {"state": ScheduleState.ACTIVE, "created": self._now, "fired": None, "reason": ""}
        row = insert_row(self._connection, _CREATE, _SCHEDULES.row(draft, **more))
        return _SCHEDULES.stored(draft, id=row, **more)

    def get(self, schedule: int) -> Schedule:
        row = self._connection.execute(_SCHEDULE, {"schedule": schedule}).one_or_none()
        if row is None:
            raise NotFound(f"there is no schedule {schedule}")
        return _SCHEDULES.one(row)

    def change(
        self,
        seen: Schedule,
        *,
        state: ScheduleState | None = None,
        next: float | None = None,
        fired: float | None = None,
        reason: str | None = None,
    ) -> bool:
        self.changed = True
        values = {
            "schedule": seen.id,
            "was": seen.state.value,
            "due": seen.next,
            "to": (state or seen.state).value,
            "at": seen.next if next is None else next,
            "done": seen.fired if fired is None else fired,
            "why": seen.reason if reason is None else reason,
            "what": "" if state is ScheduleState.DELETED else seen.text,
        }
        return bool(_CHANGE.run(self._connection, values))

    def pause_all(self, person: str, reason: str) -> int:
        self.changed = True
        values = {"who": person, "why": reason}
        return int(self._connection.execute(_PAUSE_ALL, values).rowcount)

    def pause_fired(self, address: str, reason: str) -> int:
        self.changed = True
        values = {"at": address, "why": reason}
        return int(self._connection.execute(_PAUSE_FIRED, values).rowcount)

    def of_conversation(self, address: str) -> list[Schedule]:
        return _SCHEDULES.all(self._connection.execute(_OF_CONVERSATION, {"at": address}))

    def active(self, *, address: str | None = None, person: str | None = None) -> int:
        where = [_IS_ACTIVE]
        if address is not None:
            where.append(schedules.c.address == address)
        if person is not None:
            where.append(schedules.c.person == person)
        query = select(func.count()).select_from(schedules).where(*where)
        return int(self._connection.execute(query).scalar_one())

    def made_since(self, address: str, since: float) -> int:
        values = {"at": address, "since": since}
        return int(self._connection.execute(_MADE_SINCE, values).scalar_one())

    def due(self, now: float, limit: int) -> list[Schedule]:
        return _SCHEDULES.all(self._connection.execute(_DUE, {"now": now, "most": limit}))

    def next_due(self) -> float | None:
        found: float | None = self._connection.execute(_NEXT_DUE).scalar()
        return found

    def ahead(self, now: float) -> list[Schedule]:
        return _SCHEDULES.all(self._connection.execute(_AHEAD, {"now": now}))

    def zone(self, person: str) -> str:
        return str(self._connection.execute(_ZONE, {"who": person}).scalar() or "")

    def set_zone(self, person: str, zone: str) -> None:
        self._connection.execute(_SET_ZONE, {"person": person, "zone": zone})
