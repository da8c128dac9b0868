"""What models call: run a command, look at one in the background, end it; run a program."""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import ToolError
from agent.text.untrusted import quote
from agent.tools.base import (
    Bound,
    Call,
    Done,
    Effects,
    Requested,
    Setting,
    Tool,
    Toolset,
    Traits,
    validate,
)
from agent.tools.files.common import FILE_THREADS
from agent.tools.files.workspace import WorkspaceError
from agent.tools.terminal import telling
from agent.tools.terminal.commands import Wanted
from agent.tools.terminal.sandbox.limits import (
    BACKGROUND_SECONDS,
    LONGEST_COMMAND,
    MOST_SECONDS,
    SECONDS,
)
from agent.tools.terminal.sandbox.output import Output
from agent.tools.terminal.shell import in_words
from agent.tools.terminal.terminal import Terminal
from storage.records.tools.commands import Command, CommandState

MOST_SECONDS_OF_CHILD = 600
"""Less than after what a child counts as stalled."""
MOST_WAIT = 60
PYTHONS = ("/usr/local/bin/python3", "/usr/bin/python3")
"""Where a sandbox may have one."""
STOPPED = "stop_command ended it"


def terminal_tools(terminal: Terminal, setting: Setting) -> Iterable[Tool]:
    """A kit, once it is given its terminal."""
    shown = telling.shown_for(setting.window)
    return (
        RunCommand(terminal, setting, shown),
        CommandOutput(terminal, setting, shown),
        StopCommand(terminal, setting, shown),
        ExecuteCode(terminal, setting, shown),
    )


OWN_PROGRAMS = (
    "An earlier command exported PATH, so the programs on this line may be others than the rule "
    "that allows it means."
)


class _OfTerminal:
    """What every tool of one agent's terminal has."""

    def __init__(self, terminal: Terminal, setting: Setting, shown: int) -> None:
        self._terminal = terminal
        self._setting = setting
        self._shown = shown

    def _how(self, seconds: float, *, background: bool = False) -> str:
        """How something runs, for people: in our own words, with nothing of the model's."""
        place = "in the background, " if background else ""
        return f"{place}at most {seconds:,.0f} s · {self._terminal.confined}"


class RunArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    command: str = Field(min_length=1, description="Run by bash.")
    timeout: int | None = Field(
        default=None,
        ge=1,
        le=BACKGROUND_SECONDS,
        description=f"Seconds until it is ended: {SECONDS} where none are given, at most "
        f"{MOST_SECONDS:,}; in the background a day.",
    )
    background: bool = Field(
        default=False, description="Go on at once; the result is an id for command_output."
    )


class RunCommand(_OfTerminal):
    name = "run_command"
    parameters = RunArguments.model_json_schema()
    traits = Traits(Effects.CHANGES, Toolset.TERMINAL, needs_approval=True)

    def __init__(self, terminal: Terminal, setting: Setting, shown: int) -> None:
        super().__init__(terminal, setting, shown)
        end = (
            "You are not told when it ends, and it ends when you do: look with command_output."
            if setting.child
            else "You are told when one in the background has ended."
        )
        self.description = (
            "Run a command with bash in the workspace, the only folder that is kept: /tmp is new "
            "each time. It has no keyboard. The directory and exported variables stay for your "
            "next reply; calls of one reply run side by side, from the same directory. You get "
            f"the exit code and the output, stdout and stderr together. {end}"
        )

    async def requested(self, call: Call) -> Requested:
        """Raises ToolError where it cannot be run."""
        arguments = self._arguments(call)
        await self._terminal.check(self._setting)
        shell = await self._terminal.shell(call, self._setting.home)
        command = arguments.command
        return Requested(
            command,
            command,
            in_words(shell),
            "shell",
            doubt=OWN_PROGRAMS if "PATH" in shell.environment else "",
            runs=self._how(self._seconds(arguments), background=arguments.background),
            folder=await FILE_THREADS.run(
                self._setting.address, partial(self._terminal.folder, self._setting.home, shell)
            ),
        )

    async def binding(self, call: Call) -> Callable[[], Bound]:
        command = self._arguments(call).command
        return (await self._terminal.named(call, self._setting.home, command)).look

    async def run(self, call: Call) -> Done:
        arguments = self._arguments(call)
        background = arguments.background
        wanted = Wanted(
            call,
            self._setting,
            self.name,
            arguments.command,
            self._seconds(arguments),
            background=background,
            keeps_shell=not background,
            shown=self._shown,
        )
        if background:
            return Done(_begun(await self._terminal.begin(wanted), child=self._setting.child))
        over = await self._terminal.run(wanted)
        text = telling.result(over.command, over.output, self._shown, over.left.notes)
        return Done(text, changed=over.changed)

    def _seconds(self, arguments: RunArguments) -> int:
        """Until it is ended."""
        if arguments.background:
            return arguments.timeout or BACKGROUND_SECONDS
        most = MOST_SECONDS_OF_CHILD if self._setting.child else MOST_SECONDS
        return min(arguments.timeout or SECONDS, most)

    def _arguments(self, call: Call) -> RunArguments:
        arguments = validate(RunArguments, call.arguments)
        _refuse_unless_runnable("command", arguments.command)
        return arguments


class CodeArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    code: str = Field(min_length=1, description="A program in Python 3, whole.")
    timeout: int = Field(
        default=SECONDS, ge=1, le=MOST_SECONDS, description="Seconds until it is ended."
    )


class ExecuteCode(_OfTerminal):
    name = "execute_code"
    description = (
        "Run a program in Python 3, in the directory of your commands, confined as they are. You "
        "get the exit code and what it printed; nothing stays but the files of the workspace."
    )
    parameters = CodeArguments.model_json_schema()
    traits = Traits(Effects.CHANGES, Toolset.CODE, needs_approval=True)

    async def requested(self, call: Call) -> Requested:
        """Raises ToolError where it cannot be run."""
        arguments = self._arguments(call)
        await self._terminal.check(self._setting)
        shell = await self._terminal.shell(call, self._setting.home)
        return Requested(
            arguments.code,
            arguments.code,
            in_words(shell),
            "python",
            runs=self._how(arguments.timeout),
            folder=await FILE_THREADS.run(
                self._setting.address, partial(self._terminal.folder, self._setting.home, shell)
            ),
        )

    async def binding(self, call: Call) -> Callable[[], Bound]:
        code = self._arguments(call).code
        return (await self._terminal.named(call, self._setting.home, code, python=True)).look

    async def run(self, call: Call) -> Done:
        arguments = self._arguments(call)
        python = await asyncio.to_thread(_python)
        if python is None:
            raise ToolError(
                f"there is no Python for programs: {' or '.join(PYTHONS)} must be there "
                "(apt-get install python3); nothing was done"
            )
        wanted = Wanted(
            call,
            self._setting,
            self.name,
            arguments.code,
            arguments.timeout,
            # Through a pipe: arguments stand in the list of processes.
            script=f'exec {python} -u - <<<"$1"',
            arguments=(arguments.code,),
            shown=self._shown,
        )
        over = await self._terminal.run(wanted)
        text = telling.result(over.command, over.output, self._shown, over.left.notes)
        return Done(text, changed=over.changed)

    def _arguments(self, call: Call) -> CodeArguments:
        arguments = validate(CodeArguments, call.arguments)
        _refuse_unless_runnable("code", arguments.code)
        return arguments


class OutputArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: int = Field(ge=1, description="Of a command in the background.")
    wait: int = Field(
        default=0, ge=0, le=MOST_WAIT, description="Seconds to wait for its end at most."
    )


class CommandOutput(_OfTerminal):
    name = "command_output"
    description = (
        "See what a command in the background has said so far, and whether it has ended; with "
        "`wait`, once it has."
    )
    parameters = OutputArguments.model_json_schema()
    traits = Traits(Effects.READS, Toolset.TERMINAL, repeatable=True)

    async def run(self, call: Call) -> Done:
        arguments = validate(OutputArguments, call.arguments)
        command = await _command(self._terminal, self._setting, call, arguments.id)
        going = self._terminal.going(command.id)
        if going is not None and arguments.wait:
            with suppress(TimeoutError):
                await asyncio.wait_for(going.over.wait(), arguments.wait)
        if going is not None and not going.over.is_set():
            since = time.time() - command.started
            return Done(telling.so_far(command, since, going.output, self._shown))
        if going is None and command.state is CommandState.RUNNING:
            shown = await self._terminal.elsewhere.until_over(command.id, arguments.wait)
            if shown is not None:
                since = time.time() - command.started
                return Done(telling.so_far_elsewhere(command, since, shown.tail))
        command = await _command(self._terminal, self._setting, call, command.id)
        return Done(await _afterwards(self._terminal, self._setting, command, self._shown))


class StopArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: int = Field(ge=1, description="Of a command in the background.")


class StopCommand(_OfTerminal):
    name = "stop_command"
    description = "End a command in the background, with all that it began."
    parameters = StopArguments.model_json_schema()
    traits = Traits(Effects.CHANGES, Toolset.TERMINAL, repeatable=True)

    async def run(self, call: Call) -> Done:
        arguments = validate(StopArguments, call.arguments)
        command = await _command(self._terminal, self._setting, call, arguments.id)
        going = self._terminal.going(command.id)
        if going is not None:
            await self._terminal.end(going, STOPPED)
        elif command.state is CommandState.RUNNING:
            await self._terminal.elsewhere.end_one(command, STOPPED)
        command = await _command(self._terminal, self._setting, call, command.id)
        return Done(await _afterwards(self._terminal, self._setting, command, self._shown))


def _begun(command: Command, *, child: bool) -> str:
    told = "" if child else " You are told when it ends."
    return f"It runs in the background as command {command.id}.{told}"


async def _command(terminal: Terminal, setting: Setting, call: Call, id_: int) -> Command:
    """A command in the background that the caller may see: a child its own, the parent all of its
    chat. Raises ToolError for every other."""
    command = await terminal.store.read(lambda tx: tx.commands.get(id_))
    own = command is not None and command.background and command.home == setting.home
    if command is None or not own or (setting.child and command.session != call.session):
        raise ToolError(f"there is no command {id_} in the background here; nothing was done")
    return command


async def _afterwards(terminal: Terminal, setting: Setting, command: Command, shown: int) -> str:
    """What there is to say of a command that has ended."""
    if command.state is CommandState.LOST:
        return f"[command {command.id}: {command.why}]"
    output = Output(1 << 30)
    if command.output:
        workspace = terminal.workspace(setting.home)
        with suppress(WorkspaceError):
            read = partial(workspace.read, command.output)
            output.add((await FILE_THREADS.run(command.address, read)).data)
    return telling.result(command, output, shown)


def _refuse_unless_runnable(what: str, text: str) -> None:
    length = len(text.encode(errors="surrogatepass"))
    if length > LONGEST_COMMAND:
        raise ToolError(
            f"{what}: {length:,} bytes are too many, at most {LONGEST_COMMAND:,}: write it to a "
            "file of the workspace and run that; nothing was done"
        )
    if "\0" in text or not text.strip():
        raise ToolError(f"{what}: {quote(text)} cannot be run; nothing was done")


def _python() -> str | None:
    return next((path for path in PYTHONS if Path(path).exists()), None)
