"""A fault with its cure."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    subject: str
    text: str
    """What is wrong."""
    cure: str
    """What to do about it; what was done, where it was mended."""
    mend: Callable[[], Awaitable[None]] | None = None
    """Does that; None where it is not safe, or not ours. Raises OSError or an AdapterError."""
