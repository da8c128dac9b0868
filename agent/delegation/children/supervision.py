"""What a child does right now: its heartbeat, stop and pause; the file of one that timed out."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agent.delegation.children.slots import Slot
from agent.delegation.core.state import State
from agent.models.base import ModelSpec, host_of
from agent.runtime.next_step import calls_of
from storage.records.delegations import Delegation
from storage.records.entries import Entry, Kind
from storage.store import Transaction


class Stopped(Exception):
    """Somebody stopped this child, and only this one."""


NEAR_CAP = 0.8
"""Of its time: how much a child may take before it is to come to an end."""


class OutOfTime(Exception):
    """The child was at work longer than its cap."""


class NoHeartbeat(Exception):
    """Neither a model call nor a tool was started for too long."""


@dataclass
class Activity:
    """One running delegation. Times are seconds of `clock`."""

    delegation: int
    clock: Callable[[], float] = time.monotonic
    above: "Activity | None" = None
    """The child that delegated this; it is alive as long as this one is."""
    tool: str = ""
    """The tool, or "model", that runs now."""
    calls: int = 0
    """Model calls that came back."""
    failures: list[str] = field(default_factory=list)
    """Of model calls, that were tried again after."""
    files: dict[str, str] = field(default_factory=dict)
    """Path → "read" or "wrote"."""
    _queued: bool = False
    _beat: float = 0.0
    _began: float = 0.0
    """Later by the time in which it was paused."""
    _cap: float = 0.0
    _task: "asyncio.Task[object] | None" = None
    _fault: Exception | None = None
    _going: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set where something that people see is another; who looks clears it."""
    turned: asyncio.Event = field(default_factory=asyncio.Event)
    """The same, where it waits, or goes on after that."""

    def __post_init__(self) -> None:
        self._beat = self.clock()
        self._going.set()

    def beat(self, what: str) -> None:
        """A model call or a tool starts."""
        self.tool = what
        self.changed.set()
        self._live()

    @property
    def paused(self) -> bool:
        return not self._going.is_set()

    def pause(self) -> None:
        self._going.clear()
        self._turn()

    def resume(self) -> None:
        self._live()
        self._going.set()
        self._turn()

    def _turn(self) -> None:
        self.changed.set()
        self.turned.set()

    def _live(self) -> None:
        self._beat = self.clock()
        if self.above is not None:
            self.above._live()

    @property
    def nearly_out_of_time(self) -> bool:
        return self._cap > 0 and self.clock() - self._began >= NEAR_CAP * self._cap

    async def may_go_on(self) -> None:
        """Waits while the child is paused."""
        await self._going.wait()

    def stop(self) -> None:
        self._end(Stopped())

    def touched(self, what: str, path: str) -> None:
        if self.files.get(path) != "wrote":
            self.files[path] = what
            self.changed.set()

    @property
    def queued(self) -> bool:
        """It waits until another of the same agent ends."""
        return self._queued

    def _queue(self, queued: bool) -> None:
        if self._queued != queued:
            self._queued = queued
            self._turn()

    @asynccontextmanager
    async def in_slot(self, slot: Slot) -> AsyncIterator[None]:
        """Run what is inside once there is a slot for it. Where it is stopped before, it needs
        none: all that is left to do is to end."""
        taken = False
        with suppress(Stopped):
            async with self.watched(0, 0):
                await slot.take(partial(self._queue, queued=True))
                taken = True
        self._queue(queued=False)
        try:
            yield
        finally:
            if taken:
                await slot.give_back()

    @asynccontextmanager
    async def watched(self, cap: float, stall: float) -> AsyncIterator[None]:
        """Run what is inside under a cap and a stall limit, in seconds; 0 is none. Raises
        OutOfTime, NoHeartbeat or Stopped; the last at once where it was stopped before."""
        self._raise_fault()
        self._task = asyncio.current_task()
        self._beat = self._began = self.clock()
        self._cap = cap
        watcher = asyncio.create_task(self._watch(cap, stall), name=f"watch {self.delegation}")
        try:
            yield
        except asyncio.CancelledError:
            if self._fault is not None and self._task is not None and not self._task.uncancel():
                self._raise_fault()
            raise
        finally:
            self._task = None
            watcher.cancel()

    async def _watch(self, cap: float, stall: float) -> None:
        seen = self.clock()
        limits = [limit for limit in (cap, stall) if limit > 0]
        if not limits:
            return
        while True:
            await asyncio.sleep(min(1.0, min(limits) / 4))
            if self.paused:
                self._live()
                self._began += self.clock() - seen
            seen = now = self.clock()
            if cap > 0 and now - self._began >= cap:
                return self._end(OutOfTime())
            if stall > 0 and now - self._beat >= stall:
                return self._end(NoHeartbeat())

    def _raise_fault(self) -> None:
        """Who was stopped stays so; the limits of one step are not those of the next."""
        fault = self._fault
        if not isinstance(fault, Stopped):
            self._fault = None
        if fault is not None:
            raise fault from None

    def _end(self, fault: Exception) -> None:
        if self._fault is not None:
            return
        self._fault = fault
        if self._task is not None:
            self._task.cancel()


_TURN = 64
"""Entries that are read of a turn at first."""


def started_in_turn(tx: Transaction, session: int, entry: int, tool: str) -> int:
    """Delegations that calls of `tool` started on the path to an entry since a person, or whoever
    gave a child its task, spoke last. Read from the store, so a restart begins no new count."""
    asked = [
        (caller.id, call.id)
        for caller in _turn(tx, entry)
        for call in calls_of(caller)
        if call.name == tool
    ]
    return sum(len(tx.delegations.of_call(session, *call)) for call in asked)


def _turn(tx: Transaction, entry: int) -> tuple[Entry, ...]:
    """The path to an entry from what was said last, as far as it is known."""
    limit = _TURN
    while True:
        path = tx.tree.path_end(entry, limit)
        for at in reversed(range(len(path))):
            if _is_said(path[at]):
                return path[at:]
        if len(path) < limit:
            return path
        limit *= 4


def _is_said(entry: Entry) -> bool:
    is_user = entry.kind is Kind.MESSAGE and entry.body["role"] == "user"
    return is_user and not entry.body.get("correction")


log = logging.getLogger(__name__)

MOST_FAILURES = 20


async def write_diagnosis(
    folder: str, delegation: Delegation, state: State, spec: ModelSpec, activity: Activity
) -> None:
    """Write subagent-timeout-SESSION-TIME.log into `folder`, readable for its owner only."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    path = Path(folder, f"subagent-timeout-{delegation.journal}-{stamp}.log")
    facts = {
        "delegation": delegation.id,
        "session": delegation.session,
        "goal": delegation.goal,
        "attempt": state.attempt,
        "step": type(state.step).__name__,
        "doing": activity.tool or "nothing was started",
        "model": spec.model,
        "configured_as": spec.name,
        "api_base": host_of(spec),
        "key": "configured" if spec.api_key else "not configured; the environment's, if any",
        "toolsets": list(state.task.toolsets),
        "branch_table": state.table is not None,
        "failures": activity.failures[-MOST_FAILURES:],
        "hint": "check that the model can be reached and the key is right: bough doctor",
    }
    try:
        await asyncio.to_thread(_write, path, json.dumps(facts, ensure_ascii=False, indent=1))
    except OSError as error:
        log.error("the diagnosis %s cannot be written: %s", path, error)
    else:
        log.error("delegation %s timed out without a model call; see %s", delegation.id, path)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    path.write_text(text + "\n", encoding="utf-8")
