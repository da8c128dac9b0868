"""What sessions are called in lists and answers."""

from agent.text.markdown import escape
from gateway.views.entries import first_words, last_of, one_line, spot
from storage.records.entries import Overview
from storage.store import Transaction
from storage.tree.paths import TALK

LONGEST_TITLE = 100
"""Characters."""
NAME_LIMIT = 60
LAST_WORDS = 300


def cleaned(title: str) -> str:
    """What somebody wants to call a session, as it is kept."""
    return one_line(title, LONGEST_TITLE)


def name_of(overview: Overview, limit: int = NAME_LIMIT) -> str:
    """The title, else the first words that a person said, else what it is; not escaped."""
    said = first_words(overview.first, limit) if overview.first is not None else ""
    return one_line(overview.title, limit) or said or f"conversation {overview.session}"


def quoted_name(overview: Overview) -> str:
    """The same in Markdown, between quotation marks."""
    return f"“{escape(name_of(overview))}”"


def size_of(overview: Overview) -> str:
    count = overview.messages
    return "1 message" if count == 1 else f"{count:,} messages"


def last_words(tx: Transaction, leaf: int | None) -> str:
    """What was said last on a path, in Markdown; "" where nothing was."""
    last = last_of(tx, leaf, TALK, 1)
    return spot(last[0], LAST_WORDS) if last else ""
