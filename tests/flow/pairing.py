"""What the tests of letting people in share."""

import re

from adapters.recording import Shown
from storage.store import Store
from tests.flow.conftest import Gateway

OWNED = {"access": {"owners": ["telegram:1"]}}
STRANGER = "66"
CODE = re.compile(r"your code is `([A-Z2-9]{4}-[A-Z2-9]{4})`")


async def asks(g: Gateway, who: str = STRANGER, text: str = "/start") -> str:
    """A stranger writes; the code that they get, "" for none."""
    before = len(g.chat.texts(who))
    await g.chat.say(text, chat=who, user=who)
    await g.settled()
    found = CODE.search("".join(g.chat.texts(who)[before:]))
    return found[1] if found is not None else ""


async def gives(g: Gateway, text: str, who: str = "1", *, chat: str = "") -> str:
    """Somebody gives a command; what they are answered in that chat."""
    chat = chat or who
    before = len(g.chat.texts(chat))
    await g.chat.say(text, chat=chat, user=who, private=not chat.startswith("-"))
    await g.settled()
    return "\n".join(g.chat.texts(chat)[before:])


def notice(g: Gateway, chat: str = "1") -> Shown:
    """The newest message of an owner's that tells of a stranger."""
    return [s for s in g.chat.shown.values() if "🚪" in s.text and s.conversation.chat == chat][-1]


async def presses(g: Gateway, shown: Shown, label: str, user: str = "1") -> str:
    await g.chat.press(shown, label, user=user)
    await g.settled()
    return shown.text


async def audited(store: Store, what: str) -> list[str]:
    """Who did it, each time."""
    return [who for _, who, _, _ in await store.read(lambda tx: tx.directory.audits(what))]
