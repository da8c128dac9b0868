"""The end of a gateway that was told to stop: nothing new is begun, what runs may end, and what is
finished is sent, within a limit. What is left then is cut, and goes on at the next start."""

import asyncio
import logging
from dataclasses import dataclass

from gateway.running.service import App

log = logging.getLogger(__name__)

LOOK_EVERY = 0.02
"""Seconds between looks at what is left. It is for the last seconds of a process only."""


@dataclass(frozen=True, slots=True)
class Draining:
    app: App

    async def run(self, limit: float) -> None:
        """Returns when there is nothing left to wait for, or after so many seconds."""
        self.app.begin_no_more()
        if self.app.idle() or not limit:
            return
        log.info("Stopping: waiting %g s at most for %s. Again: at once.", limit, self.left())
        try:
            async with asyncio.timeout(limit):
                while not self.app.idle():  # noqa: ASYNC110 - two parts, which have no common event
                    await asyncio.sleep(LOOK_EVERY)
        except TimeoutError:
            log.warning("Stopping: not waiting any longer for %s.", self.left())

    def left(self) -> str:
        """For people."""
        turns, chats = len(self.app.running), self.app.delivery.busy
        parts = []
        if turns:
            parts.append("1 turn" if turns == 1 else f"{turns} turns")
        if chats:
            parts.append(f"what is to be sent to {_conversations(chats)}")
        return " and ".join(parts) or "what is about to end"


def _conversations(count: int) -> str:
    return "1 conversation" if count == 1 else f"{count} conversations"
