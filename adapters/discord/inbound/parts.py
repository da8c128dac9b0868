"""What Discord's messages and interactions have in common: who, where, kinds of files. Pure."""

import discord
from discord.abc import User as DiscordUser

from adapters.cleaning import display_name
from adapters.events import Conversation, User


def channel_of(place: object) -> str:
    """Address of the channel that a thread, or a post of a forum, is in; "" for what is none."""
    parent = place.parent_id if isinstance(place, discord.Thread) else None
    return conversation_of(parent).address if parent else ""


def conversation_of(channel_id: int) -> Conversation:
    # A thread is a channel with an id of its own, so it is a conversation of its own.
    return Conversation("discord", str(channel_id))


def is_person(user: DiscordUser) -> bool:
    """Not another program, nor Discord itself."""
    return not (user.bot or user.system)


def user_of(user: DiscordUser) -> User:
    return User("discord", str(user.id), name_of(user))


def name_of(user: DiscordUser) -> str:
    return display_name(user.display_name, f"discord:{user.id}")


def is_private(channel: object) -> bool:
    return isinstance(channel, discord.DMChannel) or (
        isinstance(channel, discord.PartialMessageable)
        and channel.type is discord.ChannelType.private
    )


def file_kind(media_type: str) -> str:
    match media_type.partition("/")[0]:
        case "image":
            return "photo"
        case "audio" | "video" as kind:
            return kind
        case _:
            return "document"
