"""Where a chat in the terminal goes on: told to whoever opens it again."""

from adapters.terminal.adapter import CONVERSATION, PERSON, Reopened
from agent.text.formats import age
from agent.text.markdown import escape
from gateway.views.entries import PERSONS, last_of, spot, words
from gateway.views.sessions import name_of, size_of
from storage.store import Transaction
from storage.tree.paths import TALK

LAST_WORDS = 160
"""Characters of each side of the last exchange."""
SAID = 50
"""Messages that may be said again."""


def reopened(tx: Transaction) -> Reopened | None:
    """The title of the terminal's conversation and its last exchange; None where nothing was said
    yet."""
    session = tx.directory.conversation(CONVERSATION.address)
    if session is None:
        return None
    leaf = tx.tree.session(session).leaf
    last = last_of(tx, leaf, TALK, 2)
    if not last:
        return None
    overview = tx.directory.overview(session)
    head = (
        f"You go on with **{escape(name_of(overview))}** · {size_of(overview)}"
        f" · {age(tx.now - overview.active)} ago"
    )
    lines = [head, *(spot(entry, LAST_WORDS) for entry in last)]
    mine = [e for e in last_of(tx, leaf, PERSONS, SAID) if e.author == PERSON.identity]
    return Reopened("\n".join(lines), tuple(words(entry) for entry in mine))
