"""Rights, and requests for them, in SQL."""

from dataclasses import asdict

from sqlalchemy import Connection, bindparam, delete, select, update

from storage.records.chats.people import PairingRequest, RequestDraft, Right, RightDraft
from storage.sql.people_schema import pairing_requests, rights
from storage.sql.rows import Shape, upsert

_RIGHTS = Shape(Right, rights, by="by_whom")
_ALL_RIGHTS = select(*_RIGHTS.columns).order_by(rights.c.since, rights.c.identity)
_RIGHT = select(*_RIGHTS.columns).where(rights.c.identity == bindparam("who"))
_CHANGED = ["name", "role", "until", "by_whom"]
_GIVE = upsert(rights, ["identity", "since", *_CHANGED], key=["identity"], change=_CHANGED)
_TAKE = delete(rights).where(rights.c.identity == bindparam("who"))

_REQUESTS = Shape(PairingRequest, pairing_requests)
_ALL_REQUESTS = select(*_REQUESTS.columns).order_by(
    pairing_requests.c.asked.desc(), pairing_requests.c.identity
)
_REQUEST = select(*_REQUESTS.columns).where(pairing_requests.c.identity == bindparam("who"))
_RENEWED = ["name", "salt", "digest", "expires"]
_ASK = upsert(
    pairing_requests,
    ["identity", "asked", "ignored", *_RENEWED],
    key=["identity"],
    change=_RENEWED,
)
_CLOSE = delete(pairing_requests).where(pairing_requests.c.identity == bindparam("who"))
_VOID = (
    update(pairing_requests)
    .where(pairing_requests.c.identity == bindparam("who"))
    .values(digest="")
)
_IGNORE = _VOID.values(ignored=True)
_LAPSE = delete(pairing_requests).where(pairing_requests.c.asked < bindparam("before"))


class SqlRights:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.changed: dict[str, Right | None] = {}
        """What whoever was given or lost one has now."""

    def get(self, identity: str) -> Right | None:
        row = self._connection.execute(_RIGHT, {"who": identity}).one_or_none()
        return None if row is None else _RIGHTS.one(row)

    def give(self, draft: RightDraft) -> Right:
        before = self.get(draft.identity)
        since = before.since if before is not None else self._now
        right = Right(**asdict(draft), since=since)
        self._connection.execute(_GIVE, _RIGHTS.row(right))
        self.changed[draft.identity] = right
        return right

    def take(self, identity: str) -> Right | None:
        before = self.get(identity)
        if before is not None:
            self._connection.execute(_TAKE, {"who": identity})
            self.changed[identity] = None
        return before

    # Last: within the class, its name hides the function.
    def all(self) -> list[Right]:
        return _RIGHTS.all(self._connection.execute(_ALL_RIGHTS))


class SqlRequests:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def ask(self, draft: RequestDraft, most: int) -> bool:
        before = self.get(draft.identity)
        values = asdict(draft) | {"asked": self._now, "ignored": False}
        self._connection.execute(_ASK, values)
        if before is None:
            for old in [one for one in self.all() if one.identity != draft.identity][most - 1 :]:
                self.close(old.identity)
        return before is None

    def get(self, identity: str) -> PairingRequest | None:
        row = self._connection.execute(_REQUEST, {"who": identity}).one_or_none()
        return None if row is None else _REQUESTS.one(row)

    def void(self, identity: str) -> None:
        self._connection.execute(_VOID, {"who": identity})

    def ignore(self, identity: str) -> None:
        self._connection.execute(_IGNORE, {"who": identity})

    def close(self, identity: str) -> PairingRequest | None:
        before = self.get(identity)
        self._connection.execute(_CLOSE, {"who": identity})
        return before

    def lapse(self, before: float) -> None:
        self._connection.execute(_LAPSE, {"before": before})

    # Last: within the class, its name hides the function.
    def all(self) -> list[PairingRequest]:
        return _REQUESTS.all(self._connection.execute(_ALL_REQUESTS))
