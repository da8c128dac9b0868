"""What an agent's command leaves to its next one: a directory and what was exported. Pure.

A command says it itself at its end, so that it is untrusted: bounded, and never more than a start.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent.settings import MOST_VARIABLE_BYTES, MOST_VARIABLES, SHELLS_OWN, VARIABLE
from agent.tools.terminal.sandbox.process import BEGAN
from storage.json_text import clean
from storage.records.tools.commands import Shell


@dataclass(frozen=True, slots=True)
class Left:
    """What a command left, as far as it is kept."""

    shell: Shell
    notes: tuple[str, ...] = ()
    """What is not kept, for the model."""


def left(said: bytes, root: str, base: Mapping[str, str], before: Shell) -> Left:
    """Read what a command said at its end, which is cut where it was too much. `root`: the
    workspace, absolute; `base`: what every command is given; `before`: what it began with. Where
    it said nothing, everything is as before."""
    directory, *pairs = said.removeprefix(BEGAN).split(b"\0")
    if not said.startswith(BEGAN) or not pairs:
        return Left(before)
    if len(pairs) < 2 or pairs[-1]:
        return Left(before, ("directory and exports are as before it: it exported too much",))
    notes = []
    inside = _inside(directory, root)
    if inside is None:
        notes.append("the next command starts where this one did: cd led out of the workspace")
        inside = before.directory
    exported = _exported(pairs[:-1], base)
    if (
        len(exported) > MOST_VARIABLES
        or sum(map(len, (*exported, *exported.values()))) > MOST_VARIABLE_BYTES
    ):
        notes.append("what was exported is not kept: it is too much")
        exported = dict(before.environment)
    return Left(Shell(inside, exported), tuple(notes))


def _inside(directory: bytes, root: str) -> str | None:
    try:
        path = PurePosixPath(directory.decode())
        relative = str(path.relative_to(root))
    except ValueError:
        return None
    if ".." in path.parts or clean(relative) != relative:
        return None
    return "" if relative == "." else relative


def _exported(pairs: list[bytes], base: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, _, value = pair.decode(errors="replace").partition("=")
        if VARIABLE.fullmatch(name) and not SHELLS_OWN.fullmatch(name) and base.get(name) != value:
            found[name] = clean(value)
    return found


def in_words(shell: Shell) -> str:
    """Where a command begins and what it is given besides, for people: all that earlier commands
    leave to it, which may make it another than it seems."""
    place = f"{shell.directory} in the workspace" if shell.directory else "the workspace"
    exported = (
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in sorted(shell.environment.items())
    )
    return ", with ".join([place, *exported])
