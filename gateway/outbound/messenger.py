"""Messages that the agent sends besides its answers: whom it may write to, and how they go out.

A conversation may be written to where its people are the asker's own: the conversation that asks,
the asker's private chat with the bot, and one in which the asker had the bot answer within the last
months; besides those, what `[tools] message_targets` lists. That the asker may read and write there
is what makes it theirs: being known there, or sharing a session, is not enough. Everything else is
refused, and nobody can allow it.
"""

from dataclasses import dataclass

from adapters.platforms import checked_address, private_chat
from agent.errors import ToolError
from agent.text.untrusted import quote
from agent.tools.base import NOTHING_DONE, Also, Call
from agent.tools.message import HERE, Target
from gateway.access.roles import Access
from gateway.outbound.composer import Composer
from gateway.outbound.out_files import largest_upload
from storage.records.entries import Entry
from storage.store import Transaction

DAY = 86_400.0
KNOWN_FOR = 90 * DAY
"""Seconds for which somebody who had the bot answer in a conversation is taken to be in it."""
REFUSED = (
    "target: {target} is none of the conversations that may be written to: here, the private chat "
    "of whoever asks ({private}), those where they had me answer in the last 90 days, and those "
    "that the operator lists as tools.message_targets; nothing was sent"
)


@dataclass(frozen=True, slots=True)
class GatewayMessenger:
    composer: Composer
    access: Access
    targets: tuple[str, ...]
    """Addresses that may be written to for everybody who may talk."""

    def target(self, tx: Transaction, call: Call, target: str) -> Target:
        if target in (HERE, call.address):
            return Target(call.address, elsewhere=False)
        try:
            address = checked_address(target)
        except ValueError as error:
            raise ToolError(f"target: {error}; {NOTHING_DONE}") from None
        own = private_chat(call.person) if call.person else None
        private = own.address if own is not None else ""
        if not self._allowed(tx, call.person, address, private):
            raise ToolError(REFUSED.format(target=quote(address), private=private or "not known"))
        if not self.composer.serves(address):
            raise ToolError(f"target: this bot is not on the platform of {quote(address)}")
        return Target(address, elsewhere=True)

    def message(self, call: Call, target: Target, text: str) -> Also:
        told = f"{_origin(call)}\n\n{text}" if target.elsewhere else text
        parcels = self.composer.post(target.address, told)

        def also(tx: Transaction, _: Entry) -> None:
            for parcel in parcels:
                tx.outbox.enqueue(parcel)
            if target.elsewhere:
                details = {"to": target.address, "from": call.address, "session": call.session}
                tx.directory.audit("message elsewhere", call.person, details)

        return also

    def largest_file(self, address: str) -> int:
        return largest_upload(address)

    def _allowed(self, tx: Transaction, person: str, address: str, private: str) -> bool:
        if address in self.targets:
            return True
        if not person or not self.access.may_talk(person):
            return False
        since = tx.now - KNOWN_FOR
        return (
            address == private
            or tx.ledger.total(since=since, address=address, person=person).calls > 0
        )


def _origin(call: Call) -> str:
    """The line that says for whom it is sent, and from where."""
    who = f" for `{call.person}`" if call.person else ""
    return f"📨 *Sent{who} from the conversation* `{call.address}`"
