"""delegate_task: hand work to cheaper models, along branch tables or open-ended, one or a batch."""

import asyncio
from collections.abc import Sequence

from agent.concurrency import together
from agent.delegation.call.offer import Offer
from agent.delegation.call.planner import Planner
from agent.delegation.children.supervision import Activity
from agent.delegation.outcomes import Finished, Held
from agent.delegation.result import to_text, with_shared_files
from agent.delegation.runner import Origin, Subagents
from agent.delegation.settlement import stored_result
from agent.runtime.tool_calls import DELEGATE
from agent.tools.base import Call, Done, Effects, Outcome, Toolset, Traits, Waiting
from storage.records.delegations import Delegation


class DelegateTool:
    name = DELEGATE
    traits = Traits(Effects.CHANGES, Toolset.DELEGATION, repeatable=True)

    def __init__(
        self,
        subagents: Subagents,
        planner: Planner,
        offer: Offer,
        *,
        root: int | None = None,
        top: int | None = None,
        above: Activity | None = None,
    ) -> None:
        """The rest is given where a child delegates: `root` and `top` as in Delegation, `above` is
        its activity. A child cannot be told later, so its call waits until all tasks have ended.
        """
        self.description = offer.description
        self.parameters = offer.parameters
        self._subagents = subagents
        self._planner = planner
        self._root = root
        self._top = top
        self._above = above
        self._begins = asyncio.Lock()
        """Calls of one reply begin in its order, so that lists show them as they were made."""

    async def run(self, call: Call) -> Outcome:
        origin = Origin(
            session=call.session,
            call_entry=call.entry,
            call_id=call.id,
            address=call.address,
            person=call.person,
            root=self._root or call.session,
            top=self._top,
        )
        async with self._begins:
            rows = await self._subagents.store.read(origin.begun)
            if not rows:
                started = await self._subagents.started(origin, self.name)
                tasks = await self._planner.plan(call.arguments, call.session, started)
                rows = await self._subagents.start(tasks, origin)
        if call.told is not None:
            return await self._later(rows, call.told)
        performed = await together(self._subagents.perform(row, self._above) for row in rows)
        text = to_text(*with_shared_files([one.result for one in performed]))
        held = [one for one in performed if isinstance(one, Held)]
        if len(held) == len(performed) or (held and self._above is not None):
            return Waiting(held[0].question, text)
        final = [r.id for r, one in zip(rows, performed, strict=True) if isinstance(one, Finished)]
        return Done(text, tuple(final))

    async def _later(self, rows: Sequence[Delegation], told: frozenset[int]) -> Done:
        """What has ended since the call got its result."""
        left = [row for row in rows if row.id not in told]
        performed = await together(self._subagents.perform(row, self._above) for row in left)
        ended = {
            row.id: one.result
            for row, one in zip(left, performed, strict=True)
            if isinstance(one, Finished)
        }
        known = [ended.get(row.id) or stored_result(row) or {} for row in rows]
        warned = zip(rows, with_shared_files(known), strict=True)
        return Done(to_text(*(result for row, result in warned if row.id in ended)), tuple(ended))
