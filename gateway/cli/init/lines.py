"""Asking line by line: in a terminal of any kind, over ssh, from a pipe. Nothing is drawn, and no
key but Enter is needed."""

import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from agent.text.suggestion import did_you_mean
from gateway.errors import InitEnded
from gateway.logs import without_secrets
from storage.json_text import clean

LONGEST = 10_000
"""Characters of one line."""
YES_OR_NO: Mapping[str, bool] = {"y": True, "yes": True, "n": False, "no": False}


def say(text: str = "") -> None:
    """To standard output, without any secret, whatever its encoding takes. InitEnded where nobody
    reads it."""
    _show(f"{text}\n")


def _show(text: str) -> None:
    try:
        encoding = sys.stdout.encoding or "ascii"
        sys.stdout.write(without_secrets(text).encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        raise InitEnded("standard output cannot be written to; run it in a terminal") from error


def ask(question: str, default: str = "", *, secret: bool = False) -> str:
    """One line, without spaces around it; the default where it is empty. What is secret is not
    shown while it is typed. InitEnded where there are no more lines."""
    shown = f" [{default}]" if default and not secret else ""
    with _unseen(secret):
        _show(f"{question}{shown}: ")
        line = _line()
    if secret or not sys.stdin.isatty():
        say()  # nobody's Enter moved the cursor on
    if not line:
        raise InitEnded("the answers ended before the questions did; nothing was written")
    return clean(line).strip() or default


def _line() -> str:
    """The next line; of one that is too long, the beginning: its rest is no answer to what is asked
    next."""
    try:
        line = rest = sys.stdin.readline(LONGEST)
        while len(rest) == LONGEST and not rest.endswith("\n"):
            rest = sys.stdin.readline(LONGEST)
    except (OSError, ValueError) as error:
        raise InitEnded("standard input cannot be read") from error
    return line


def confirm(question: str, *, default: bool) -> bool:
    while True:
        answer = ask(f"{question} ({'Y/n' if default else 'y/N'})").lower()
        if not answer:
            return default
        if answer in YES_OR_NO:
            return YES_OR_NO[answer]
        say("Please answer y or n.")


def choose(question: str, names: Sequence[str], default: int = 0) -> str:
    """One of the names, by its number or itself."""
    for number, name in enumerate(names, start=1):
        say(f"  {number}  {name}")
    while True:
        answer = ask(question, str(default + 1)).lower()
        if answer.isascii() and answer.isdigit() and 0 < int(answer[:9]) <= len(names):
            return names[int(answer[:9]) - 1]
        if answer in names:
            return answer
        say(f"That is none of them.{did_you_mean(answer, names)} Type a number.")


@contextmanager
def _unseen(wanted: bool) -> Iterator[None]:
    """Without echo, where standard input is a terminal."""
    if not (wanted and sys.stdin.isatty()):
        yield
        return
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    quiet = termios.tcgetattr(number)
    quiet[3] &= ~termios.ECHO
    try:
        termios.tcsetattr(number, termios.TCSADRAIN, quiet)
        yield
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
