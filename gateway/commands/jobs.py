"""What the work of commands that is done in a session's lane has in hand, and how it ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent.compaction.service import Compacting
from agent.models.base import Model
from agent.runtime.chosen_model import chosen_on
from agent.runtime.steps.agent import Agent
from agent.settings import ToolsConfig
from gateway.outbound.buttons import MenuItem, send_menu
from gateway.outbound.composer import Composer
from gateway.turns.turn import Turn
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class JobContext:
    store: Store
    model: Model
    agent: Callable[[int, str, str | None], Agent]
    """The parent agent of a session in a conversation (its address): with its own model, or one by
    its name."""
    compacting: Compacting
    composer: Composer
    tools: ToolsConfig

    async def agent_of(self, turn: Turn, model: str = "") -> Agent:
        """The parent agent of a turn: with the model that was chosen on its branch, or one by its
        name."""
        journal = turn.journal
        name = model or await chosen_on(self.store, journal.path)
        return self.agent(journal.session, turn.address, name)

    def end(
        self,
        tx: Transaction,
        turn: Turn,
        text: str,
        items: Sequence[MenuItem] = (),
        shows: int | None = None,
    ) -> None:
        """Tell how a job ended, and finish it. `shows`: the entry that the text is of. EpochLost
        where another turn does it."""
        turn.journal.hold(tx)
        posted = self.composer.post(turn.address, text, reply_to=turn.reply_to)
        parcels = [replace(parcel, entry=shows) for parcel in posted]
        send_menu(tx, parcels, items, private=turn.private)
        tx.inbox.finish(turn.row_ids)

    async def tell(self, turn: Turn, text: str) -> None:
        """End a job that has nothing to write."""
        await self.store.run(lambda tx: self.end(tx, turn, text))
