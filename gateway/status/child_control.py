"""Stopping and pausing children by button: what /agents hangs on its message.

The buttons are for whoever asked, act as often as they are pressed, and hold for an hour.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, assert_never

from adapters.base import Button
from agent.delegation.children.presence import TOPIC, Doing
from agent.delegation.children.supervision import Activity
from gateway.outbound.buttons import new_button, put_buttons
from gateway.outbound.composer import Composer
from gateway.views.delegations import Family, panel_text, rank
from storage.records.buttons import ActOnChild
from storage.records.entries import Json
from storage.store import Transaction

VALID_FOR = 3600.0
"""Seconds."""
MOST = 12
"""Children with buttons, two each. Discord takes 25 buttons a message."""
OVER = "These buttons do nothing any more: /agents shows what runs now."


def controls(
    session: int, rows: Family, active: Mapping[int, Doing]
) -> list[tuple[ActOnChild, str]]:
    """What can be done to the first children that run, then to those that wait for a place, each
    with its style."""
    found: list[tuple[ActOnChild, str]] = []
    active_rows = (row for row, _ in rows if row.id in active)
    for row in sorted(active_rows, key=lambda row: rank(row, active))[:MOST]:
        activity = active[row.id]
        if not activity.queued:
            pause = ActOnChild("resume" if activity.paused else "pause", row.id, session)
            found.append((pause, "plain"))
        found.append((ActOnChild("stop", row.id, session), "danger"))
    return found


def control_button(action: ActOnChild, style: str) -> Button:
    return new_button(f"{action.what.capitalize()} agent {action.delegation}", style)


def post_panel(
    tx: Transaction,
    composer: Composer,
    forest: Family,
    active: Mapping[int, Doing],
    *,
    session: int,
    address: str,
    handle: str,
    by: str,
) -> bool:
    """Post a session's delegations with buttons for those that run; False where none does."""
    actions = controls(session, forest, active)
    if not actions:
        return False
    text = panel_text(forest, active, tx.now)
    buttons = [control_button(*each) for each in actions]
    *before, last = composer.post(address, text, buttons=buttons, handle=handle)
    for parcel in before:
        tx.outbox.enqueue(parcel)
    # Its text is kept for `expire`.
    row = tx.outbox.enqueue(replace(last, payload={**last.payload, "text": text}))
    acts = [action for action, _ in actions]
    expires = tx.now + VALID_FOR
    put_buttons(tx, row, zip(buttons, acts, strict=True), by=by, expires=expires)
    return True


def act(action: ActOnChild, active: Mapping[int, Activity]) -> None:
    """Do what a button says, where the child runs in this process. One that is gone needs
    nothing."""
    if (activity := active.get(action.delegation)) is not None:
        _act(action.what, activity)


def act_elsewhere(tx: Transaction, action: ActOnChild) -> None:
    """Have it done where the child runs in another process."""
    tx.signal(TOPIC, {"delegation": action.delegation, "what": action.what})


def heard(active: Mapping[int, Activity], message: Json) -> None:
    """Do what a button said that another process was told of."""
    if (activity := active.get(message["delegation"])) is not None:
        _act(message["what"], activity)


def _act(what: Literal["stop", "pause", "resume"], activity: Activity) -> None:
    match what:
        case "stop":
            activity.stop()
        case "pause":
            activity.pause()
        case "resume":
            activity.resume()
        case _:
            assert_never(what)


def expire(tx: Transaction, composer: Composer) -> None:
    """Take away the buttons whose time is over, and say so on their messages."""
    buttons = tx.buttons.temporary()
    due = {one.outbox for one in buttons if one.expires is not None and one.expires <= tx.now}
    for message in sorted(due):
        tx.buttons.use(message, "expired")
        row = tx.outbox.get(message)
        for parcel in composer.amend(row.address, row.payload["text"], OVER, row=message):
            tx.outbox.enqueue(parcel)
