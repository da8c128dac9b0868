"""The platforms: a descriptor for each, with what the gateway must know beside its adapter.

Their libraries are imported when an adapter is built, so that a start loads only what is
configured.
"""

import base64
import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from adapters.base import Adapter, Commands
from adapters.checkup import Checkup
from adapters.events import Conversation
from adapters.pacing import Bursts, Limit, Rates
from adapters.serving.listening import Listen
from adapters.settings import PlatformSettings, TelegramSettings
from adapters.terminal.adapter import Reopened, TerminalAdapter

if TYPE_CHECKING:
    from adapters.telegram.adapter import MakeSource

ANYBODY = "*"
"""In the place of a person's id: everybody there."""
MEGABYTE = 1_000_000
NO_DRAWING = (None, "", "dumb", "unknown")
"""Values of TERM that say that the cursor cannot be moved."""

Reopen = Callable[[], Awaitable[Reopened | None]]
"""What somebody who comes back to a terminal is told."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a message may be changed while it is written, in seconds between two changes, so
    that what else is said in the conversation still has room."""

    private: float
    group: float
    drafts: bool = False
    """In private chats it shows drafts."""


@dataclass(frozen=True, slots=True)
class Platform:
    name: str
    """As in addresses and identities."""
    build: Callable[[PlatformSettings, Commands, Reopen | None, Sequence[str]], Adapter]
    """Its adapter; last come the ids of the owners there. Misconfigured where the settings cannot
    be right."""
    presses_kept: float | None
    """Seconds for which a press waits while the bot is away; then it is forgotten, and who pressed
    is not told. None where they are told at once."""
    person: re.Pattern[str] = re.compile("[0-9]+")
    """Ids of people."""
    chat: re.Pattern[str] = re.compile(".+", re.DOTALL)
    """What may follow the platform's name in an address."""
    chat_hint: str = ""
    """What it is if not that, for people."""
    private_prefix: str = ""
    """What stands before a person's id in the address of their private chat."""
    largest_upload: int | None = None
    """Bytes of a file that it takes from a bot; None where there is no limit."""
    check: Callable[[PlatformSettings], Awaitable[Checkup]] | None = None
    """Looks at the bot without changing anything; None where a start changes nothing that others
    could miss. Raises an AdapterError."""
    threads: bool = False
    """A thread that hangs on a message is a conversation, and is called by that message's id."""
    pace: Pace | None = None
    """Of answers that grow; None where what was shown cannot be changed in place."""
    sign_up: str = ""
    """Where a bot is made and gets its token, for people; "" where there is none."""
    rates: Rates | None = None
    """How fast it lets a bot speak; None where nobody counts."""
    local: bool = False
    """It is there for one process alone."""
    writes_first: bool = True
    """A bot may write to somebody who never wrote to it."""


def _telegram(
    settings: PlatformSettings, commands: Commands, _reopen: Reopen | None, owners: Sequence[str]
) -> Adapter:
    from adapters.telegram.adapter import TelegramAdapter

    section = settings.telegram
    assert section is not None, "built only where it is configured"
    return TelegramAdapter(
        section.token.get_secret_value(),
        base_url=section.base_url,
        base_file_url=section.base_file_url,
        commands=commands,
        source=_webhook(section) if section.mode == "webhook" else None,
        owners=owners,
    )


def _webhook(section: TelegramSettings) -> "MakeSource":
    from adapters.telegram.inbound.webhook import Webhook, WebhookListener, secret_of

    assert section.webhook_url is not None, "there is none without it"
    own = section.webhook_secret
    secret = own.get_secret_value() if own else secret_of(section.token.get_secret_value())
    webhook = Webhook(section.webhook_url, Listen.parse(section.listen), secret)
    return partial(WebhookListener, webhook)


async def _check_telegram(settings: PlatformSettings) -> Checkup:
    from adapters.telegram.checkup import check

    section = settings.telegram
    assert section is not None, "looked at only where it is configured"
    url = section.webhook_url if section.mode == "webhook" else None
    return await check(section.token.get_secret_value(), section.base_url, url)


def _discord(
    settings: PlatformSettings, commands: Commands, _reopen: Reopen | None, _owners: Sequence[str]
) -> Adapter:
    from adapters.discord.adapter import DiscordAdapter

    section = settings.discord
    assert section is not None, "built only where it is configured"
    return DiscordAdapter(
        section.token.get_secret_value(),
        api_base=section.api_base,
        gateway_url=section.gateway_url,
        commands=commands,
        shards=section.shards,
    )


async def _check_discord(settings: PlatformSettings) -> Checkup:
    from adapters.discord.checkup import check

    section = settings.discord
    assert section is not None, "looked at only where it is configured"
    return await check(section.token.get_secret_value(), section.api_base, section.gateway_url)


def _terminal(
    settings: PlatformSettings, commands: Commands, reopen: Reopen | None, _owners: Sequence[str]
) -> Adapter:
    """Drawn in place where it is a terminal that can be drawn on, else line by line."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") in NO_DRAWING:
        return TerminalAdapter(commands=commands, reopen=reopen)
    from adapters.terminal.live_screen import LiveScreen

    return TerminalAdapter(LiveScreen(commands=commands), commands, reopen=reopen)


TELEGRAM = Platform(
    "telegram",
    _telegram,
    presses_kept=150.0,  # measured
    chat=re.compile(r"(-?[0-9]{1,20}|@[A-Za-z][A-Za-z0-9_]{3,31})(/[0-9]{1,20})?"),
    chat_hint='"telegram:CHAT" or "telegram:CHAT/TOPIC", by number; that of a group begins with -',
    writes_first=False,
    largest_upload=50 * MEGABYTE,
    check=_check_telegram,
    pace=Pace(private=1.0, group=3.0, drafts=True),
    sign_up="@BotFather in Telegram: /newbot",
    # Published: about 1 message a second in a chat, with short bursts over it, 20 a minute in a
    # group, and 30 a second in all for what is told to many.
    rates=Rates(
        private=(Bursts(3, 1.0, kept=1),),
        group=(Bursts(3, 1.0, kept=1), Limit(20, 60.0, kept=8)),
        whole=Limit(28, 1.0, kept=10),
        groups=re.compile("[-@].*", re.DOTALL),
        learns=True,
    ),
)
DISCORD = Platform(
    "discord",
    _discord,
    presses_kept=None,
    chat=re.compile("(user:)?[0-9]+"),
    chat_hint='"discord:CHANNEL" (a thread is a channel) or "discord:user:ID", by number: '
    '"Copy ID" in Discord, once "Developer Mode" is on in its settings',
    private_prefix="user:",
    threads=True,
    largest_upload=10 * MEGABYTE,
    pace=Pace(private=1.2, group=1.2),
    check=_check_discord,
    sign_up="https://discord.com/developers/applications: New Application, Bot, Reset Token",
    # Published: 50 requests a second in all, six of which a start takes. What holds in a channel
    # Discord says with each answer, and discord.py keeps to it; it is 5 in 5 seconds for each kind
    # of request.
    rates=Rates(
        private=(Limit(5, 5.0, kept=1),),
        group=(Limit(5, 5.0, kept=1),),
        whole=Limit(42, 1.0, kept=14),
        groups=re.compile("(?!user:).*", re.DOTALL),
        apart=True,
    ),
)
TERMINAL = Platform(
    "terminal",
    _terminal,
    presses_kept=0.0,  # nobody can press what was drawn before
    person=re.compile(".+", re.DOTALL),
    local=True,
)
PLATFORMS = {platform.name: platform for platform in (TELEGRAM, DISCORD, TERMINAL)}


def configured(settings: PlatformSettings) -> list[Platform]:
    """The platforms that have a section."""
    return [each for each in PLATFORMS.values() if getattr(settings, each.name, None) is not None]


def rates_of(settings: PlatformSettings) -> dict[str, Rates]:
    """By platform, how fast those may speak that are to keep to it."""
    return {
        each.name: each.rates
        for each in configured(settings)
        if each.rates is not None and getattr(settings, each.name).paced
    }


def bots_of(settings: PlatformSettings) -> dict[str, str]:
    """Platform → the id of its bot, which is the public part of a token: Telegram writes it before
    ":", Discord in base64 before the first ".". A token that has none is left out."""
    found = {}
    for name, part in (("telegram", _before_colon), ("discord", _before_dot)):
        section = getattr(settings, name, None)
        bot = part(section.token.get_secret_value()) if section is not None else ""
        if re.fullmatch("[0-9]+", bot):
            found[name] = bot
    return found


def _before_colon(token: str) -> str:
    bot, colon, _ = token.partition(":")
    return bot if colon else ""


def _before_dot(token: str) -> str:
    bot, dot, _ = token.partition(".")
    try:
        return base64.urlsafe_b64decode(bot + "=" * (-len(bot) % 4)).decode() if dot else ""
    except ValueError:  # no base64, or no text
        return ""


def same_bot(one: PlatformSettings, other: PlatformSettings) -> bool:
    """Whether both configurations are of the same bot on each platform that both have. A token
    that was renewed is the same bot's: its first part, up to ":" or ".", is who the bot is."""
    for platform in PLATFORMS.values():
        sections = [getattr(each, platform.name, None) for each in (one, other)]
        given = [each.token for each in sections if each is not None]
        tokens = [token.get_secret_value() for token in given]
        known = {found[0] for token in tokens if (found := re.split("[:.]", token, maxsplit=1))[1:]}
        if len(known) > 1:
            return False
    return True


def checked_identity(value: str) -> str:
    """ValueError, for who wrote it, where it names neither a person nor everybody on a platform."""
    name, _, who = value.partition(":")
    platform = PLATFORMS.get(name)
    if platform is None or not who:
        raise ValueError(
            f'{value!r} is not a person like "telegram:1001", "discord:42", "telegram:*".'
            f"{_meant(value, platform)}"
        )
    if who != ANYBODY and not platform.person.fullmatch(who):
        if re.fullmatch("-[0-9]+", who):
            raise ValueError(f"{value!r} is a group; people have numbers without -")
        raise ValueError(
            f"{value!r} is not a number; write to the bot, and it says who you are."
            f"{_meant(value, platform)}"
        )
    return value


def checked_address(value: str) -> str:
    """ValueError, for who wrote it, where it is not the address of a conversation."""
    conversation = Conversation.parse(value)
    platform = PLATFORMS.get(conversation.platform)
    if platform is None:
        known = ", ".join(PLATFORMS)
        raise ValueError(
            f"{value!r}: the platform must be one of {known}.{_meant(value, platform)}"
        )
    if not platform.chat.fullmatch(value.removeprefix(f"{platform.name}:")):
        raise ValueError(f"{value!r} is not {platform.chat_hint}.{_meant(value, platform)}")
    return value


_NUMBER = re.compile(r"(?:user:)?-?[0-9]+(?:/[0-9]+)?")


def _meant(value: str, platform: Platform | None) -> str:
    """What an address or a person that is none may have been; "" where nothing is alike."""
    name, colon, rest = value.partition(":")
    if platform is not None:
        likely = [platform]
    elif colon:
        likely = [PLATFORMS[found] for found in get_close_matches(name, PLATFORMS, 1)]
    else:
        likely, rest = [TELEGRAM, DISCORD], value
    number = _NUMBER.search(rest)
    meant = [
        f"{each.name}:{number[0]}"
        for each in likely
        if number and (each.chat.fullmatch(number[0]) or each.person.fullmatch(number[0]))
    ]
    return f" Did you mean {' or '.join(meant)}?" if meant and meant != [value] else ""


def private_chat(identity: str) -> Conversation | None:
    """A person's private chat with the bot; None where the identity stands for many people."""
    name, _, who = identity.partition(":")
    if who == ANYBODY:
        return None
    prefix = PLATFORMS[name].private_prefix if name in PLATFORMS else ""
    return Conversation(name, f"{prefix}{who}")
