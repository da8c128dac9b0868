"""One session as the turn that holds it sees it: its path, which only that turn appends to.

A journal belongs to one epoch. When another turn claims the session, appending raises EpochLost.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from agent.concurrency import off_loop
from agent.runtime.context import Context, conversation, grown, steps
from storage.records.entries import Draft, Entry, Json
from storage.store import Store, Transaction

Alongside = Callable[[Transaction, Entry], None]
"""What else belongs into the transaction that appends an entry."""

_LONGEST_PAUSE = 0.02
"""Seconds between two steps of telling what is long, in which others have the interpreter."""


class Journal:
    def __init__(
        self,
        store: Store,
        session: int,
        epoch: int,
        path: tuple[Entry, ...],
        *,
        aside: bool = False,
        context: Context | None = None,
    ) -> None:
        """`aside`: write below the path's end wherever the session's leaf is, and leave it.
        `context`: that of the path's beginning, where it is known."""
        self.aside = aside
        self.store = store
        self.session = session
        self.epoch = epoch
        self._context = context
        self._path = list(path)
        self._pen = asyncio.Lock()

    @classmethod
    async def claim(cls, store: Store, session: int, *, whole: bool = False) -> "Journal":
        """`whole`: with what was compacted, for who counts in it."""
        epoch, path = await store.run(lambda tx: claim(tx, session, whole=whole))
        return cls(store, session, epoch, path)

    @property
    def path(self) -> tuple[Entry, ...]:
        """What a context is made of, root first."""
        return tuple(self._path)

    @property
    def context(self) -> Context | None:
        """What a model was shown last."""
        return self._context

    async def messages(self, model: str, system: str, company: str) -> list[Json]:
        """What a model is shown: its instructions and the path. Not to be changed."""
        path = self.path
        context = await self._grown(path, model)
        self._context = context
        return conversation(context, system, company)

    async def _grown(self, path: tuple[Entry, ...], model: str) -> Context:
        """Step by step where the path is long, for others want the interpreter in between."""
        loop, context = asyncio.get_running_loop(), self._context
        *most, whole = steps(context, path, model)
        for end in most:
            began = loop.time()
            context = await off_loop(end, partial(grown, context, path[:end], model))
            await asyncio.sleep(min(loop.time() - began, _LONGEST_PAUSE))
        return await off_loop(whole, partial(grown, context, path, model))

    async def append(
        self,
        draft: Draft | Callable[[Transaction], Draft],
        alongside: Alongside | None = None,
        *,
        then: Callable[[Entry], Draft | None] | None = None,
    ) -> Entry:
        """Append after the leaf: a draft, or what a function makes in the same transaction. `then`
        makes of the new entry what is appended right below it, in that transaction too.

        Concurrent callers are put in a row. EpochLost where another turn holds the session now.
        """

        def work(tx: Transaction) -> list[Entry]:
            after = self._path[-1].id if self._path else None
            made = draft if isinstance(draft, Draft) else draft(tx)
            entry = tx.tree.append(
                self.session, made, after=after, epoch=self.epoch, aside=self.aside
            )
            if alongside is not None:
                alongside(tx, entry)
            more = then(entry) if then is not None else None
            if more is None:
                return [entry]
            below = tx.tree.append(
                self.session, more, after=entry.id, epoch=self.epoch, aside=self.aside
            )
            return [entry, below]

        async with self._pen:
            appended = await self.store.run(work)
            self._path += appended
        return appended[0]

    def hold(self, tx: Transaction) -> None:
        """For what a turn writes besides entries: EpochLost where another turn holds the session
        now, and none takes it over before the transaction ends."""
        tx.tree.hold(self.session, self.epoch)

    def is_held(self, tx: Transaction) -> bool:
        """Whether no other turn has claimed the session so far."""
        return tx.tree.session(self.session).epoch == self.epoch


def claim(tx: Transaction, session: int, *, whole: bool = False) -> tuple[int, tuple[Entry, ...]]:
    """Take a session over: its new epoch, and the path its context is made of, or the `whole`."""
    claimed = tx.tree.claim(session)
    return claimed.epoch, tx.tree.path(claimed.leaf) if whole else tx.tree.context_path(
        claimed.leaf
    )
