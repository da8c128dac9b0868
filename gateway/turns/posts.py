"""What of a turn people see: each thing goes out in the transaction that stores it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent.models.base import Reply, ToolCall
from agent.runtime.journal import Alongside
from agent.runtime.next_step import said_before
from agent.runtime.steps.agent import Agent
from agent.text.markdown import bounded, escape
from agent.tools.base import OutFile
from agent.tools.think import thoughts_in
from gateway.outbound.buttons import send_menu
from gateway.outbound.composer import Composer
from gateway.outbound.live_messages import in_place
from gateway.outbound.out_files import OutFiles
from gateway.streaming.partial import ended
from gateway.turns.policy.late import headed
from gateway.turns.turn import AnswerItems, Turn
from storage.records.entries import Entry
from storage.records.inbox_outbox import OutboxDraft
from storage.store import Transaction

BROKE_OFF = "✂️ _The answer broke off here._"
STOPPED: dict[str, str] = {
    "length": "✂️ _The answer ends here: it reached the model's limit. Say “go on” for the rest._",
    "filter": "✂️ _The answer ends here: the provider's filter withheld the rest._",
}
MOST_THOUGHT = 1_000
"""Characters of a model's own thinking that are shown."""
Parcels = Callable[[Transaction, Entry], list[OutboxDraft]]
"""What is to be sent for an entry."""


def _thoughts(reply: Reply, calls: Sequence[ToolCall]) -> list[str]:
    """What the model thought: in its own way, and by the tool for that."""
    own = bounded(str(reply.raw.get("reasoning_content") or "").strip(), MOST_THOUGHT)
    return [*filter(None, [own]), *thoughts_in(calls)]


@dataclass(frozen=True, slots=True)
class TurnPosts:
    composer: Composer
    files: OutFiles
    items: AnswerItems
    """The buttons of an answer."""
    thoughts_at: Callable[[str], bool]
    """Whether the calls of `think` are shown in a conversation."""

    def of_reply(self, turn: Turn, agent: Agent, reply: Reply) -> Alongside:
        """What the model says; the last word ends the turn there too."""
        calls = reply.tool_calls[: agent.max_calls]
        thoughts = _thoughts(reply, calls) if self.thoughts_at(turn.address) else []
        last = turn.answered = not reply.tool_calls
        text = headed(turn, reply.content)
        if reply.tool_calls and reply.content.strip() in said_before(turn.journal.path):
            text = ""  # people have read it beside an earlier call
        if text and reply.content.strip() and (mark := STOPPED.get(reply.stop)):
            text = f"{ended(text)}\n\n{mark}"
        shown = self._shown(turn, text, [f"💭 {escape(one)}" for one in thoughts])
        rows = turn.row_ids

        def alongside(tx: Transaction, entry: Entry) -> None:
            parcels = shown(tx, entry)
            if last and parcels:
                items = self.items(tx, turn, entry)
                send_menu(tx, parcels, items, private=turn.private)
            else:
                for parcel in parcels:
                    tx.outbox.enqueue(parcel)
            if last:
                tx.inbox.finish(rows)

        return alongside

    def of_cut(self, turn: Turn, reply: Reply) -> Alongside:
        """What had come of an answer that broke off stays; why it did is told by who knows it."""
        shown = self._shown(turn, f"{headed(turn, ended(reply.content))}\n\n{BROKE_OFF}", [])

        def alongside(tx: Transaction, entry: Entry) -> None:
            for parcel in shown(tx, entry):
                tx.outbox.enqueue(parcel)

        return alongside

    def _shown(self, turn: Turn, text: str, before: Sequence[str]) -> Parcels:
        """The parcels of a text, and of others `before` it; what is shown of it already is changed,
        and stands first then."""
        address = turn.address
        post = partial(self.composer.post, address, reply_to=turn.reply_to)
        own = post(text) if text.strip() else []
        others = [parcel for each in before if each.strip() for parcel in post(each)]
        rows = turn.row_ids

        def shown(tx: Transaction, entry: Entry) -> list[OutboxDraft]:
            parcels = [*others, *own]
            if turn.live.maybe and own:
                bodies = partial(self.composer.bodies, address, text)
                placed = in_place(tx, own, rows, bodies)
                changed = [one for one in placed if one.kind == "edit"]
                parcels = [*changed, *others, *(one for one in placed if one.kind == "post")]
            return [replace(parcel, entry=entry.id) for parcel in parcels]

        return shown

    async def of_files(self, turn: Turn, files: Sequence[OutFile]) -> Alongside:
        """What tools show, with the result of the call that shows it."""
        parcels = await self.files.parcels(turn.address, files, turn.reply_to)

        def alongside(tx: Transaction, _: Entry) -> None:
            for parcel in parcels:
                tx.outbox.enqueue(parcel)

        return alongside
