"""What the tests of tree sessions on Discord share: people in private chats and in a server."""

from storage.records.entries import Entry, Json
from storage.store import Transaction
from tests.flow.discord_gateway import OLGA, DiscordGateway
from tests.flow.telegram_gateway import PATIENCE
from tests.stand_ins.discord_files import Sent
from tests.stand_ins.discord_world import Channel


async def talk(
    g: DiscordGateway, *texts: str, user: str = OLGA, place: Channel | None = None, **more: object
) -> Json:
    """Say one after the other, each when the one before is answered; the last answer."""
    for text in texts:
        count = len(g.said(place))
        g.discord.say(place or g.home, user, text, **more)
        await says_more(g, count, place)
    return newest(g, place)


async def says_more(g: DiscordGateway, count: int, place: Channel | None = None) -> None:
    """Wait until the bot has said more than so many messages, and has nothing more to say."""
    await g.discord.wait_for(lambda: len(g.said(place)) > count, PATIENCE)
    await g.settled()


async def slash(
    g: DiscordGateway,
    name: str,
    argument: str = "",
    *,
    user: str = OLGA,
    place: Channel | None = None,
    file: Sent | None = None,
) -> Json:
    """Give a slash command; the message that stands where the bot was "thinking"."""
    command = g.discord.slash(place or g.home, user, name, argument, file)
    shown = await g.answer(command)
    await g.settled()
    return shown


async def press(g: DiscordGateway, shown: Json, label: str, user: str = OLGA) -> None:
    """Press the button whose label begins so, and wait until all that comes of it is there."""
    channel = g.discord.world.channels[int(shown["channel_id"])]
    labels = g.discord.buttons(channel.message(shown["id"]))
    button = next(one for one in labels if one.startswith(label))
    given = g.discord.press(shown, button, user)
    await g.discord.wait_for(lambda: given.answered, PATIENCE)
    await g.settled()


def newest(g: DiscordGateway, place: Channel | None = None) -> Json:
    """The newest of the bot's messages."""
    bot = str(g.discord.world.bot.id)
    own = [m for m in g.discord.messages(place or g.home) if m["author"]["id"] == bot]
    found: Json = own[-1]
    return found


def rows(shown: Json) -> list[list[str]]:
    """The labels of a message's buttons, row by row."""
    return [[button["label"] for button in row["components"]] for row in shown["components"]]


def files(g: DiscordGateway, shown: Json) -> dict[str, bytes]:
    """Name → content."""
    cdn = g.discord.world.cdn
    return {each["filename"]: cdn.content(each["url"]) for each in shown["attachments"]}


async def path(g: DiscordGateway, place: Channel | None = None) -> list[str]:
    """What stands on the path of a conversation."""
    address = f"discord:{(place or g.home).id}"

    def read(tx: Transaction) -> tuple[Entry, ...]:
        session = tx.directory.conversation(address)
        assert session is not None
        return tx.tree.path(tx.tree.session(session).leaf)

    entries = await g.read(read)
    return [str(entry.body["content"]) for entry in entries if "content" in entry.body]
