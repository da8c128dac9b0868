"""What a table is written in, as a plain value: an object, a list, or text, in a code block or not.
Pure."""

import json
import re
from collections.abc import Iterable, Mapping

from agent.text.mending import Mending
from agent.text.untrusted import Pairs, PlainError, kind_of, plain, quote, read_text

MAX_BYTES = 65_536
"""UTF-8 bytes of a table's text, or of its JSON."""
SHOWN_FAULTS = 8

_WRAPPER = "branch_table"
_TASK_KEYS = ("goal", "context")
"""What may stand beside a wrapped table and is not read: the rest of the task it belongs to."""
_TABLE_KEYS = ("conditions", "default", "escalation_model", "max_escalation_depth")
_BLOCK = re.compile(r"\s*```[\w-]*[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)


class TableError(ValueError):
    """The table cannot be used. The text is for the model that wrote it: each fault and its place,
    SHOWN_FAULTS of them at most."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(dict.fromkeys(faults))
        shown = "; ".join(self.faults[:SHOWN_FAULTS])
        hidden = len(self.faults) - SHOWN_FAULTS
        super().__init__(shown + (f"; and {hidden} more" if hidden > 0 else ""))


def load(source: object, mending: Mending) -> object:
    """The source as a plain value, out of its wrapper, with its small faults noted. TableError
    where nothing is left that could be read any further."""
    try:
        source = _read(_unwrapped(_read(source, mending), mending), mending)
        if isinstance(source, list | tuple) and not isinstance(source, Pairs):
            source = {"conditions": source}
        value, small = plain(source)
    except PlainError as error:
        raise TableError([str(error)]) from None
    mending.faults += small
    check_size(value)
    return value


def check_size(value: object) -> None:
    _check_bytes(len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()))


def _check_bytes(size: int) -> None:
    if size > MAX_BYTES:
        raise TableError([f"{size:,} bytes are too many; a table has at most {MAX_BYTES:,}"])


def _read(source: object, mending: Mending) -> object:
    if not isinstance(source, str):
        return source
    _check_bytes(len(source.encode(errors="replace")))
    block = _BLOCK.fullmatch(source)
    if block is not None:
        mending.warn("", "the code block around the table was taken off")
    return read_text(source if block is None else block[1])


def _unwrapped(source: object, mending: Mending) -> object:
    if not isinstance(source, Mapping | Pairs):
        return source
    pairs = list(source.items() if isinstance(source, Mapping) else source)
    inner = [value for key, value in pairs if key == _WRAPPER]
    if not inner:
        return source
    if len(inner) > 1:
        mending.faults.append(f"the key {_WRAPPER!r} stands twice")
    for key, _ in pairs:
        what = quote(key) if isinstance(key, str) else kind_of(key)
        if key in _TABLE_KEYS or not isinstance(key, str):
            mending.faults.append(f"{what} stands beside {_WRAPPER!r}; move it into the table")
        elif key not in (_WRAPPER, *_TASK_KEYS):
            mending.warn("", f"unknown key {what} beside {_WRAPPER!r} is ignored")
    return inner[0]
