"""Loading what the first model call needs, which takes seconds, beside everything else."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass
class Loading:
    load: Callable[[], Awaitable[None]] | None = None
    """None where nothing need be loaded."""
    _done: bool = field(default=False, init=False)

    async def run(self) -> None:
        if self.load is not None:
            await self.load()
            self._done = True

    @property
    def said(self) -> str:
        """What the log says of it; "" where there is nothing to say."""
        if self.load is None:
            return ""
        return "models loaded" if self._done else "models loading"
