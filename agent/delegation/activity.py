"""What a running child does right now: its heartbeat, and the hands of those who watch it.

Kept in memory only: after a restart a child simply works on, so nothing here is worth storing.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


class Stopped(Exception):
    """Somebody stopped this child, and only this one."""


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
    _beat: float = 0.0
    _task: "asyncio.Task[object] | None" = None
    _fault: Exception | None = None
    _going: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._beat = self.clock()
        self._going.set()

    def beat(self, what: str) -> None:
        """A model call or a tool starts."""
        self.tool = what
        self._live()

    @property
    def paused(self) -> bool:
        return not self._going.is_set()

    def pause(self) -> None:
        self._going.clear()

    def resume(self) -> None:
        self._live()
        self._going.set()

    def _live(self) -> None:
        self._beat = self.clock()
        if self.above is not None:
            self.above._live()

    async def may_go_on(self) -> None:
        """Waits while the child is paused."""
        await self._going.wait()

    def stop(self) -> None:
        self._end(Stopped())

    def touched(self, what: str, path: str) -> None:
        if self.files.get(path) != "wrote":
            self.files[path] = what

    @asynccontextmanager
    async def watched(self, cap: float, stall: float) -> AsyncIterator[None]:
        """Run what is inside under a cap and a stall limit, in seconds; 0 is none. Raises
        OutOfTime, NoHeartbeat or Stopped; the last at once where it was stopped before."""
        self._raise_fault()
        self._task = asyncio.current_task()
        self._beat = self.clock()
        watcher = asyncio.create_task(self._watch(cap, stall), name=f"watch {self.delegation}")
        try:
            yield
        except asyncio.CancelledError:
            if self._fault is not None and self._task is not None and not self._task.uncancel():
                raise self._fault from None
            raise
        finally:
            self._task = None
            watcher.cancel()

    async def _watch(self, cap: float, stall: float) -> None:
        seen = began = self.clock()
        limits = [limit for limit in (cap, stall) if limit > 0]
        if not limits:
            return
        while True:
            await asyncio.sleep(min(1.0, min(limits) / 4))
            if self.paused:
                self._live()
                began += self.clock() - seen
            seen = now = self.clock()
            if cap > 0 and now - began >= cap:
                return self._end(OutOfTime())
            if stall > 0 and now - self._beat >= stall:
                return self._end(NoHeartbeat())

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault

    def _end(self, fault: Exception) -> None:
        if self._fault is not None:
            return
        self._fault = fault
        if self._task is not None:
            self._task.cancel()
