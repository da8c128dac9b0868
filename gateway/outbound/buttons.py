"""Buttons on messages: their places, their tokens, and menus.

The buttons of a menu are commands or actions: lists to choose from, pages, ways back. A press runs
a command as if the presser had typed it, and what it answers takes the message's place. All buttons
of a message are used up by the first press.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from adapters.base import Button
from adapters.events import Conversation, Press
from gateway.outbound.choices import told
from gateway.outbound.composer import Composer
from storage.records.buttons import Action, ButtonRow, OnMenu
from storage.records.inbox_outbox import OutboxDraft, OutboxRow
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


@dataclass(frozen=True, slots=True)
class MenuItem:
    """A button of a menu."""

    label: str
    does: OnMenu
    style: str = "plain"
    beside: bool = False
    """On the same row as the one before it."""
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


def new_button(
    label: str, style: str = "plain", *, beside: bool = False, asks: bool = False
) -> Button:
    """With a random token, which means nothing but what is put on record for it."""
    return Button(label, secrets.token_urlsafe(18), style, beside, asks)


def put_buttons(
    tx: Transaction,
    outbox: OutboxRow,
    buttons: Iterable[tuple[Button, Action]],
    *,
    by: str = "",
    expires: float | None = None,
) -> None:
    """Put on record what the buttons of a message do. `outbox`: the row that posted or edits it."""
    message = outbox.edits if outbox.edits is not None else outbox.id
    for button, action in buttons:
        row = ButtonRow(button.token, outbox.address, message, button.label, action, by, expires)
        tx.buttons.put(row)


def send_menu(
    tx: Transaction,
    parcels: Sequence[OutboxDraft],
    items: Sequence[MenuItem],
    *,
    private: bool,
    by: str = "",
) -> OutboxRow:
    """Enqueue parcels, with the items as buttons on the last one; its row. `by`: who alone may
    press; `private`: whether the conversation is."""
    *before, last = parcels
    for parcel in before:
        tx.outbox.enqueue(parcel)
    buttons = [new_button(item.label, item.style, beside=item.beside) for item in items]
    if buttons:
        last = replace(last, payload={**last.payload, "buttons": [asdict(one) for one in buttons]})
    actions = [replace(item.does, private=private) for item in items]
    row = tx.outbox.enqueue(last)
    put_buttons(tx, row, zip(buttons, actions, strict=True), by=by)
    return row
