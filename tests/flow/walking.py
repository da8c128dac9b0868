"""What the tests of going about in a conversation's tree share."""

from adapters.recording import Shown
from storage.records.entries import Entry, Label
from storage.store import Store, Transaction
from tests.flow.conftest import Gateway

ECHO = [{"reply": {"text": "re: {last}"}}]


async def talk(g: Gateway, *texts: str) -> None:
    """Say one after the other, each when the one before is answered."""
    for text in texts:
        await g.chat.say(text)
        await g.settled()


async def ask(g: Gateway, command: str, *, user: str = "1", private: bool = True) -> Shown:
    """Give a command; the last message after it."""
    await g.chat.say(command, user=user, private=private)
    await g.settled()
    return newest(g)


async def press(g: Gateway, label: str, *, user: str = "1") -> Shown:
    """Press a button of the last message; that message after it."""
    shown = newest(g)
    button = next(b.label for b in shown.buttons if label in b.label)
    await g.chat.press(shown, button, user=user)
    await g.settled()
    return shown


def newest(g: Gateway) -> Shown:
    return list(g.chat.shown.values())[-1]


def buttons(shown: Shown) -> list[str]:
    return [button.label for button in shown.buttons]


async def session_of(store: Store, chat: str = "1") -> int:
    session = await store.read(lambda tx: tx.directory.conversation(f"telegram:{chat}"))
    assert session is not None
    return session


async def path(store: Store) -> list[Entry]:
    """The path to where chat 1 is."""
    session = await session_of(store)
    return list(await store.read(lambda tx: tx.tree.path(tx.tree.session(session).leaf)))


async def numbers(store: Store) -> list[int]:
    return [entry.number for entry in await path(store)]


async def labels(store: Store) -> dict[str, int]:
    """Name → number."""
    session = await session_of(store)

    def named(tx: Transaction) -> dict[str, int]:
        found: list[Label] = tx.tree.labels(session)
        return {label.name: tx.tree.entry(label.target).number for label in found}

    return await store.read(named)
