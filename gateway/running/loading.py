"""Loading what the first model call needs, which takes seconds, beside everything else."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

log = logging.getLogger(__name__)


LOADING = "models loading"


@dataclass
class Loading:
    load: Callable[[], Awaitable[None]] | None = None
    """None where nothing need be loaded. ImportError, saying what to do, where it is not there."""
    _state: str = field(default=LOADING, init=False)

    async def run(self) -> None:
        if self.load is None:
            return
        try:
            await self.load()
        except ImportError as error:
            # Commands, buttons and decisions need no model; a message is answered with the same.
            log.error("no model can be asked: %s", error)
            self._state = "models missing"
        else:
            self._state = "models loaded"

    @property
    def ready(self) -> bool:
        """Whether nothing is loaded any more: where models are missing, commands are answered."""
        return self.load is None or self._state != LOADING

    @property
    def said(self) -> str:
        """What the log says of it; "" where there is nothing to say."""
        return "" if self.load is None else self._state
