"""What a conversation sees of a turn while it runs."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from agent.delegation.children.presence import Doing
from agent.models.retry import Waits
from agent.runtime.next_step import RunTools, next_step
from agent.text.formats import age, dollars
from agent.text.markdown import bounded, escape
from agent.tools.terminal.commands import Seen
from gateway.outbound.composer import Composer
from gateway.status.agents_panel import Live
from gateway.status.notices import Notices
from gateway.status.progress import Owner, progress
from gateway.status.typing_indicator import typing
from gateway.views.commands import commands_text
from gateway.views.delegations import progress_text
from storage.records.delegations import Delegation
from storage.records.entries import Entry
from storage.store import Store, Transaction

Path = Callable[[], Sequence[Entry]]
TOLD_APART = ("delegate_task", "run_command", "execute_code")
LONGEST_WHY = 200
"""Characters of a model's failure, or of what a tool says of how far it is."""
LINES = 5
"""Tools that are shown."""


@dataclass(frozen=True, slots=True)
class Running:
    """What a turn is at."""

    since: float
    """When what it answers came, in Unix seconds."""
    path: Path
    """Where it has come to."""
    waits: Waits
    """Of its calls of a model."""


@dataclass(frozen=True, slots=True)
class SignsOfLife:
    store: Store
    notices: Notices
    composer: Composer
    panel: Live
    commands: Callable[[int], Awaitable[Sequence[Seen]]]
    """What a session's agents run now."""
    progress: Callable[[int], Mapping[str, str]]
    """What tools that run for a session say of how far they are, by their names."""

    @asynccontextmanager
    async def during(self, session: int, owner: Owner, at: Running) -> AsyncIterator[None]:
        """Show in a conversation that a turn of a session runs, as long as the body does."""
        describe = partial(self._describe, session, owner.address, at)
        async with (
            typing(self.notices, owner.address),
            progress(self.store, self.notices, self.composer, owner, describe),
        ):
            yield

    async def _describe(self, session: int, address: str, at: Running, over: bool) -> str:
        since = at.since
        children = await self._describe_children(session, address, since, over)
        if over:
            return children
        now = time.time()
        tools = tools_text(at.path(), now, self.progress(session))
        commands = commands_text(await self.commands(session), now)
        parts = [part for part in (children, tools, commands, waits_text(at.waits, now)) if part]
        if not parts:
            return ""
        spent = await self.store.read(partial(_spent, address=address, since=since))
        cost = f" · {dollars(spent)} so far" if spent else ""
        return "\n".join([*parts, f"_working for {age(now - since)}{cost}_"])

    async def _describe_children(self, session: int, address: str, since: float, over: bool) -> str:
        if self.panel.shows(address):
            return ""  # /agents tells the same there, and is edited as often
        look = partial(self._worked_on, session=session, address=address, since=since)
        found = await self.store.read(look)
        if found is None:
            return ""
        now, rows, active = found
        return progress_text(rows, {} if over else active, now)

    def _worked_on(
        self, tx: Transaction, session: int, address: str, since: float
    ) -> tuple[float, Sequence[Delegation], Mapping[int, Doing]] | None:
        """The time, and a session's delegations that are unfinished or have ended since then, as
        they were made, with what those do that run. None where /agents of another process tells
        the same."""
        if self.panel.shows_elsewhere(tx, address):
            return None
        recent = (row for row in tx.delegations.recent(session) if row.updated >= since)
        found = {row.id: row for row in (*recent, *tx.delegations.unfinished(session))}
        rows = sorted(found.values(), key=lambda row: row.id)
        return tx.now, rows, self.panel.doing(tx, rows)


def tools_text(path: Sequence[Entry], now: float, progress: Mapping[str, str]) -> str:
    """A line for each tool that runs, but for those whose work is told of in lines of its own."""
    step = next_step(path)
    if not isinstance(step, RunTools):
        return ""
    names = Counter(call.name for call in step.calls if call.name not in TOLD_APART)
    since = age(now - step.entry.time)
    lines = [
        f"🔧 {escape(bounded(name, 60))}{f' × {count}' if count > 1 else ''} · {since}"
        f"{f' · {escape(bounded(progress[name], LONGEST_WHY))}' if name in progress else ''}"
        for name, count in names.most_common(LINES)
    ]
    return "\n".join(lines)


def waits_text(waits: Waits, now: float) -> str:
    """That a provider is busy or away, and when it is asked again."""
    if not waits.now:
        return ""
    why = escape(bounded(waits.now, LONGEST_WHY))
    return f"⏳ The model cannot be reached: {why} · asked again in {age(waits.until - now)}"


def _spent(tx: Transaction, address: str, since: float) -> float:
    return tx.ledger.total(since=since, address=address).cost
