"""What the tests of tree sessions in Telegram share: people on a phone, in chats and in groups."""

from storage.records.entries import Entry, Json
from storage.store import Transaction
from tests.flow.telegram_gateway import OWNER, PATIENCE, TelegramGateway, says
from tests.stand_ins.telegram_checks import ApiError

ECHO = [says("parent", "re: {last}")]
TO_BOT = "@bough_bot "
BRANCHED = ("Tell me about Rome", "And Paris?", "/undo", "And Oslo?")
"""Said one after the other: #1 to #4, and #5 with its answer after #2."""


async def give(
    g: TelegramGateway, text: str, *, chat: int = OWNER, user: int | None = None, **more: object
) -> list[Json]:
    """Say something, and wait until all that came of it is there: what the bot says to it."""
    before = {one["message_id"] for one in g.telegram.messages(chat)}
    g.say(text, chat=chat, user=user, **more)
    await handled(g)
    return [one for one in g.telegram.messages(chat) if one["message_id"] not in before]


async def ask(g: TelegramGateway, text: str, **more: object) -> Json:
    """The same where one message is the answer."""
    (shown,) = await give(g, text, **more)  # type: ignore[arg-type]
    return shown


async def talk(g: TelegramGateway, *texts: str, **more: object) -> Json:
    """Say one after the other; the last answer."""
    for text in texts:
        shown = await give(g, text, **more)  # type: ignore[arg-type]
    return shown[-1]


async def press(g: TelegramGateway, shown: Json, label: str, user: int = OWNER) -> str:
    """Press the button whose label begins so, and wait until all that comes of it is there; what
    the presser alone is told."""
    count = len(g.telegram.methods.answers)
    button = next(one for one in g.telegram.labels(shown) if one.startswith(label))
    g.press(shown, button, user)
    told = await g.told(count + 1)
    await handled(g)
    return told


async def handled(g: TelegramGateway) -> None:
    """All that people did so far is dealt with, and all that is to be said is said."""
    await g.telegram.wait_for(lambda: not g.telegram.world.pending, PATIENCE)
    await g.settled()


async def path(g: TelegramGateway, chat: str = str(OWNER)) -> list[str]:
    """What stands on the path of a conversation."""

    def read(tx: Transaction) -> tuple[Entry, ...]:
        session = tx.directory.conversation(f"telegram:{chat}")
        assert session is not None
        return tx.tree.path(tx.tree.session(session).leaf)

    entries = await g.read(read)
    return [str(entry.body["content"]) for entry in entries if "content" in entry.body]


def refused(g: TelegramGateway) -> list[str]:
    """Requests that Telegram did not take."""
    calls = [call for call in g.telegram.sent if isinstance(call.result, ApiError)]
    return [f"{call.method}: {call.result}" for call in calls]
