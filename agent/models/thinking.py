"""Thinking that a model writes into its text, between <think> and </think>. Pure.

R1, Qwen3, Nova and many local servers do so. A tag opens thinking only where a line of the answer
begins, outside fenced code: elsewhere it is text about tags. A block that is never closed is
thinking where nothing else came and the answer was cut off at its limit; otherwise it is given back
as text, so that no word of an answer is lost.
"""

import re
from collections.abc import Callable

_OPENS = ("<think>", "<thinking>")
_OPEN = re.compile(r"[ \t]*<think(?:ing)?>", re.IGNORECASE)
_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_LONGEST_CLOSE = len("</thinking>")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_KEPT_OF_LINE = 32
"""Characters of a line's beginning by which a fence is known."""


class ThinkingSplitter:
    """Fed with pieces of a text as they come; tells the text without the thinking in it.

    Held back is only thinking, and the beginning of a line that may still become a tag.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._held = ""
        self._thoughts: list[str] = []
        self._open: list[str] | None = None
        """The block that was opened and not closed: its tag, then its text."""
        self._line = ""
        """How the current line begins, as far as it was told; "" at its beginning."""
        self._fence = ""
        """What closes the code block that is open."""
        self._said = False
        self._skip_space = False
        """Thinking has just ended: the line breaks behind it belong to it."""

    @property
    def thoughts(self) -> str:
        return "\n\n".join(thought for thought in self._thoughts if thought)

    def feed(self, piece: str) -> None:
        self._held += piece
        while self._held and self._step():
            pass

    def end(self, *, cut: bool) -> None:
        """Nothing more will come. `cut`: the model stopped at its limit."""
        held, self._held = self._held, ""
        if self._open is None:
            self._say(held)
            return
        tag, *inner = self._open
        self._open = None
        text = "".join(inner) + held
        if self._said:
            self._say(tag + text)
        elif cut:
            self._thoughts.append(text.strip())
        else:
            self._say(text.strip())

    def _step(self) -> bool:
        """Whether something was taken from what is held, so that there may be more to take."""
        if self._open is not None:
            return self._inside(self._open)
        if self._skip_space:
            self._held = self._held.lstrip()
            self._skip_space = not self._held
            return bool(self._held)
        if not self._line and not self._fence:
            if (found := _OPEN.match(self._held)) is not None:
                self._open = [found[0]]
                self._held = self._held[found.end() :]
                return True
            if self._may_become_tag():
                return False
        return self._along_line()

    def _inside(self, block: list[str]) -> bool:
        found = _CLOSE.search(self._held)
        if found is None:
            keep = max(0, len(self._held) - _LONGEST_CLOSE)
            block.append(self._held[:keep])
            self._held = self._held[keep:]
            return False
        self._thoughts.append(("".join(block[1:]) + self._held[: found.start()]).strip())
        self._held = self._held[found.end() :]
        self._open, self._skip_space = None, True
        return True

    def _may_become_tag(self) -> bool:
        begun = self._held.lstrip(" \t").casefold()
        return any(tag.startswith(begun) for tag in _OPENS)

    def _along_line(self) -> bool:
        text, newline, self._held = self._held.partition("\n")
        self._line = (self._line + text)[:_KEPT_OF_LINE]
        self._say(text + newline)
        if newline:
            self._end_line()
        return True

    def _end_line(self) -> None:
        found = _FENCE.match(self._line)
        self._line = ""
        if found is not None and not self._fence:
            self._fence = found[1]
        elif found is not None and found[1].startswith(self._fence):
            self._fence = ""

    def _say(self, text: str) -> None:
        if text:
            self._said = self._said or bool(text.strip())
            self._tell(text)


def split_thinking(text: str, *, cut: bool) -> tuple[str, str]:
    """A whole text without the thinking in it, and the thinking."""
    said: list[str] = []
    splitter = ThinkingSplitter(said.append)
    splitter.feed(text)
    splitter.end(cut=cut)
    return "".join(said), splitter.thoughts
