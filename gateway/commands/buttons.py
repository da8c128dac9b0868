"""Buttons that a command hangs on its answer, and what they know besides its words."""

from gateway.commands.context import CommandCall
from gateway.outbound.buttons import MenuItem
from gateway.views.entries import fenced, words
from storage.records.entries import Entry
from storage.records.speakers import name_taken_off, speaker_of

ANOTHER_SESSION = "This button is from another conversation than the one that goes on here now."


REPHRASED_LIMIT = 1_000
"""Characters of a message that is shown to be written anew."""


def to_rephrase(asked: CommandCall, message: Entry) -> str:
    """A person's message as it was typed, as far as that is known, to be written anew: in a group
    its text begins with the name of who wrote it, which would otherwise be sent twice."""
    text = words(message)
    if message.author == asked.who:
        if speaker_of(message.body) is not None:
            text = name_taken_off(message.body).strip()
        elif not asked.message.private:  # from before speakers were kept
            text = text.removeprefix(f"{asked.message.user.name}: ")
    return fenced(text, REPHRASED_LIMIT)


def button(
    asked: CommandCall, label: str, command: str, *, beside: bool = False, **subject: object
) -> MenuItem:
    """A button that is about the session it was made for: pressed in another, it does nothing."""
    return MenuItem(label, command, beside=beside, subject={**subject, "tree": asked.session})


def turning(asked: CommandCall, command: str, page: int, pages: int) -> list[MenuItem]:
    """◀ ▶ for a list in pages, counted from 1; `command` with the page's number behind it."""
    items = []
    if page > 1:
        items.append(button(asked, "◀", f"{command} {page - 1}"))
    if page < pages:
        items.append(button(asked, "▶", f"{command} {page + 1}", beside=bool(items)))
    return items


def is_elsewhere(asked: CommandCall) -> bool:
    """Whether a button was made for another session than the conversation is in now."""
    return asked.subject.get("tree", asked.session) != asked.session
