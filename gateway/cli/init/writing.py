"""Writing a file of ours: whole or not at all, for this user alone, and over no other file unless
that was wanted."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from gateway.errors import InitEnded

Value = str | tuple[str, ...]
Keys = dict[str, Value]
Sections = Mapping[str, Mapping[str, Value]]
"""Name of a section → its keys."""

HEAD = "# Written by bough init. gateway/README.md lists all keys; bough doctor tries them.\n"


def toml(sections: Sections) -> str:
    return HEAD + "".join(_section(name, keys) for name, keys in sections.items() if keys)


def _section(name: str, keys: Mapping[str, Value]) -> str:
    lines: Iterator[str] = (f"{key} = {_value(value)}\n" for key, value in keys.items())
    return f"\n[{name}]\n{''.join(lines)}"


def _value(value: Value) -> str:
    """JSON's strings and lists of strings are TOML's too, but for one character."""
    written = json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)
    return written.replace("\x7f", "\\u007f")


def write(file: Path, text: str, *, overwrite: bool, mode: int = 0o600) -> None:
    """InitEnded where it cannot be written, or is there though it was not a moment ago."""
    file = Path(os.path.realpath(file))  # a link stays one
    try:
        number, name = tempfile.mkstemp(prefix=".bough-", dir=file.parent)
        beside = Path(name)
        try:
            with os.fdopen(number, "w", encoding="utf-8", newline="\n") as out:
                out.write(text)
                out.flush()
                os.fchmod(out.fileno(), mode)
                os.fsync(out.fileno())
            if overwrite:
                beside.replace(file)
            else:
                file.hardlink_to(beside)  # which, unlike a rename, takes no other file's place
        finally:
            beside.unlink(missing_ok=True)
    except FileExistsError:
        raise InitEnded(f"{file} is there by now; nothing was changed. Start again.") from None
    except OSError as error:
        why = (error.strerror or "the system does not say why").lower()
        raise InitEnded(
            f"{file} cannot be written: {why}; name another place with --config"
        ) from error
