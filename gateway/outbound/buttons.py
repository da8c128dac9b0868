"""Messages with buttons that are commands or actions: lists to choose from, pages, ways back.

A press runs a command as if the presser had typed it, and what it answers takes the message's
place. All buttons of a message are used up by the first press.
"""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from adapters.base import Button
from adapters.events import Conversation, Press
from agent.text.markdown import escape
from gateway.access.roles import Access
from gateway.outbound.choices import told
from gateway.outbound.composer import Composer
from storage.records.buttons import MenuButton
from storage.records.entries import Json
from storage.records.inbox_outbox import OutboxDraft
from storage.store import Transaction


def same_place(address: str, press: Press) -> bool:
    """Whether a button that was posted to an address may be pressed there. A direct message to a
    person is addressed by the person and pressed in a channel; a press on an old message of a
    Telegram topic does not say which topic."""
    here = press.conversation
    personal = f"{press.user.platform}:user:{press.user.id}"
    whole_chat = address.partition("/")[0] if not here.thread else ""
    return here.address in (address, whole_chat) or address == personal


def place_of(address: str, press: Press) -> Conversation:
    """The conversation that a press is in, where `same_place` holds: the topic of its button, where
    the press does not say it."""
    here = press.conversation
    is_in_it = here.address == address.partition("/")[0]
    return Conversation.parse(address) if is_in_it else here


UNKNOWN = "This button is not valid any more."
DENIED = "This button is not yours to press."


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A button of a menu."""

    label: str
    command: str
    """What a press does: a command as a person would type it, without the slash ("goto #12"), or
    an action by its name ("back")."""
    style: str = "plain"
    beside: bool = False
    """On the same row as the one before it."""
    subject: Json = field(default_factory=dict)
    """An action's payload; as "tree", the session that the button is about."""
    whole: str = ""
    """What the button stands for, in full, where people named it: its label may be cut, or be the
    same as another's."""


def distinct(
    composer: Composer, address: str, text: str, items: Sequence[MenuItem]
) -> tuple[str, list[MenuItem]]:
    """A message with buttons of which nobody takes one for another."""
    named = [item for item in items if item.whole]
    offer = composer.offer(address, [item.label for item in named], [item.whole for item in named])
    labels = iter(offer.labels)
    shown = [replace(item, label=next(labels)) if item.whole else item for item in items]
    return told(text, offer.listing), shown


@dataclass(frozen=True, slots=True)
class Menus:
    composer: Composer
    access: Access

    def send(
        self,
        tx: Transaction,
        parcels: Sequence[OutboxDraft],
        items: Sequence[MenuItem],
        *,
        private: bool,
        by: str = "",
    ) -> None:
        """Enqueue parcels, with the items as buttons on the last one. `by`: who alone may press;
        `private`: whether the conversation is."""
        tokens = [secrets.token_urlsafe(18) for _ in items]
        for parcel in parcels[:-1]:
            tx.outbox.enqueue(parcel)
        last = parcels[-1]
        if items:
            buttons = [
                asdict(Button(item.label, token, item.style, item.beside))
                for item, token in zip(items, tokens, strict=True)
            ]
            last = replace(last, payload={**last.payload, "buttons": buttons})
        row = tx.outbox.enqueue(last)
        message = last.edits if last.edits is not None else row.id
        for item, token in zip(items, tokens, strict=True):
            subject = {**item.subject, "private": private}
            tx.menus.put(
                MenuButton(token, last.address, message, item.label, item.command, by, subject)
            )

    def press(
        self, tx: Transaction, button: MenuButton, press: Press, *, busy: str = ""
    ) -> str | None:
        """Use a message's buttons up; what the presser is told where the command is not to be
        run, else None. `busy`: why it cannot be run now, so that the buttons stay."""
        who = press.user.identity
        if not same_place(button.address, press):
            tx.directory.audit("forged press", who, {"token": press.token[:80]})
            return UNKNOWN
        if not self.access.may_command(who):
            return DENIED
        if button.by not in ("", who) and not self.access.is_owner(who):
            return DENIED
        if tx.outbox.get(button.outbox).message_id is None and press.message_id:
            tx.outbox.sent(button.outbox, press.message_id)  # a crash kept it from being recorded
        if busy and not button.used:
            return busy
        # Another menu may stand in the message's place by now: its buttons are still to be used.
        used = f"{escape(press.user.name)}: {escape(button.label)}"
        if button.used or not tx.menus.use(button.outbox, used):
            return f"Already done. {button.used}"
        return None
