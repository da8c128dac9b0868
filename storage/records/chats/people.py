"""Who was let in from a chat, and who asks to be: rights that stand beside those of the file."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Role(Enum):
    """Each may do what those before it may."""

    MEMBER = "member"
    """Talks."""
    APPROVER = "approver"
    """Decides too."""
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class RightDraft:
    identity: str
    name: str
    """What they called themselves; untrusted text."""
    role: Role
    until: float | None
    """Unix seconds at which it ends by itself; None: never."""
    by: str
    """Identity of who gave it; "" for whoever started the bot, by its owner code."""


@dataclass(frozen=True, slots=True)
class Right:
    identity: str
    name: str
    role: Role
    since: float
    """Unix seconds; those of the first right where one took another's place."""
    until: float | None
    by: str

    def holds(self, now: float) -> bool:
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """A stranger asks to be let in, and gets a code."""

    identity: str
    name: str
    salt: str
    digest: str
    """Of the code with the salt: the code itself is kept nowhere."""
    expires: float
    """Unix seconds at which the code is void. The request stays."""


@dataclass(frozen=True, slots=True)
class PairingRequest:
    identity: str
    name: str
    salt: str
    digest: str
    """"" where the code is void."""
    expires: float
    asked: float
    """Unix seconds: the first time."""
    ignored: bool


class Rights(Protocol):
    def all(self) -> list[Right]:
        """Oldest first, those whose time is over among them."""
        ...

    def get(self, identity: str) -> Right | None: ...

    def give(self, draft: RightDraft) -> Right:
        """It takes the place of the one that they had."""
        ...

    def take(self, identity: str) -> Right | None:
        """Take it back, and give it; None where they had none."""
        ...


class Requests(Protocol):
    def ask(self, draft: RequestDraft, most: int) -> bool:
        """Keep a request, with a new code where there was one; True where it is new. Of more than
        `most`, the oldest go."""
        ...

    def get(self, identity: str) -> PairingRequest | None: ...

    def all(self) -> list[PairingRequest]:
        """Newest first."""
        ...

    def void(self, identity: str) -> None:
        """Make its code void."""
        ...

    def ignore(self, identity: str) -> None:
        """Keep it, so that nobody hears of it again; its code is void."""
        ...

    def close(self, identity: str) -> PairingRequest | None:
        """Forget it, and give it; None where there is none."""
        ...

    def lapse(self, before: float) -> None:
        """Forget those that were first made before a time."""
        ...
