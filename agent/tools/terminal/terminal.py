"""What runs now, for one gateway: commands are begun here, and ended with all that they began."""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent.errors import ToolError
from agent.fairness import is_fair
from agent.settings import ToolsConfig, resolve_template
from agent.tools.base import Call, Changed, Setting
from agent.tools.files.common import FILE_THREADS
from agent.tools.files.workspace import FileType, Workspace, WorkspaceError, shown
from agent.tools.terminal import shell, telling
from agent.tools.terminal.commands import (
    Going,
    Over,
    Seen,
    Wanted,
    child_ended,
    draft,
    newer,
    tell,
)
from agent.tools.terminal.elsewhere import OtherCommands, ended_without_us, heard
from agent.tools.terminal.named_files import Named, Written, named
from agent.tools.terminal.sandbox.bubblewrap import environment
from agent.tools.terminal.sandbox.cache import kept, remove_orphans
from agent.tools.terminal.sandbox.cgroup import groups
from agent.tools.terminal.sandbox.launcher import Bubblewrap, Unconfined, look, without
from agent.tools.terminal.sandbox.limits import MOST_IN_ALL, MOST_TOGETHER, Limits, fitted
from agent.tools.terminal.sandbox.output import Output
from agent.tools.terminal.sandbox.place import Owner, Place, prepare
from agent.tools.terminal.sandbox.process import Ended, Launcher, Order, Running, SandboxError
from agent.tools.terminal.sandbox.quota import Quotas, Stored
from agent.tools.terminal.shell import Left
from storage.interchange.redaction import redactor
from storage.records.entries import Json
from storage.records.tools.commands import Command, CommandState, Shell
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

OUTPUTS = ".outputs"
"""Folder of the workspace for output that is too long to be shown."""
LOOK_EVERY = 1.0
"""Seconds between looks whether the child is still there that began a command."""
MOST_CHANGED = 100
"""Files that are said to be changed."""
INTERRUPTED = "it was interrupted"
STOPPED = "somebody stopped it"
CLOSED = "the gateway ended first; nobody knows what came of it"
NO_ROOM = "{}; so this command could remove files, but write none"
_MEASURING = 3.0
"""Seconds that a command waits until it is known what its workspace takes."""
_BEFORE = 1.0
"""Seconds by which the clock of files may be behind."""


class Terminal:
    """Belongs to one event loop. `recover` before anything is run, `close` at the end."""

    def __init__(
        self,
        store: Store,
        config: ToolsConfig,
        *,
        ours: Sequence[Path] = (),
        secret: Sequence[Path] = (),
        limits: Limits | None = None,
        redact: Callable[[str], str] = str,
        written: Written | None = None,
    ) -> None:
        """`ours` and `secret`: see place.prepare. `redact`: a text without what must not be known,
        for what is told of a command beside its call's result. `written`: what tools for files
        wrote."""
        self.store = store
        self._config = config
        self._ours = tuple(ours)
        self._secret = tuple(secret)
        self._limits = limits or Limits()
        self._redact = redact
        self._quotas = Quotas(config.workspace_quota)
        self._mask = redactor(())
        self._written = written or Written()
        self._going: list[Going] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.elsewhere = OtherCommands(store, redact)

    async def recover(self) -> None:
        """Tell, once, of what ran when the process ended that ran it. Where there are several
        processes, to be called now and then: what living ones run is left alone."""
        ours = {g.command.id for g in self._going if g.command is not None}
        await asyncio.to_thread(remove_orphans, self._config.workspace)
        await self._end_what_is_over(ours)

        def work(tx: Transaction) -> None:
            for command in self.elsewhere.lost(tx, ours):
                tx.commands.end(command.id, CommandState.LOST, why=CLOSED)
                if command.background and not command.child:
                    lost = replace(command, state=CommandState.LOST, why=CLOSED)
                    tell(tx, lost, telling.event_text(lost, None))

        await self.store.run(work)

    async def _end_what_is_over(self, ours: Collection[int]) -> None:
        """End commands of this process that others believe to be lost, because it stood still."""
        if not ours or self.store.jobs is None:
            return
        over = await self.store.read(lambda tx: ended_without_us(tx, ours))
        for going in self._going:
            if going.command is not None and going.command.id in over:
                _end(going, CLOSED)

    async def close(self) -> None:
        """End everything. What ran in the background is told of at the next start."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def workspace(self, home: int) -> Workspace:
        return Workspace(resolve_template(self._config.workspace, home))

    async def check(self, setting: Setting) -> None:
        """Raises ToolError where no command can be run for a chat's session."""
        await FILE_THREADS.run(setting.address, partial(self._place, setting.home))
        look_for = without if self._config.sandbox == "none" else look
        await FILE_THREADS.run(setting.address, look_for)

    async def shell(self, call: Call, home: int) -> Shell:
        """What a call finds: all of one reply find the same, whichever ends first. Where its
        directory is gone, or behind a link by now, it is the workspace: people who are asked are
        shown where it will run."""
        found = await self._kept_shell(call)
        look = partial(_is_folder, self.workspace(home), found.directory)
        if await FILE_THREADS.run(call.address, look):
            return found
        return replace(found, directory="")

    @property
    def confined(self) -> str:
        """How commands are confined, for people."""
        if self._config.sandbox == "none":
            return "⚠️ not sandboxed"
        return f"sandboxed, {'with' if self._config.network else 'no'} network"

    def folder(self, home: int, shell: Shell) -> str:
        """The real folder that a command begins in. Blocks."""
        return str(self.workspace(home).root.resolve() / shell.directory)

    async def named(self, call: Call, home: int, line: str, *, python: bool = False) -> Named:
        """The files that a command line, or a program, names."""
        found = await self.shell(call, home)
        look = partial(
            named,
            self.workspace(home),
            home,
            found.directory,
            line,
            python=python,
            variables=found.environment,
            confined=self.confined,
            written=self._written,
            mask=lambda text: self._mask(self._redact(text)),
        )
        return await FILE_THREADS.run(call.address, look)

    async def _kept_shell(self, call: Call) -> Shell:
        return await self.store.read(lambda tx: tx.commands.shell(call.session, call.entry))

    async def seen_anywhere(self, home: int) -> list[Seen]:
        """The same, of all processes."""
        return [*await self.elsewhere.seen(home), *self.seen(home)]

    async def stop_anywhere(self, home: int) -> int:
        """Ask all that runs for a chat's session to end, in whichever process; how many there
        were."""
        here = self.stop(home)
        return here + await self.elsewhere.stop(home, STOPPED)

    def heard(self, message: Json) -> None:
        """What another process wants to have ended."""
        for going, why in heard(self._going, message):
            _end(going, why)

    def seen(self, home: int) -> list[Seen]:
        """What runs in this process for a chat's session, its children's too; oldest first."""
        return [
            Seen(
                g.command.line,
                g.command.started,
                g.wanted.background,
                self._redact(g.output.last_line()),
            )
            for g in self._going
            if g.command is not None and g.wanted.setting.home == home
        ]

    def stop(self, home: int, why: str = STOPPED) -> int:
        """Ask all that runs in this process for a chat's session to end; how many there were."""
        found = [g for g in self._going if g.wanted.setting.home == home]
        for going in found:
            _end(going, why)
        return len(found)

    def going(self, command: int) -> Going | None:
        """What runs under an id."""
        running = (g for g in self._going if g.command is not None and g.command.id == command)
        return next(running, None)

    async def end(self, going: Going, why: str) -> None:
        """End a command and wait until it has."""
        _end(going, why)
        await going.over.wait()

    async def run(self, wanted: Wanted) -> Over:
        """Raises ToolError. Cancelled, the command is killed first."""
        return await self._carry(self._enter(wanted))

    async def begin(self, wanted: Wanted) -> Command:
        """In the background: once it runs. Raises ToolError where it cannot."""
        going = self._enter(wanted)
        task = asyncio.create_task(self._in_background(going), name=f"command: {wanted.tool}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        begun = asyncio.create_task(going.begun.wait())
        try:
            await asyncio.wait([task, begun], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            going.why = INTERRUPTED
            task.cancel()
            raise
        finally:
            begun.cancel()
        if task.done() and (error := task.exception()) is not None:
            raise error
        assert going.command is not None
        return going.command

    def _enter(self, wanted: Wanted) -> Going:
        together = sum(g.wanted.setting.home == wanted.setting.home for g in self._going)
        few_left = not is_fair(together, MOST_IN_ALL - len(self._going))
        if together >= MOST_TOGETHER or few_left:
            whose = "in all chats together" if few_left else "in this chat"
            raise ToolError(
                f"too many commands run {whose}; nothing was done. Wait until one has ended, or "
                "end one with stop_command"
            )
        going = Going(wanted, Output(self._limits.kept), beside=together > 0)
        for other in self._going:
            other.beside |= other.wanted.setting.home == wanted.setting.home
        self._going.append(going)
        return going

    async def _carry(self, going: Going) -> Over:
        try:
            return await self._run(going)
        finally:
            self._going.remove(going)
            going.over.set()

    async def _in_background(self, going: Going) -> None:
        watch = asyncio.create_task(self._while_wanted(going))
        try:
            await self._carry(going)
        except SandboxError:
            if not going.begun.is_set():
                raise  # which `begin` waits for; later on, it is told of as an end
        finally:
            watch.cancel()
            await asyncio.wait([watch])

    async def _while_wanted(self, going: Going) -> None:
        """End what a child began once the child has ended."""
        session = going.wanted.call.session
        while going.wanted.setting.child:
            await asyncio.sleep(LOOK_EVERY)
            if await self.store.read(lambda tx: child_ended(tx, session)):
                return _end(going, "the agent that began it has ended")

    async def _run(self, going: Going) -> Over:
        wanted = going.wanted
        address = wanted.call.address
        place = await FILE_THREADS.run(address, partial(self._place, wanted.setting.home))
        limits, stored, short = await self._room(place)
        launcher, place = await FILE_THREADS.run(address, partial(self._launcher, place, limits))
        before = await self.shell(wanted.call, wanted.setting.home)
        command = going.command = await self._started(wanted, before)
        order = Order(
            line=wanted.script or wanted.line,
            arguments=wanted.arguments,
            directory=place.root / before.directory,
            environment=dict(before.environment),
            seconds=wanted.seconds,
            workspace=place.root,
            cache=place.cache,
            stored=stored,
            changed=wanted.call.changed,
        )
        going.running = Running(order, limits, going.output, self._quotas, going.begun)
        if going.why:
            going.running.end(going.why)
        if order.changed is None:
            going.begun.set()  # else it may still turn out that it must not
        try:
            async with self.elsewhere.following(going):
                ended = await going.running.run(launcher)
        except asyncio.CancelledError:
            # What runs in the background ends only with the gateway: the next one tells of it.
            if not wanted.background or going.why:
                await asyncio.shield(self._finish(command, INTERRUPTED))
            raise
        except SandboxError as error:
            told = wanted.background and going.begun.is_set() and not going.why
            await self._finish(command, str(error), told=told)
            raise
        except Changed as error:
            await self._finish(command, str(error))
            raise
        return await asyncio.shield(self._over(going, ended, place, before, short))

    async def _room(self, place: Place) -> tuple[Limits, Stored, str]:
        """Limits for a command in a workspace, what that takes, and why it may write no files; ""
        where it may."""
        try:
            limits, short = await asyncio.to_thread(fitted, self._limits, place.root)
            stored = await self._stored(place.root)
        except OSError as error:
            log.warning("%s cannot be measured: %s", place.root, error.strerror)
            return self._limits, Stored(), ""
        why = "the disk is almost full" if short else self._quotas.why_over(stored)
        return (replace(limits, file=0) if why else limits), stored, why

    async def _stored(self, root: Path) -> Stored:
        """What a workspace takes. A command does not wait long for that: while it runs it is held
        against its quota all the same."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_MEASURING):
                return await self._quotas.stored(root)
        return Stored()

    async def _over(
        self, going: Going, ended: Ended, place: Place, before: Shell, short: str
    ) -> Over:
        """Write down how it ended, all at once: its row, the shell, and who is to be told."""
        wanted, command = going.wanted, going.command
        assert command is not None
        left = Left(before)
        no_room = await self._no_room(place, command, ended, short)
        if ended.full:
            ended = replace(ended, why="; ".join(filter(None, (ended.why, no_room))))
            no_room = ""
        if wanted.keeps_shell:
            base = self._environment(place)
            left = shell.left(ended.told, str(place.root), base, before)
        file, fault = await self._kept(wanted, command.id, going.output)
        kept = (await self._kept_shell(wanted.call)).directory
        gone = f"{shown(kept)} is gone: it ran in the workspace" if kept != before.directory else ""
        left = replace(left, notes=(*left.notes, *filter(None, (no_room, fault, gone))))
        over = replace(
            command,
            state=CommandState.ENDED,
            status=ended.status,
            why=ended.why,
            output=file,
            ended=command.started + ended.seconds,
        )

        def work(tx: Transaction) -> None:
            self.elsewhere.end(tx, command)
            if not tx.commands.end(
                command.id, over.state, status=over.status, why=over.why, output=over.output
            ):
                return  # this process stood still, and another told that nobody knows
            if wanted.keeps_shell and left.shell != before:
                tx.commands.keep_shell(command.session, wanted.call.entry, left.shell)
            if wanted.background and not command.child and not going.why:
                tell(tx, over, self._redact(telling.event_text(over, going.output)))

        await self.store.run(work)
        return Over(over, ended, going.output, left, await self._changed(going))

    async def _changed(self, going: Going) -> tuple[str, ...]:
        """Files that a child's command changed: those with a newer time, and, where another command
        ran beside it, whose names it says."""
        wanted, command = going.wanted, going.command
        if not wanted.setting.child or command is None:
            return ()
        look = partial(newer, self.workspace(wanted.setting.home), command.started)
        try:
            found = await FILE_THREADS.run(wanted.call.address, look, patient=True)
        except WorkspaceError:
            return ()  # the workspace is gone, and its files with it
        names = [file for file in found if not file.startswith(f"{OUTPUTS}/")]
        if going.beside:
            names = [file for file in names if file.rpartition("/")[2] in wanted.line]
        return tuple(names[:MOST_CHANGED])

    async def _no_room(self, place: Place, command: Command, ended: Ended, short: str) -> str:
        """What the agent should know of room: that there was none from the first, or what a command
        left that took it, whether that was seen in time or not. It alone can remove that."""
        if short:
            return NO_ROOM.format(short)
        now = "" if ended.full else (await self._room(place))[2]
        if not (ended.full or now):
            return ""
        try:
            began = command.started - _BEFORE
            found = await self._quotas.changed_since(place.root, began)
        except OSError as error:
            found = f"what it left cannot be seen: {error.strerror}"
        return "; ".join(filter(None, (now, found)))

    async def _kept(self, wanted: Wanted, command: int, output: Output) -> tuple[str, str]:
        """The file of the workspace that has the output, "" where none is needed; and why there
        is none."""
        if not output.total or (output.total <= wanted.shown and not wanted.background):
            return "", ""
        name = f"{OUTPUTS}/command-{command}.txt"
        workspace = self.workspace(wanted.setting.home)
        try:
            write = partial(workspace.write, name, output.whole())
            await FILE_THREADS.run(wanted.call.address, write, patient=True)
        except WorkspaceError as error:
            return "", f"its output could not be kept: {error}"
        return name, ""

    async def _started(self, wanted: Wanted, before: Shell) -> Command:
        def work(tx: Transaction) -> Command:
            command = tx.commands.start(draft(tx, wanted, before))
            self.elsewhere.begin(tx, command)
            return command

        task = asyncio.ensure_future(self.store.run(work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            command = await task
            await asyncio.shield(self._finish(command, INTERRUPTED))
            raise

    async def _finish(self, command: Command, why: str, *, told: bool = False) -> None:
        """It said nothing, or nobody is left to hear it. `told`: whether its agent is told."""
        over = replace(command, state=CommandState.ENDED, why=why)

        def work(tx: Transaction) -> None:
            self.elsewhere.end(tx, command)
            ended = tx.commands.end(command.id, over.state, why=why)
            if told and ended and not command.child:
                tell(tx, over, telling.event_text(over, None))

        await self.store.run(work)

    def _place(self, home: int) -> Place:
        """Raises ToolError where no command can be run for a chat's session. Blocks."""
        try:
            return prepare(
                self.workspace(home).root,
                self._ours,
                self._secret,
                tuple(map(Path, self._config.read_only)),
                self._config.workspace,
            )
        except WorkspaceError as error:
            raise ToolError(f"{error}; nothing was done") from None

    def _launcher(self, place: Place, limits: Limits) -> tuple[Launcher, Place]:
        """Blocks."""
        owner = place.owner or Owner(os.geteuid(), os.getegid())
        most = limits.cache if self._quotas.most is None else min(limits.cache, self._quotas.most)
        place = replace(place, cache=kept(place.root, owner.user, owner.group, most))
        base = self._environment(place)
        if self._config.sandbox == "none":
            return Unconfined(without(), place, limits, base, groups()), place
        return Bubblewrap(look(), place, limits, self._config.network, base, groups()), place

    def _environment(self, place: Place) -> dict[str, str]:
        confined = self._config.sandbox != "none"
        return environment(place, self._config.environment, confined=confined)


def _is_folder(workspace: Workspace, path: str) -> bool:
    """Blocks."""
    try:
        return not path or workspace.stat(path).type is FileType.FOLDER
    except WorkspaceError:
        return False


def _end(going: Going, why: str) -> None:
    going.why = going.why or why
    going.ending.set()
    if going.running is not None:
        going.running.end(why)
