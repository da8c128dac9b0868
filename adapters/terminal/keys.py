"""A line that is being typed, key by key. Pure."""

import re
from dataclasses import dataclass

from adapters.terminal.screen import printable

END = "\x04"
"""Ctrl-D: on an empty line, the end of the input."""

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O]|\Z)", re.DOTALL)
"""Arrows and the like, which are one key and several characters."""
_LAST_WORD = re.compile(r"\S*\s*\Z")


@dataclass(slots=True)
class Line:
    text: str = ""
    ended: bool = False

    def type(self, keys: str) -> list[str]:
        """Take keys as the terminal sends them; the lines that they end."""
        lines: list[str] = []
        for key in _SEQUENCES.sub("", keys):
            match key:
                case "\r" | "\n":
                    lines.append(self.text)
                    self.text = ""
                case "\x7f" | "\b":
                    self.text = self.text[:-1]
                case "\x15":  # Ctrl-U
                    self.text = ""
                case "\x17":  # Ctrl-W
                    self.text = _LAST_WORD.sub("", self.text)
                case "\t":
                    self.text += " "
                case _ if key == END and not self.text:
                    self.ended = True
                    break
                case _:
                    self.text += printable(key)
        return lines
