"""What of a turn people see: each thing goes out in the transaction that stores it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent.models.base import Reply
from agent.runtime.journal import Alongside
from agent.runtime.loop import Agent
from agent.text.markdown import escape
from agent.tools.base import OutFile
from agent.tools.think import thoughts_in
from gateway.outbound.buttons import send_menu
from gateway.outbound.composer import Composer
from gateway.outbound.out_files import OutFiles
from gateway.turns.late import headed
from gateway.turns.turn import AnswerItems, Turn
from storage.records.entries import Entry
from storage.store import Transaction


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
        thoughts = thoughts_in(calls) if self.thoughts_at(turn.address) else []
        said = [*(f"💭 {escape(thought)}" for thought in thoughts), headed(turn, reply.content)]
        parcels = [
            parcel
            for text in said
            if text.strip()
            for parcel in self.composer.post(turn.address, text, reply_to=turn.reply_to)
        ]
        last = turn.answered = not reply.tool_calls
        rows = turn.row_ids

        def alongside(tx: Transaction, entry: Entry) -> None:
            shown = [replace(parcel, entry=entry.id) for parcel in parcels]
            if last and shown:
                items = self.items(tx, turn, entry)
                send_menu(tx, shown, items, private=turn.private)
            else:
                for parcel in shown:
                    tx.outbox.enqueue(parcel)
            if last:
                tx.inbox.finish(rows)

        return alongside

    async def of_files(self, turn: Turn, files: Sequence[OutFile]) -> Alongside:
        """What tools show, with the result of the call that shows it."""
        parcels = await self.files.parcels(turn.address, files, turn.reply_to)

        def alongside(tx: Transaction, _: Entry) -> None:
            for parcel in parcels:
                tx.outbox.enqueue(parcel)

        return alongside
