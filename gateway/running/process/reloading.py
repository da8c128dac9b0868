"""The configuration is read anew while the gateway runs: all that can be taken over holds at once,
or, where anything in it is wrong, nothing of it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gateway.access.roles import Access
from gateway.commands.people.rights import end_work_of
from gateway.configuration.config import Config
from gateway.configuration.current import Current
from gateway.configuration.takeover import differing, taken_over
from gateway.errors import ConfigError
from gateway.running.service import App
from gateway.turns.failures import once_there
from gateway.turns.messages import author_of
from storage.store import Transaction

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reloading:
    app: App
    load: Callable[[], Config]
    """Reads and checks it. ConfigError where it is wrong."""
    apply: Callable[[Config], None]
    """Told of what holds from now on: how lines of the log are written, say."""

    async def reload(self) -> str:
        """What came of it, for people."""
        live = self.app.settings.live
        try:
            given = await asyncio.to_thread(self.load)
        except ConfigError as error:
            log.error("The configuration was not taken over, all stays as it was. %s", error)
            return "The configuration has a fault and was not taken over."
        before = live.now
        holds, waiting = taken_over(before, given)
        changed = sorted(differing(before, holds))
        live.replace(holds)
        self.apply(given)
        self.app.upkeep.questions.changed()  # they may climb sooner now
        log.info("Configuration read anew: %s", _listed(changed) or "nothing of it has changed")
        if waiting:
            log.warning("Takes effect at the next start: %s", ", ".join(waiting))
        # The store may be away: what was begun by who may not talk any more must not go on for it.
        await once_there(partial(self._end_rights, before), "who may not talk any more")
        return "The configuration was read anew."

    async def _end_rights(self, before: Config) -> None:
        """Who may not talk any more is treated as somebody who was removed: what they began, or
        have waiting, ends."""
        now = self.app.router.access
        former = Access(Current(before), now.given)
        gone = {
            who
            for who in await self._known(before)
            if former.may_talk(who) and not now.may_talk(who)
        }
        for session, turn in list(self.app.running.items()):
            if turn.person in gone:
                self.app.scheduler.interrupt(session)
        for who in sorted(gone):
            await self.app.store.run(partial(_end, identity=who))
            await self.app.router.context.turns.stop_all_of(who)
            log.info("%s may not talk any more: what they began has ended", who)

    async def _known(self, before: Config) -> set[str]:
        """Everybody whom the file named, and who has something under way. Whoever was let in as one
        of all ("telegram:*") is only of the latter."""
        named = {*before.access.allow, *before.access.owners}
        waiting = await self.app.store.read(_waiting)
        running = {turn.person for turn in self.app.running.values()}
        return {who for who in named | waiting | running if who and not who.endswith(":*")}


def _waiting(tx: Transaction) -> set[str]:
    asked = {str(one.subject.get("person") or "") for one in tx.questions.open()}
    return {author_of(row) for row in tx.inbox.unfinished()} | asked


def _end(tx: Transaction, identity: str) -> None:
    end_work_of(tx, identity)
    tx.directory.audit("right taken", "", {"identity": identity, "by": "configuration"})


def _listed(keys: list[str]) -> str:
    return ", ".join(keys)
