"""What a gateway looks after besides messages: people whose time is over, work that was
left behind, files that nobody needs."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial

from adapters.platforms import private_chat
from gateway.access.menus import OwnersMenus
from gateway.commands.people.requests import end_lapsed
from gateway.inbound.router import Router
from gateway.outbound.delivery import Delivery
from gateway.outbound.live_messages import close_left
from gateway.running.platforms.reception import Reception
from gateway.toolkits import Toolkits
from gateway.turns.runner import TurnRunner
from gateway.turns.scheduler import SessionScheduler
from storage.news import Committed
from storage.store import Store, Transaction

YOUNG = 20.0
"""Seconds in which a command that somebody took in is left to them."""


@dataclass
class Housekeeping:
    store: Store
    router: Router
    runner: TurnRunner
    scheduler: SessionScheduler
    delivery: Delivery
    menus: OwnersMenus
    tools: Toolkits
    reception: Reception
    _told_of_room: bool = field(default=False, init=False)

    async def sweep(self, *, shared: bool = False) -> None:
        """What one process does for all. `shared`: others may be at work on what is young."""
        await self.router.sweep(YOUNG if shared else 0.0)
        await self.end_rights()
        await self.store.run(partial(close_left, composer=self.router.context.composer))
        await self.tools.look_after()

    async def receives(self) -> None:
        """Note that this process receives, and from where."""
        await self.reception.renewal.goes_on(list(self.reception.here))

    async def refresh(self) -> None:
        """What each process does for itself: see what others changed."""
        self.delivery.notify()  # `bough sessions` writes beside us
        await self.router.note_ignored()
        await self.reread()
        await self.tools.refresh()
        await self.tell_of_room()

    async def tell_of_room(self) -> None:
        """Tell the owners, once, that the disk of the database is full: they alone can mend it."""
        text = self.store.short_of_room
        if text and not self._told_of_room:
            await self.store.run(partial(self._post_to_owners, text=f"⚠️ {text}."))
        self._told_of_room = bool(text)

    def _post_to_owners(self, tx: Transaction, text: str) -> None:
        for owner in self.router.access.owners():
            if (chat := private_chat(owner)) is not None:
                for parcel in self.router.context.composer.post(chat.address, text):
                    tx.outbox.enqueue(parcel)

    async def reread(self) -> None:
        """Rights, choices and threads."""
        await self.router.context.settings.read(self.store)
        gone = await self.router.access.given.read(self.store)
        self._cut(gone)
        await self._stop_all_of(gone)
        self.menus.changed()

    def committed(self, news: Committed) -> None:
        """A commit may have given or taken rights."""
        if news.rights:
            self.menus.changed()
        self._cut({who for who, right in news.rights.items() if right is None})

    def _cut(self, gone: AbstractSet[str]) -> None:
        """End the turns of people who may not talk any more: their rows are finished."""
        for session, turn in list(self.runner.running.items()) if gone else ():
            if turn.person in gone:
                self.scheduler.interrupt(session)

    async def end_rights(self) -> None:
        """End rights whose time is over, and forget old requests."""
        access = self.router.access
        composer = self.router.context.composer
        lapsed = await self.store.run(partial(end_lapsed, access=access, composer=composer))
        await self._stop_all_of(lapsed)

    async def _stop_all_of(self, people: AbstractSet[str]) -> None:
        for identity in people:
            if not self.router.access.may_talk(identity):
                await self.router.context.turns.stop_all_of(identity)
