"""Which bots a database belongs to: one of each platform. Another bot on the same database would
answer chats that it does not know, as a staging bot with the URL of the production database.

A row says the bot's id, for each platform: written when the bot has signed in for the first time,
and looked at by each process at its start. Two processes that write at the same moment are settled
by the database: the second one's transaction is done again, and finds the row.
"""

from collections.abc import Mapping

from adapters.base import Misconfigured
from storage.store import Transaction

_FACT = "bot:{}"
BY = "bough db"
"""Who did it, in the audit."""


class AnotherBot(Misconfigured):
    """The database is another bot's. The text says what to do."""


def foreign(tx: Transaction, bots: Mapping[str, str]) -> list[str]:
    """What is wrong where the database belongs to others than `bots` (platform → id), a line for
    each platform, for people. A platform with no row yet is not among them."""
    known = {name: tx.directory.fact(_FACT.format(name)) for name in bots}
    return [
        f"this database belongs to the {name} bot {known[name]}, and the token is that of the bot "
        f"{bot}: set the right token or another [storage] url. To give the database to this bot, "
        "stop every process on it and run `bough db adopt`"
        for name, bot in bots.items()
        if known[name] not in (None, bot)
    ]


def refuse(tx: Transaction, bots: Mapping[str, str]) -> None:
    """AnotherBot where one of them is another than the database's."""
    if faults := foreign(tx, bots):
        raise AnotherBot(". ".join(faults))


def claim(tx: Transaction, bots: Mapping[str, str]) -> None:
    """The database is theirs from now on. AnotherBot where it is another's."""
    refuse(tx, bots)
    for name, bot in bots.items():
        if tx.directory.fact(_FACT.format(name)) is None:
            tx.directory.set_fact(_FACT.format(name), bot)


def adopt(tx: Transaction, bots: Mapping[str, str]) -> list[tuple[str, str | None, str]]:
    """Give the database to these bots; what changed: platform, the bot before, the bot now."""
    before = {name: tx.directory.fact(_FACT.format(name)) for name in bots}
    changed = [(name, before[name], bot) for name, bot in bots.items() if before[name] != bot]
    for name, was, bot in changed:
        tx.directory.set_fact(_FACT.format(name), bot)
        tx.directory.audit("bot adopted", BY, {"platform": name, "before": was, "bot": bot})
    return changed
