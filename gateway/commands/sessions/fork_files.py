"""The files of a fork.

Where each session has a workspace of its own, a fork gets copies of the files that its history
names, as they are when it is made: what was read or written on its path, or written by children,
and nothing else of the session it comes from. It is the first job in the fork's lane, so it is done
before anything is answered there, and again after a crash.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.compaction.files import FileList
from agent.concurrency import off_loop
from agent.settings import ToolsConfig, resolve_template
from agent.text.markdown import literal
from agent.tools.base import Toolset, with_parts
from agent.tools.files.common import FILE_THREADS
from agent.tools.files.copying import copy_files
from agent.tools.files.workspace import Workspace
from gateway.commands.context import CommandCall
from gateway.commands.jobs import JobContext
from gateway.turns.requests import ForkRequest, request, requested
from gateway.turns.turn import Turn
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.store import Transaction

FORK = InboxKind.FORK
NAMED = 5
"""Files that are told of by name."""


def leave_files(tx: Transaction, call: CommandCall, source: int, made: int) -> None:
    """Have a new fork get its files from the session it comes from, where it sees others than
    that."""
    tools = call.context.config.tools
    on = with_parts(call.context.settings.toolsets_at(call.address))
    if Toolset.FILE_READ in on and _folder(tools, source) != _folder(tools, made):
        payload = request(ForkRequest, call.message, source=source)
        tx.inbox.receive(Arrival(f"{FORK}:{call.row.id}", FORK, call.address, payload, made))


@dataclass(frozen=True, slots=True)
class ForkFiles:
    """The job in the fork's lane."""

    context: JobContext

    async def bring(self, turn: Turn) -> None:
        tools, path = self.context.tools, turn.journal.path
        files = await off_loop(len(path), lambda: FileList.of(path))
        source = requested(ForkRequest, turn.rows[0]).source
        copy = partial(
            copy_files,
            [*reversed(files.modified), *reversed(files.read)],
            Workspace(_folder(tools, source)),
            Workspace(_folder(tools, turn.journal.session)),
        )
        left = await FILE_THREADS.run(turn.address, copy, patient=True)
        if left:
            return await self.context.tell(turn, _told(left))
        await turn.finish()


def _told(left: list[str]) -> str:
    names = ", ".join(literal(path, 100) for path in left[:NAMED])
    more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
    return (
        f"⚠️ Not all files came along into this conversation: {names}{more}. They are too large, or "
        "cannot be read; they are still where this one was forked from."
    )


def _folder(tools: ToolsConfig, session: int) -> Path:
    return resolve_template(tools.workspace, session)
