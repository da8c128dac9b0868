"""The seam between what happens and who counts it. Told on the event loop, in no time, and never
raises."""

from typing import Protocol

from storage.news import Committed


class Observer(Protocol):
    """Names are any; who counts by them keeps them to those that are known. Durations are in
    seconds."""

    def turn_began(self) -> None: ...

    def turn_ended(self, kind: str, outcome: str, took: float, waited: float) -> None:
        """`kind` of its inbox row; `waited`: since that came, until the turn began."""
        ...

    def call_began(self) -> None:
        """A model is called."""
        ...

    def call_ended(self, tier: str, outcome: str, took: float) -> None:
        """`tier`: the name of the model's entry; `outcome`: "ok", "cancelled", "failed", or the
        kind of its ModelError."""
        ...

    def attempt_failed(self, tier: str, kind: str) -> None:
        """Of one call, maybe of several that are made for one answer."""
        ...

    def tool_ran(self, tool: str, toolset: str | None, outcome: str) -> None: ...

    def delivered(self, platform: str, waited: float) -> None:
        """A row of the outbox is with its platform; `waited`: since it was put there."""
        ...

    def put_aside(self, platform: str) -> None:
        """A row of the outbox will never be taken."""
        ...

    def sent_again(self, platform: str, reason: str) -> None:
        """A try to send it failed, and another is made."""
        ...

    def throttled(self, platform: str) -> None:
        """A platform said that we are too fast."""
        ...

    def refused(self, platform: str) -> None:
        """Somebody who may not talk said or pressed something."""
        ...

    def committed(self, news: Committed) -> None: ...


class Unobserved:
    """Nobody counts."""

    def turn_began(self) -> None:
        pass

    def turn_ended(self, kind: str, outcome: str, took: float, waited: float) -> None:
        pass

    def call_began(self) -> None:
        pass

    def call_ended(self, tier: str, outcome: str, took: float) -> None:
        pass

    def attempt_failed(self, tier: str, kind: str) -> None:
        pass

    def tool_ran(self, tool: str, toolset: str | None, outcome: str) -> None:
        pass

    def delivered(self, platform: str, waited: float) -> None:
        pass

    def put_aside(self, platform: str) -> None:
        pass

    def sent_again(self, platform: str, reason: str) -> None:
        pass

    def throttled(self, platform: str) -> None:
        pass

    def refused(self, platform: str) -> None:
        pass

    def committed(self, news: Committed) -> None:
        pass
