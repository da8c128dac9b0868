"""Commands that agents run, as people read them."""

from collections.abc import Sequence

from agent.text.formats import age
from agent.text.markdown import bounded, escape
from agent.tools.terminal.commands import Seen

LINES = 5
"""Commands that are shown."""


def commands_text(running: Sequence[Seen], now: float) -> str:
    """A line for each of the first that run, with the last line of its output; "" for none."""
    lines = [_line(one, now) for one in running[:LINES]]
    left = len(running) - len(lines)
    return "\n".join([*lines, f"… and {left} more"] if left else lines)


def _line(one: Seen, now: float) -> str:
    where = " · in the background" if one.background else ""
    text = f"⚙️ {escape(bounded(one.line, 80))}{where} · {age(now - one.since)}"
    return f"{text} · {escape(bounded(one.last_line, 100))}" if one.last_line else text
