"""The configuration is read anew while the gateway runs: all that can be taken over holds at once,
or, where anything in it is wrong, nothing of it."""

import asyncio
import hashlib
import logging
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adapters.platforms import private_chat
from agent.text.markdown import bounded, escape
from gateway.access.roles import Access
from gateway.commands.people.rights import end_work_of
from gateway.configuration.config import Config
from gateway.configuration.current import Current
from gateway.configuration.takeover import differing, objection, taken_over
from gateway.errors import ConfigError
from gateway.logs import without_secrets
from gateway.running.service import App
from gateway.turns.failures import once_there
from gateway.turns.messages import author_of
from storage.errors import StoreError
from storage.store import Transaction

log = logging.getLogger(__name__)

STEADY = 0.3
"""Seconds for which a file must not change before it is read: editors write in place, in parts."""
LOOKS = 20
"""Times that this is waited for."""
REFUSED = "configuration refused"
"""A fact: of what the owners were told in the last hour: pairs of a reason's digest, "" once a file
was taken over since, and when."""
AGAIN = 3_600.0
"""Seconds after which the owners hear the same reason again."""
MOST = 5
"""Messages to an owner in that time."""
LAST = "\n\nFurther refusals in the next hour are in the log alone."
LONGEST_REASON = 1_500
"""Characters."""
NOT_TAKEN = (
    "⚠️ The configuration was not taken over{place}; the one before stays in force, and nothing was "
    "stopped.\n\n{why}\n\nThen send SIGHUP again (systemctl reload bough)."
)


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
        before = live.now
        try:
            await steady(partial(_content, before.file))
            given = await asyncio.to_thread(self.load)
            holds, waiting = taken_over(before, given)
            await self._check(before, given)
        except ConfigError as error:
            log.error("The configuration was not taken over, all stays as it was. %s", error)
            await self._tell_owners(str(error))
            return "The configuration has a fault and was not taken over."
        changed = sorted(differing(before, holds))
        live.replace(holds)
        self.apply(given)
        self.app.upkeep.questions.changed()  # they may climb sooner now
        log.info("Configuration read anew: %s", _listed(changed) or "nothing of it has changed")
        if waiting:
            log.warning("Takes effect at the next start: %s", ", ".join(waiting))
        await once_there(partial(self.app.store.run, _forget_refusal), "what owners were told")
        # The store may be away: what was begun by who may not talk any more must not go on for it.
        await once_there(partial(self._end_rights, before), "who may not talk any more")
        return "The configuration was read anew."

    async def _check(self, before: Config, given: Config) -> None:
        """ConfigError where the file is right by itself, and cannot be meant all the same."""
        why, given_in_chat = objection(before, given), self.app.router.access.given
        if not why and before.access.owners and not given.access.owners:
            with suppress(StoreError):  # then by what is known of them
                await given_in_chat.read(self.app.store)
            if not given_in_chat.owners_for_good():
                why = (
                    "It names no owner, and nobody became one in a chat. Put owners under [access] "
                    "back."
                )
        if why:
            raise ConfigError(f"{given.file}: {why}")

    async def _tell_owners(self, why: str) -> None:
        """Once for each reason, and a few times an hour at most, by whichever process is first.
        Where the database is away, the log alone has it."""
        try:
            await self.app.store.run(partial(self._post, why=why))
        except StoreError as error:
            log.warning("The owners were not told of it: %s", error)

    def _post(self, tx: Transaction, why: str) -> None:
        digest = hashlib.sha256(why.encode()).hexdigest()
        told = [one for one in tx.directory.fact(REFUSED) or [] if tx.now - one[1] < AGAIN]
        if len(told) >= MOST or any(one[0] == digest for one in told):
            return
        told.append([digest, tx.now])
        tx.directory.set_fact(REFUSED, told)
        place = f" on {socket.gethostname()}" if self.app.store.jobs is not None else ""
        text = NOT_TAKEN.format(
            place=escape(place), why=escape(bounded(without_secrets(why), LONGEST_REASON))
        )
        text += LAST if len(told) == MOST else ""
        composer = self.app.router.context.composer
        for owner in self.app.router.access.owners():
            chat = private_chat(owner)
            if chat is not None and composer.serves(chat.address):
                for parcel in composer.post(chat.address, text):
                    tx.outbox.enqueue(parcel)

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


async def steady(read: Callable[[], bytes | None]) -> None:
    """Return once a file is not written any more. ConfigError where that takes too long."""
    seen = await asyncio.to_thread(read)
    for _ in range(LOOKS):
        await asyncio.sleep(STEADY)
        last, seen = seen, await asyncio.to_thread(read)
        if last == seen:
            return
    raise ConfigError("The file is still being written.")


def _content(file: Path) -> bytes | None:
    """None where it cannot be read. ConfigError where it can be read once only."""
    try:
        if not stat.S_ISREG(file.stat().st_mode) and not file.is_dir():
            raise ConfigError(f"{file} is no file that can be read again: name one with --config.")
        return file.read_bytes()
    except OSError:
        return None  # reading it in earnest says why


def _forget_refusal(tx: Transaction) -> None:
    """The same reason is a new one from now on."""
    told = tx.directory.fact(REFUSED) or []
    if any(digest for digest, _ in told):
        tx.directory.set_fact(REFUSED, [["", at] for _, at in told])


def _waiting(tx: Transaction) -> set[str]:
    asked = {str(one.subject.get("person") or "") for one in tx.questions.open()}
    return {author_of(row) for row in tx.inbox.unfinished()} | asked


def _end(tx: Transaction, identity: str) -> None:
    end_work_of(tx, identity)
    tx.directory.audit("right taken", "", {"identity": identity, "by": "configuration"})


def _listed(keys: list[str]) -> str:
    return ", ".join(keys)
