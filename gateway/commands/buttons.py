"""Buttons that a command hangs on its answer: command lines, and actions that nobody can type."""

from dataclasses import asdict

from gateway.commands.context import Action, CommandCall
from gateway.outbound.buttons import MenuItem
from gateway.views.entries import fenced, words
from storage.records.buttons import RunAction, RunCommand
from storage.records.entries import Entry
from storage.records.speakers import name_taken_off, speaker_of

REPHRASED_LIMIT = 1_000
"""Characters of a message that is shown to be written anew."""


def button(
    label: str,
    does: str | Action,
    *,
    within: int | None = None,
    beside: bool = False,
    style: str = "plain",
    whole: str = "",
) -> MenuItem:
    """`does`: a command as a person would type it, without the slash, or an action. `within`: the
    session that it is about; pressed in another, it does nothing. `whole`: see MenuItem."""
    if isinstance(does, str):
        return MenuItem(label, RunCommand(does, within=within), style, beside, whole)
    run = RunAction(does.name, asdict(does), within=within)
    return MenuItem(label, run, style, beside, whole)


def turning(session: int, command: str, page: int, pages: int) -> list[MenuItem]:
    """◀ ▶ for a list in pages, counted from 1; `command` with the page's number behind it."""
    items = []
    if page > 1:
        items.append(button("◀", f"{command} {page - 1}", within=session))
    if page < pages:
        items.append(button("▶", f"{command} {page + 1}", within=session, beside=bool(items)))
    return items


def to_rephrase(call: CommandCall, message: Entry) -> str:
    """A person's message as it was typed, as far as that is known, to be written anew: in a group
    its text begins with the name of who wrote it, which would otherwise be sent twice."""
    text = words(message)
    if message.author == call.who:
        if speaker_of(message.body) is not None:
            text = name_taken_off(message.body).strip()
        elif not call.message.private:  # from before speakers were kept
            text = text.removeprefix(f"{call.message.user.name}: ")
    return fenced(text, REPHRASED_LIMIT)
