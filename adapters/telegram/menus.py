"""The menus of commands: in private chats, in groups, and in the private chat of each owner."""

import logging
from collections.abc import Iterable, Sequence

import telegram
from telegram.error import BadRequest, Forbidden

from adapters.base import CommandSpec

MOST = 100
LONGEST = 256
"""Characters of a description."""

log = logging.getLogger(__name__)


async def set_menus(
    bot: telegram.Bot, commands: Sequence[CommandSpec], owners: Iterable[str]
) -> None:
    """Set all of them; nothing where there are no commands. The menu for everywhere, which older
    versions set, is taken away: it would show where there is no other."""
    if not commands:
        return
    await bot.delete_my_commands()
    common = [spec for spec in commands if not spec.owner]
    in_groups = [spec for spec in common if not spec.private]
    await bot.set_my_commands(_menu(common), scope=telegram.BotCommandScopeAllPrivateChats())
    await bot.set_my_commands(_menu(in_groups), scope=telegram.BotCommandScopeAllGroupChats())
    for owner in owners:
        await _set_owners(bot, commands, owner)


async def _set_owners(bot: telegram.Bot, commands: Sequence[CommandSpec], owner: str) -> None:
    """Theirs has every command. An owner who never wrote to the bot has no chat with it: they see
    the menu of all private chats until the next start."""
    if not owner.isdecimal():
        return
    try:
        scope = telegram.BotCommandScopeChat(int(owner))
        await bot.set_my_commands(_menu(commands), scope=scope)
    except (BadRequest, Forbidden) as error:
        log.info("the owner %s has no menu of their own yet: %s", owner, error)


def _menu(commands: Sequence[CommandSpec]) -> list[telegram.BotCommand]:
    return [telegram.BotCommand(one.name, one.description[:LONGEST]) for one in commands[:MOST]]
