"""The life of the process that a gateway runs in: signals, and what the service manager hears.

SIGTERM and SIGINT end it, a second one at once; SIGHUP has the configuration read anew.
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from gateway.running.process.draining import Draining
from gateway.running.process.leaving import hung_up
from gateway.running.process.systemd import ServiceManager
from gateway.running.service import App

log = logging.getLogger(__name__)

STATUS_EVERY = 30.0
"""Seconds between the lines of status, where no watchdog wants to hear more often."""
STARTING = "Starting."


@dataclass
class Lifecycle:
    app: App
    limit: Callable[[], float]
    """Seconds that running turns have when the process is told to stop."""
    reload: Callable[[], Awaitable[str]] | None = None
    """Reads the configuration anew, and says what came of it; None where SIGHUP is no wish for
    that."""
    manager: ServiceManager = field(default_factory=ServiceManager.of)
    _ending: asyncio.Task[None] | None = field(default=None, init=False)
    _is_cut: bool = field(default=False, init=False)
    _hung_up: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def run(self) -> None:
        """Until the gateway has come to its end. CancelledError where it was told to stop; raises
        what the gateway raises."""
        loop = asyncio.get_running_loop()
        running = asyncio.create_task(self.app.run(), name="gateway")
        beside = [asyncio.create_task(self._tell_of_life(), name="service manager")]
        ends = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.getsignal(number) for number in (*ends, signal.SIGHUP)}
        for number in ends:
            loop.add_signal_handler(number, self._stop, running)
        if self.reload is not None:
            # Not the loop's own, which let go of it with a moment in which SIGHUP kills.
            wish = partial(loop.call_soon_threadsafe, self._hung_up.set)
            signal.signal(signal.SIGHUP, lambda *_: wish())
            if hung_up():
                self._hung_up.set()
            beside.append(asyncio.create_task(self._reload(self.reload), name="reload"))
        try:
            await running
        finally:
            for number, handler in before.items():
                if number in ends:
                    loop.remove_signal_handler(number)
                signal.signal(number, handler)
            beside += [self._ending] if self._ending is not None else []
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)

    def _stop(self, running: "asyncio.Task[None]") -> None:
        if self._ending is not None:
            log.info("Stopping at once.")
            self._ending.cancel()
            self._cut(running)  # which an end that had not even begun would not
            return
        self._ending = asyncio.create_task(self._end(running), name="end")

    async def _end(self, running: "asyncio.Task[None]") -> None:
        draining = Draining(self.app)
        try:
            self.manager.stopping(f"Stopping: waiting for {draining.left()}.")
            await draining.run(self.limit())
        except Exception:
            log.exception("the end of what runs is not waited for")
        finally:
            self._cut(running)

    def _cut(self, running: "asyncio.Task[None]") -> None:
        """Once: a second time would break off the closing."""
        if self._is_cut:
            return
        self._is_cut = True
        self.app.hasten()
        running.cancel()

    async def _reload(self, reload: Callable[[], Awaitable[str]]) -> None:
        while True:
            await self._hung_up.wait()
            self._hung_up.clear()
            serves = self.app.platforms.some_ready.is_set() and self._ending is None
            if serves:
                self.manager.reloading()
            try:
                said = await reload()
            except Exception:
                # A fault of ours: the gateway runs on with what it has.
                log.exception("the configuration cannot be taken over")
                said = "The configuration could not be taken over."
            # Neither before it serves nor at its end is it ready because it has read a file.
            serves = serves and self._ending is None
            tell = self.manager.ready if serves else self.manager.status
            tell(f"{self._said()} {said}")

    async def _tell_of_life(self) -> None:
        """From the loop that does the work: where that hangs, nobody is told that it is alive."""
        self.manager.status(STARTING)
        beats = asyncio.create_task(self._beat(), name="watchdog")
        try:
            await self.app.platforms.some_ready.wait()
            self.manager.ready(self._said())
            await self.app.platforms.settled.wait()
            self.manager.status(self._said())
            await beats
        finally:
            beats.cancel()
            await asyncio.wait([beats])

    async def _beat(self) -> None:
        if not self.manager.address:
            return
        every = self.manager.watchdog / 2 or STATUS_EVERY
        while True:
            await asyncio.sleep(every)
            tell = self.manager.alive if self.manager.watchdog else self.manager.status
            tell(self._said())

    def _said(self) -> str:
        if self._ending is not None:
            return f"Stopping: waiting for {Draining(self.app).left()}."
        said = self.app.platforms.said
        if said and not self.app.platforms.some_ready.is_set():
            return f"Starting; {said}."
        return f"Serving {said}." if said else STARTING
