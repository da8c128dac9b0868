"""What the work of commands that is done in a session's lane has in hand, and how it ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent.compaction.service import Compacting
from agent.models.base import Model
from agent.models.registry import Models
from agent.runtime.loop import Agent
from agent.settings import ToolsConfig
from gateway.outbound.buttons import MenuItem, send_menu
from gateway.outbound.composer import Composer
from gateway.turns.turn import Turn
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class JobContext:
    store: Store
    models: Models
    model: Model
    agent: Callable[[int, str | None], Agent]
    """The parent agent of a session: with its own model, or one by its name."""
    compacting: Compacting
    composer: Composer
    tools: ToolsConfig

    def end(
        self,
        tx: Transaction,
        turn: Turn,
        text: str,
        items: Sequence[MenuItem] = (),
        shows: int | None = None,
    ) -> None:
        """Tell how a job ended, and finish it. `shows`: the entry that the text is of."""
        posted = self.composer.post(turn.address, text, reply_to=turn.reply_to)
        parcels = [replace(parcel, entry=shows) for parcel in posted]
        send_menu(tx, parcels, items, private=turn.private)
        tx.inbox.finish(turn.row_ids)

    async def tell(self, turn: Turn, text: str) -> None:
        """End a job that has nothing to write."""
        await self.store.run(lambda tx: self.end(tx, turn, text))
