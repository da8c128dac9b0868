"""Buttons that are commands: they stay valid until one of their message is pressed."""

from dataclasses import dataclass, field

from storage.records.entries import Json


@dataclass(frozen=True, slots=True)
class MenuButton:
    token: str
    address: str
    """Where it was posted. A press from anywhere else is forged."""
    outbox: int
    """The outbox row whose message it hangs on."""
    label: str
    command: str
    """What a press does: a command as a person would type it, without the slash, or an action's
    name."""
    by: str = ""
    """Identity of who alone may press it; "" for everybody who may give commands."""
    subject: Json = field(default_factory=dict)
    """An action's payload, and what the button is about."""
    used: str = ""
    """Who pressed a button of this message, and what; "" while it is valid."""
