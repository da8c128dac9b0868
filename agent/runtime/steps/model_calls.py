"""The step of a loop that calls the model: its reply is appended, or what had come of it where it
broke off.

Text that people have read while it came belongs into the tree, whatever became of the rest: the
next turn goes on from there. What a killed process had heard is not kept; that turn is run again.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from agent.concurrency import kept_going
from agent.models.base import (
    REQUIRED,
    Heard,
    Model,
    ModelError,
    ModelErrorKind,
    Reply,
    Request,
    call_json,
)
from agent.models.heard import Listener, partial_reply
from agent.models.metering import bill
from agent.runtime.journal import Alongside
from agent.runtime.next_step import calls_of, wish
from agent.runtime.steps.agent import Agent, AgentRun
from agent.runtime.steps.replies import told_apart, usage_json
from agent.tools.base import function_schema, schemas
from storage.errors import EpochLost, StoreError
from storage.records.entries import CUT, Draft, Entry, Kind, message
from storage.records.record_entries import SurplusCalls, record_draft
from storage.store import Transaction

log = logging.getLogger(__name__)

OnReply = Callable[[Reply], Alongside | None]
"""Told of each reply before it is appended; gives what is stored in the same transaction."""

ALL_THOUGHT = "the model used up the limit of its answer before it said a word"
LAST_WORD_SECONDS = 5.0
"""Until what a cancelled call had said is given up, while the store does not take it."""


@dataclass(frozen=True, slots=True)
class ModelCalls:
    model: Model
    run: AgentRun
    on_reply: OnReply | None = None
    heard: Heard | None = None
    """Told the text of each reply as it comes; None where nobody wants it before it is whole."""
    on_cut: OnReply | None = None
    """Told, before it is appended, of what had come of a reply that broke off."""

    async def call(self) -> Entry:
        """One call; the reply, as it was appended. Raises ModelError."""
        return await self._call(self._wish())

    async def call_last(self) -> Entry:
        """One call in which the model may call no tool; its reply. A call that it makes all the
        same is not run. Raises ModelError."""
        return await self._call("none")

    def _wish(self) -> str:
        agent, path = self.run.agent, self.run.journal.path
        if agent.must_call:
            return REQUIRED
        return wish(path, [tool.name for tool in agent.final_tools], agent.max_iterations)

    async def _call(self, tool_choice: str) -> Entry:
        agent = self.run.agent
        offered = [function_schema(t.name, t.description, t.parameters) for t in agent.final_tools]
        messages = await self.run.journal.messages(agent.spec.model, agent.system, agent.company)
        request = Request(
            spec=agent.spec,
            messages=messages,
            tools=[*schemas(agent.tools), *offered],
            purpose=self.run.account.purpose,
            tool_choice=tool_choice,
        )
        reply = await self._reply(request)
        more = self.on_reply(reply) if self.on_reply is not None else None

        def alongside(tx: Transaction, entry: Entry) -> None:
            bill(tx, self.run.account, agent.spec, reply)
            if more is not None:
                more(tx, entry)

        return await self.run.journal.append(
            assistant_draft(reply, agent),
            alongside,
            then=lambda entry: surplus_draft(entry, agent),
        )

    async def _reply(self, request: Request) -> Reply:
        """One reply that says something, to be billed with its entry. An empty one is billed at
        once, and asked for once more. Raises ModelError."""
        for _ in range(2):
            reply = await self._listen(request)
            if reply.content.strip() or reply.tool_calls:
                return replace(reply, tool_calls=told_apart(reply.tool_calls))
            if reply.stop == "length":
                raise ModelError(ModelErrorKind.BAD_REPLY, ALL_THOUGHT)
            empty = partial(bill, account=self.run.account, spec=request.spec, reply=reply)
            await self.run.journal.store.run(empty)
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
            log.info("session %s: a newer turn came before the text", self.run.journal.session)
        except (StoreError, TimeoutError) as error:
            session = self.run.journal.session
            log.warning("session %s: what was said until it was cut is lost: %s", session, error)

    async def _append(self, request: Request, reply: Reply) -> None:
        more = self.on_cut(reply) if self.on_cut is not None else None

        def alongside(tx: Transaction, entry: Entry) -> None:
            bill(tx, self.run.account, request.spec, reply)
            if more is not None:
                more(tx, entry)

        draft = cut_draft(reply, request.spec.model, self.run.agent.tier)
        await self.run.journal.append(draft, alongside)


def cut_draft(reply: Reply, model: str, author: str) -> Draft:
    """What had come of a reply as an entry: a message like any other, with a mark."""
    body = message("assistant", reply.content)
    more = {"model": reply.model or model, "usage": usage_json(reply), "stop": CUT}
    return Draft(Kind.MESSAGE, {**body, **more}, author=author, tokens=reply.usage.output)


def assistant_draft(reply: Reply, agent: Agent) -> Draft:
    """A reply as an entry: the message in OpenAI's shape, and what it cost."""
    calls = [call_json(call) for call in reply.tool_calls]
    more: dict[str, object] = {"tool_calls": calls} if calls else {}
    said = message("assistant", reply.content, **more)
    body = {**said, "model": reply.model or agent.spec.model, "usage": usage_json(reply)}
    if reply.stop:
        body["stop"] = reply.stop
    # The provider's message is kept whole, but what is the same in ours not twice.
    new = {k: v for k, v in reply.raw.items() if k not in said or said[k] != v}
    if new:
        body["raw"] = new
    return Draft(Kind.MESSAGE, body, author=agent.tier, tokens=reply.usage.output)


def surplus_draft(entry: Entry, agent: Agent) -> Draft | None:
    """Where a reply makes more calls than are run: a record of which ones are, and what the model
    is told about the others. One entry, however many there are."""
    calls = calls_of(entry)
    if len(calls) <= agent.max_calls:
        return None
    names = {tool.name for tool in agent.final_tools}
    last = next((call for call in calls if call.name in names), None)
    taken = [call for call in calls[: agent.max_calls] if last is None or call.id != last.id]
    if last is not None:
        taken.append(last)
    told = (
        f"Error: not run. {len(calls):,} calls in one reply are too many: "
        f"delegation.max_calls_per_reply is {agent.max_calls}. Nothing was done for this call and "
        "the ones after it; make those you still need in your next replies, "
        f"at most {agent.max_calls} at a time."
    )
    log.warning("a reply of %s made %d calls; %d are run", entry.author, len(calls), len(taken))
    return record_draft(SurplusCalls(entry.id, [call.id for call in taken], told), agent.tier)
