"""Who may see which session, and from where.

A conversation sees the sessions that it was ever in; in private, a person also sees those that they
took part in. A fork shows the path it begins with, and no more of the session it was made from.
"""

from adapters.events import Conversation, Message
from storage.store import Transaction


def viewers(message: Message) -> tuple[str, ...]:
    """Members whose sessions may be seen where a message was written."""
    return members(message.conversation, message.user.identity, private=message.private)


def members(conversation: Conversation, who: str, *, private: bool) -> tuple[str, ...]:
    """The same, where there is no message."""
    return (conversation.address, who) if private else (conversation.address,)


def sees(tx: Transaction, message: Message, session: int) -> bool:
    """Whether a session may be seen where a message was written, by everybody there."""
    return not set(viewers(message)).isdisjoint(tx.directory.members(session))


def takes_part(tx: Transaction, who: str, session: int) -> bool:
    """Whether a person ever took part in a session."""
    return who in tx.directory.members(session)
