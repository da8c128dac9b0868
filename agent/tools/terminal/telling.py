"""What agents are told of a command. Pure."""

from agent.text.sizing import share, tail
from agent.text.untrusted import visible
from agent.tools.terminal.sandbox.output import Output, readable, shown_of
from storage.records.tools.commands import Command, CommandState

SHOWN = 30_000
"""Bytes of output at most that go to a model."""
_SHARE = 8
"""It is at most this part of the context window."""
TOLD = 2_000
"""Bytes of the output's end that an event holds."""
_LINE = 300
_LOOKED_AT = 8 * TOLD


def shown_for(window: int | None) -> int:
    """Bytes of output for a model with this context window, in tokens."""
    return share(window, _SHARE, SHOWN)


def result(command: Command, output: Output, shown: int, notes: tuple[str, ...] = ()) -> str:
    """What the model reads of a command that has ended."""
    return f"{how_it_ended(command, notes)}\n{what_it_said(command, output, shown)}"


def how_it_ended(command: Command, notes: tuple[str, ...] = ()) -> str:
    """One line; how it begins is read by handoffs."""
    status = "not known" if command.status is None else str(command.status)
    parts = [f"exit code: {status}"]
    if command.ended is not None:
        parts.append(f"after {command.ended - command.started:.1f} s")
    if command.why:
        parts.append(f"ended because {command.why}")
    return "; ".join([", ".join(parts), *notes])


def what_it_said(command: Command, output: Output, shown: int) -> str:
    rest = f"all of it is in {command.output}" if command.output else "the rest was not kept"
    text = shown_of(output, shown, rest)
    return text if text.strip() else "[no output]"


def so_far(command: Command, seconds: float, output: Output, shown: int) -> str:
    """What the model reads of a command that runs."""
    said = shown_of(output, shown, "it is kept, and written to a file at the end")
    return f"[command {command.id} runs since {seconds:.0f} s]\n{said or '[no output yet]'}"


def so_far_elsewhere(command: Command, seconds: float, said: str) -> str:
    """The same of one that another process runs, of which the end of what it said is known."""
    return f"[command {command.id} runs since {seconds:.0f} s]\n{said.strip() or '[no output yet]'}"


def event_text(command: Command, output: Output | None) -> str:
    """What the model reads when a command in the background has ended; `output` is None where it
    was lost."""
    line = " ".join(visible(command.line).split())
    line = line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"
    parts = [f"You began it in the background: {line}", how_it_ended(command)]
    if command.state is CommandState.LOST:
        parts[1] = f"It did not end by itself: {command.why}"
    if output is not None:
        end = output.whole()[-_LOOKED_AT:]
        last = tail(readable(end), TOLD).strip("\n")
        if last:
            whole = output.total <= TOLD
            cut = "" if whole else f", the last part (all of it is in {command.output})"
            parts.append(f"It said{cut}:\n{last}")
        else:
            parts.append("It said nothing.")
    return "\n".join(parts)
