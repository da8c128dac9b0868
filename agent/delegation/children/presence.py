"""What children do now, where other processes see it: a row for each, as long as it runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Protocol

from agent.concurrency import kept_going, within
from agent.delegation.children.supervision import Activity
from storage.errors import StoreError, StoreUnavailable
from storage.records.entries import Json
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

KIND = "child"
"""Of the rows."""
TOPIC = "child"
"""Under which processes tell each other what is to be done to a child."""
EVERY = 2.0
"""Seconds between two changes of a row, but where the child is paused, or has got its place."""
LONGEST_END = 5.0
"""Seconds for the row to be removed."""


class Doing(Protocol):
    """What a child does now, wherever it runs."""

    @property
    def tool(self) -> str: ...
    @property
    def queued(self) -> bool: ...
    @property
    def paused(self) -> bool: ...
    @property
    def files(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The same, of a child of another process."""

    tool: str = ""
    queued: bool = False
    paused: bool = False
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, activity: Activity) -> "Elsewhere":
        return cls(activity.tool, activity.queued, activity.paused, dict(activity.files))


def doing(
    tx: Transaction, store: Store, here: Mapping[int, Activity], delegations: Iterable[int]
) -> dict[int, Doing]:
    """What runs of these delegations, in whichever process; `here`: the children of this one."""
    known: dict[int, Doing] = {}
    if store.jobs is not None:
        wanted = [str(one) for one in delegations if one not in here]
        known |= {int(r.key): Elsewhere(**r.body) for r in tx.ephemeral.of(KIND, keys=wanted)}
    return {**known, **here}


@asynccontextmanager
async def shown(store: Store, activity: Activity) -> AsyncIterator[None]:
    """Let other processes see a child while the body runs. From one that ran it before it is taken
    over at once, not only when the child has a place here: that one may only have stood still, and
    go on. One that was paused in a process which died is paused here too: nobody has let it go on.
    """
    if store.jobs is None:
        yield
        return
    key = str(activity.delegation)
    last = await store.read(lambda tx: tx.ephemeral.last(KIND, key))
    if last is not None and last.owner != store.process:
        await store.run(partial(_take_over, delegation=activity.delegation))
        if last.body.get("paused"):
            activity.pause()
    task = asyncio.create_task(_show(store, activity), name=f"show child {key}")
    kept = False
    try:
        yield
    except asyncio.CancelledError:
        kept = activity.paused  # it is, too, where this process ends and another goes on
        raise
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not kept:
            with suppress(StoreError, TimeoutError):
                drop = store.run(lambda tx: tx.ephemeral.drop(KIND, [key], store.process))
                await kept_going(drop, LONGEST_END)


async def _show(store: Store, activity: Activity) -> None:
    key = str(activity.delegation)
    while True:
        activity.changed.clear()
        activity.turned.clear()
        body = asdict(Elsewhere.of(activity))
        try:
            if not await store.run(partial(_put, store.process, key, body)):
                activity.changed.set()  # the process that ran it before lives: it is ending
        except StoreUnavailable as error:
            log.debug("others do not see what child %s does: %s", key, error)
            activity.changed.set()
        await within(activity.turned, EVERY)
        await activity.changed.wait()


def _take_over(tx: Transaction, delegation: int) -> None:
    """Claim what agents of a delegation write to, and those that they delegated to."""
    sessions = [tx.delegations.get(delegation).journal]
    for session in sessions:
        tx.tree.claim(session)
        sessions += [below.id for below in tx.tree.children(session)]


def _put(process: str, key: str, body: Json, tx: Transaction) -> bool:
    return tx.ephemeral.put(KIND, key, process, body)
