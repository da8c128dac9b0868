"""One call of the model by the loop: a reply, or what had come of it where it broke off.

Text that people have read while it came belongs into the tree, whatever became of the rest: the
next turn goes on from there. What a killed process had heard is not kept; that turn is run again.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from agent.concurrency import kept_going
from agent.models.base import Heard, Model, ModelError, ModelErrorKind, Reply, Request
from agent.models.heard import Listener, partial_reply
from agent.models.metering import Account, bill
from agent.runtime.journal import Alongside, Journal
from agent.runtime.replies import told_apart, usage_json
from storage.errors import EpochLost, StoreError
from storage.records.entries import CUT, Draft, Entry, Kind, message
from storage.store import Transaction

log = logging.getLogger(__name__)

OnReply = Callable[[Reply], Alongside | None]
"""Told of each reply before it is appended; gives what is stored in the same transaction."""

LAST_WORD_SECONDS = 5.0
"""Until what a cancelled call had said is given up, while the store does not take it."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    model: Model
    journal: Journal
    account: Account
    author: str
    """Of what it says."""
    heard: Heard | None
    on_cut: OnReply | None

    async def reply(self, request: Request) -> Reply:
        """One reply that says something, to be billed with its entry. An empty one is billed at
        once, and asked for once more. Raises ModelError."""
        for _ in range(2):
            reply = await self._listen(request)
            if reply.content.strip() or reply.tool_calls:
                return replace(reply, tool_calls=told_apart(reply.tool_calls))
            empty = partial(bill, account=self.account, spec=request.spec, reply=reply)
            await self.journal.store.run(empty)
        raise ModelError(ModelErrorKind.BAD_REPLY, "the model gave an empty answer, twice")

    async def _listen(self, request: Request) -> Reply:
        if self.heard is None:
            return await self.model.complete(request)
        listener = Listener(self.heard)
        try:
            return await self.model.complete(replace(request, heard=listener))
        except ModelError as error:
            if listener.text:
                await self._append(request, partial_reply(request, listener.text, error))
            raise
        except asyncio.CancelledError:
            if listener.text:
                await self._last_word(request, partial_reply(request, listener.text))
            raise

    async def _last_word(self, request: Request, reply: Reply) -> None:
        """Before the next turn reads the path: who cancels a turn waits for its end."""
        try:
            await kept_going(self._append(request, reply), LAST_WORD_SECONDS)
        except EpochLost:
            log.info("session %s: a newer turn came before the text", self.journal.session)
        except (StoreError, TimeoutError) as error:
            session = self.journal.session
            log.warning("session %s: what was said until it was cut is lost: %s", session, error)

    async def _append(self, request: Request, reply: Reply) -> None:
        more = self.on_cut(reply) if self.on_cut is not None else None

        def alongside(tx: Transaction, entry: Entry) -> None:
            bill(tx, self.account, request.spec, reply)
            if more is not None:
                more(tx, entry)

        draft = cut_draft(reply, request.spec.model, self.author)
        await self.journal.append(draft, alongside)


def cut_draft(reply: Reply, model: str, author: str) -> Draft:
    """What had come of a reply as an entry: a message like any other, with a mark."""
    body = message("assistant", reply.content)
    more = {"model": reply.model or model, "usage": usage_json(reply), "stop": CUT}
    return Draft(Kind.MESSAGE, {**body, **more}, author=author, tokens=reply.usage.output)
