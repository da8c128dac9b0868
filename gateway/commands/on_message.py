"""Commands that are given on a message, by its own menu: the message is what they are about."""

from dataclasses import replace

from gateway.commands.context import CommandCall, Outcome, Plan, Reply
from storage.records.entries import Entry
from storage.store import Transaction

NOT_HERE = (
    "This message is none of the conversation that goes on here, so I cannot do that with it. "
    "/tree shows what there is, by number."
)


def on_message(plan: Plan) -> Plan:
    """A plan that is told what the message shows as if its number had been typed, after what was
    typed; where that is nothing, the number alone."""

    def planned(tx: Transaction, call: CommandCall) -> Outcome:
        entry = shown_entry(tx, call)
        if entry is None:
            return Reply(NOT_HERE)
        # In quotation marks whatever was typed stays one word, numbers in it too.
        typed = f'"{call.argument}" ' if call.argument else ""
        return plan(tx, replace(call, argument=f"{typed}#{entry.number}"))

    return planned


def shown_entry(tx: Transaction, call: CommandCall) -> Entry | None:
    """What the message shows that the command was given on; None where that is nothing of the
    conversation's session, a fork's beginning among it."""
    linked = tx.outbox.linked_entry(call.address, call.message.about)
    if linked is None or call.session is None:
        return None
    entry = tx.tree.entry(linked)
    here = tx.tree.numbered(call.session, entry.number)
    return entry if here is not None and here.id == entry.id else None
