"""What a commit did that is worth a count. A commit that failed did nothing, and one that was tried
twice did it once: so what is counted of it is what is in the database."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Happened:
    what: Literal["question", "delegation", "command"]
    came_to: str
    """Of a question "asked", or the state that it was closed into; of a delegation "started", or
    the state that it came to; of a command that ended "ok", "failed", "stopped" or "lost"."""
    kind: str = ""
    """Of a question: what asks."""
