"""A handoff as a child reads it: fenced text in its first message, commands as calls made. Pure.

Files, outputs and results may hold anything. They stand in fences that nothing in them can close.
"""

import json

from agent.delegation.handoff.model import HandedCommand, Hydrated, HydratedFile, Probe
from agent.text.fencing import UNTRUSTED, fence
from storage.records.entries import Json, message

TERMINAL = "run_command"
"""The tool whose calls the handed commands look like."""

_INTRODUCTION = f"""\
Who gave you this task has looked at the following already. Use it; do not read or run again what \
stands here, unless it may have changed. {UNTRUSTED}"""
_FILES = "Files:"
_PROBES = "Found out:"
_DEAD_ENDS = "Do not retry. This was tried and did not work:"
_CUTS = "Left out of the handoff:"
_COMMANDS = "Commands that were run already, with their results:"

FRAME = "\n\n".join([_INTRODUCTION, _FILES, _PROBES, _DEAD_ENDS, _CUTS, _COMMANDS, ""])
"""Everything that the texts of a handoff say beside its items, at the most."""


def first_message(hydrated: Hydrated, *, commands: bool = False) -> str:
    """The block for the child's first message, with the commands only where they are asked for;
    "" where there is nothing."""
    blocks = [
        _section(_FILES, [file_text(file) for file in hydrated.files]),
        _section(_PROBES, [probe_text(probe) for probe in hydrated.probes]),
        _section(_DEAD_ENDS, [item_text(text) for text in hydrated.dead_ends]),
        _section(_CUTS, [item_text(text) for text in hydrated.cuts]),
        commands_block(hydrated) if commands else "",
    ]
    given = [block for block in blocks if block]
    return "\n\n".join([_INTRODUCTION, *given]) if given else ""


def commands_block(hydrated: Hydrated) -> str:
    """The commands as text, for providers that refuse calls of tools that are not offered."""
    return _section(_COMMANDS, [command_text(command) for command in hydrated.commands])


def history(hydrated: Hydrated) -> list[Json]:
    """The commands as calls made already: one assistant message, then a result for each call.

    Empty where there are no commands. Call ids are "handoff_1", "handoff_2" …
    """
    if not hydrated.commands:
        return []
    numbered = [(f"handoff_{n}", c) for n, c in enumerate(hydrated.commands, start=1)]
    calls = [call_of(id_, command) for id_, command in numbered]
    results = [result_of(id_, command) for id_, command in numbered]
    return [message("assistant", None, tool_calls=calls), *results]


def call_of(id_: str, command: HandedCommand) -> Json:
    arguments = json.dumps({"command": command.cmd}, ensure_ascii=False)
    return {"id": id_, "type": "function", "function": {"name": TERMINAL, "arguments": arguments}}


def result_of(id_: str, command: HandedCommand) -> Json:
    content = f"{_exit_line(command)}\n{command.tail}".rstrip("\n")
    return message("tool", content, tool_call_id=id_, name=TERMINAL)


def command_text(command: HandedCommand) -> str:
    return fence("command", f"$ {command.cmd}\n{_exit_line(command)}\n{command.tail}".rstrip("\n"))


def file_text(file: HydratedFile) -> str:
    note = {"note": file.note} if file.note else {}
    return fence("file", file.text, path=file.path, **note)


def probe_text(probe: Probe) -> str:
    return fence("result", probe.result, of=probe.probe)


def item_text(text: str) -> str:
    """One item of a list, further lines indented below it."""
    return "- " + text.strip().replace("\n", "\n  ")


def _exit_line(command: HandedCommand) -> str:
    return f"exit code: {'not known' if command.rc is None else command.rc}"


def _section(title: str, items: list[str]) -> str:
    return "\n".join([title, *items]) if items else ""
