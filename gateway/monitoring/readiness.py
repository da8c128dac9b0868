"""Whether the gateway can do its work now, part by part."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.monitoring.cached import Cached
from gateway.monitoring.monitor import Check
from storage.errors import StoreError
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

DATABASE = "database"
RUNNING = "running"
"""Until the process is told to end."""
KEPT = 1.0
"""Seconds for which what the database said is believed."""
PATIENCE = 2.0
"""Seconds that a part has to say how it is."""
TOO_LONG = f"no answer within {PATIENCE:g} s"


@dataclass
class Readiness:
    """Says nothing but of itself: names of parts, and words that stand in the code."""

    store: Store
    draining: bool = field(default=False, init=False)
    _parts: Mapping[str, Check] = field(default_factory=dict, init=False)
    _answer: Cached[str] = field(init=False)

    def __post_init__(self) -> None:
        self._answer = Cached(self._database, kept=KEPT, patience=PATIENCE)

    def consists_of(self, parts: Mapping[str, Check]) -> None:
        """What must be ready, besides the database; nothing more where a process has no parts."""
        self._parts = dict(parts)

    async def look(self) -> dict[str, str]:
        """Why it is not ready, by part; "" for each part that is."""
        checks = {DATABASE: self._answer.get, **self._parts}
        said = await asyncio.gather(*(self._ask(name, check) for name, check in checks.items()))
        found = dict(zip(checks, said, strict=True))
        return found | {RUNNING: "the process ends" if self.draining else ""}

    async def close(self) -> None:
        await self._answer.close()

    async def _ask(self, name: str, check: Check) -> str:
        try:
            async with asyncio.timeout(PATIENCE):
                return await check()
        except TimeoutError:
            return TOO_LONG
        except Exception:
            # The boundary of a part: one that cannot even say how it is does not hide the others.
            log.exception("%s cannot say whether it is ready", name)
            return "it cannot say; the log has why"

    async def _database(self) -> str:
        try:
            await self.store.read(_anything)
        except StoreError:
            return "it does not answer; the log has why"
        return ""


def _anything(tx: Transaction) -> None:
    tx.directory.fact("alive")
