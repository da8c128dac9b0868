"""What can go wrong in a store."""


class StoreError(Exception):
    """Base of all errors of this package."""


class NotFound(StoreError):
    """There is no row with that id."""


class LeafMoved(StoreError):
    """The leaf is not where the caller saw it: somebody else wrote in between."""


class EpochLost(StoreError):
    """A newer turn has claimed the session; this one may write nothing more."""


class StoreUnavailable(StoreError):
    """The database cannot be opened, read or written. The text says what to do."""


class StoreFull(StoreUnavailable):
    """The disk of the database has no room left."""


class StoreInUse(StoreUnavailable):
    """Another gateway holds this database."""


class StoreLost(StoreUnavailable):
    """The open database is damaged, or is not any more what its name leads to. It does not pass:
    nothing more may be taken in. The text says what happened, and what to do."""


class NotKept(StoreError):
    """A content cannot be kept beside the database. The text says why."""


class InterchangeError(StoreError):
    """A file holds no session that can be taken in. The text names the line."""
