"""People who type a command see what could stand in it. Nothing is stored, and nothing waits."""

import logging
from dataclasses import dataclass
from functools import partial

from adapters.base import AdapterError, Suggest
from adapters.events import Completion
from gateway.access.roles import Access
from gateway.commands.context import CommandContext
from gateway.commands.guidance.completions import choices
from storage.errors import StoreError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Completions:
    context: CommandContext
    access: Access

    async def answer(self, asked: Completion) -> None:
        """Strangers are not answered: what there is to choose from says what there is."""
        adapter = self.context.adapters.get(asked.conversation.platform)
        if adapter is None or not self.access.may_talk(asked.user.identity):
            return
        find = partial(choices, asked=asked, models=self.context.offered.models)
        try:
            found = await self.context.store.read(find)
            await adapter.deliver(Suggest(asked.handle, tuple(found)))
        except (StoreError, AdapterError) as error:
            # Who types sees nothing to choose from, and can type on.
            log.info("nothing to choose from for /%s: %s", asked.command, error)
        except Exception:
            # A fault of ours: the connection that everything else comes by must not end with it.
            log.exception("nothing to choose from for /%s", asked.command)
