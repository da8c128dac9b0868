"""Small handoffs to test with."""

from typing import Any

from agent.delegation.handoff.model import (
    Handoff,
    Read,
    parse_handoff,
)
from agent.tools.files.workspace import FileState
from storage.records.entries import Json

STATE = FileState(5, 1, 2)
SEED: Json = {
    "read_files": ["src/X.py", "src/Y.py"],
    "ran_commands": [{"cmd": "pytest -k X", "rc": 1, "tail": "E   ImportError: Y"}],
    "probe_results": {"grep Y": "3 hits in src/"},
    "dead_ends": ["tried monkey-patching at module level, reverted"],
}


def parsed(**given: Any) -> Handoff:
    made = parse_handoff(given)
    assert made is not None
    return made


def has(**files: str) -> Read:
    """Reads these; a name's "_" stands for its dot."""
    named = {name.replace("_", "."): text for name, text in files.items()}
    return lambda path: (named[path], STATE) if path in named else f"{path}: there is no such file"
