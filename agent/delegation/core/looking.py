"""What a judge may look at before it gives its verdict: files, through tools that change nothing.

Bounded in steps, calls and bytes. What a file says is data: it stands fenced.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent.models.base import Reply, ToolCall
from agent.text.fencing import fence
from agent.text.sizing import head, size
from storage.records.entries import Json, message

STEPS = 5
"""Replies in which a judge may look."""
CALLS = 4
"""Of one such reply."""
HOW = (
    "Where a file decides it, look at it first with the tools you have; in at most "
    f"{STEPS} replies, then call give_verdict."
)
_SHARE = 8
"""What one call shows takes at most this part of a question's room."""


@dataclass(frozen=True, slots=True)
class Looking:
    offered: Sequence[Json]
    """The tools, in OpenAI's shape."""
    run: Callable[[ToolCall], Awaitable[str]]
    """Runs a call; every fault of it is its result."""

    def asks(self, reply: Reply) -> bool:
        names = {tool["function"]["name"] for tool in self.offered}
        return any(call.name in names for call in reply.tool_calls)

    async def shown(self, reply: Reply, room: int) -> list[Json]:
        """The reply with what its calls come to, as messages of at most about `room` bytes."""
        results = []
        for number, call in enumerate(reply.tool_calls):
            text = "Not run: too many calls in one reply."
            if number < CALLS:
                text = await self._result(call, room // _SHARE)
            results.append(message("tool", text, tool_call_id=call.id, name=call.name))
        return [{**reply.raw, "role": "assistant"}, *results]

    async def _result(self, call: ToolCall, most: int) -> str:
        text = await self.run(call)
        kept = head(text, most)
        cut = f"\n[cut: {size(text):,} bytes in all; read on with offset]" if kept != text else ""
        return fence("result", kept) + cut
