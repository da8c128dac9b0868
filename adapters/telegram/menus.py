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
        await set_own_menu(bot, commands, owner, owner=True)


async def set_own_menu(
    bot: telegram.Bot, commands: Sequence[CommandSpec], who: str, *, owner: bool
) -> None:
    """An owner's has every command; anybody else has none but that of all private chats. An owner
    who never wrote to the bot has no chat with it: they see that one until the next start."""
    if not who.isdecimal() or not commands:
        return
    try:
        scope = telegram.BotCommandScopeChat(int(who))
        if owner:
            await bot.set_my_commands(_menu(commands), scope=scope)
        else:
            await bot.delete_my_commands(scope=scope)
    except (BadRequest, Forbidden) as error:
        log.info("the menu of %s is not set: %s", who, error)


def _menu(commands: Sequence[CommandSpec]) -> list[telegram.BotCommand]:
    return [telegram.BotCommand(one.name, one.description[:LONGEST]) for one in commands[:MOST]]
