"""How large workspaces are, for `bough doctor`: the largest first, and what is over its quota."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.settings import ToolsConfig, resolve_template
from agent.tools.files.workspace import shown
from agent.tools.terminal.sandbox.limits import Limits, fitted
from agent.tools.terminal.sandbox.quota import Quotas, Stored, in_words, measured

SECONDS = 5.0
"""For all of them together."""
_NAMED = 5
_FIELD = "{session}"


@dataclass(frozen=True, slots=True)
class Found:
    folder: Path
    stored: Stored
    over: str
    """Why it takes too much; "" where it does not."""


def look_at_workspaces(tools: ToolsConfig, seconds: float = SECONDS) -> tuple[bool, str]:
    """Whether all is well, and what there is to say; nothing to say where there is none. Blocks."""
    until = time.monotonic() + seconds
    found, quotas, left_out = [], Quotas(tools.workspace_quota), 0
    for folder in _folders(tools.workspace):
        left = until - time.monotonic()
        if left <= 0:
            left_out += 1
            continue
        try:
            stored = measured(folder.resolve(), left)
        except OSError as error:
            stored = Stored(unseen=f"{folder}: {error.strerror}")
        found.append(Found(folder, stored, "" if _cut(until) else quotas.why_over(stored)))
    if not found:
        return True, ""
    text = _sizes(found, tools.workspace_quota)
    if left_out or _cut(until):
        more = f"{left_out:,} more were not looked at, " if left_out else ""
        text += f"; {more}and sizes are at least these: the time of {seconds:g} s was over"
    over = [f"{shown(str(one.folder))}: {one.over}" for one in found if one.over]
    short = _short(found[0].folder)
    faults = ([short] if short else []) + over[:_NAMED]
    return not faults, "; ".join([text, *faults])


def _folders(template: str) -> Iterator[Path]:
    """Those of sessions, as the template names them; no link is followed to them."""
    if _FIELD not in template:
        root = resolve_template(template, 0)
        yield from [root] if root.is_dir() else []
        return
    above, _, below = template.partition(_FIELD)
    head, prefix = os.path.split(above)
    suffix = below.partition("/")[0]
    try:
        names = sorted(item.name for item in os.scandir(head or ".") if item.is_dir())
    except OSError:
        return
    for name in names:
        number = name.removeprefix(prefix).removesuffix(suffix)
        if not number.isdecimal() or name != f"{prefix}{number}{suffix}":
            continue
        of_session = resolve_template(template, int(number))
        if of_session.is_dir():
            yield of_session


def _cut(until: float) -> bool:
    return time.monotonic() > until


def _sizes(found: list[Found], quota: int | None) -> str:
    largest = sorted(found, key=lambda one: -one.stored.size)
    each = "no quota" if quota is None else f"{in_words(quota)} each at most"
    named = ", ".join(
        f"{shown(str(one.folder))} {in_words(one.stored.size)}" for one in largest[:_NAMED]
    )
    total = in_words(sum(one.stored.size for one in found))
    takes = "1 takes" if len(found) == 1 else f"{len(found):,} take"
    return f"{takes} {total} on the disk ({each}); the largest: {named}"


def _short(folder: Path) -> str:
    _, short = fitted(Limits(), folder)
    return "their disk is almost full, so commands may write no files: make room" if short else ""
