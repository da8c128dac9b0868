"""Discord's messages as updates. Pure."""

import re
from collections.abc import Iterator
from dataclasses import replace

import discord
from discord.abc import User as DiscordUser

from adapters.cleaning import clean
from adapters.discord.inbound.parts import (
    channel_of,
    conversation_of,
    file_kind,
    is_person,
    is_private,
    name_of,
    user_of,
)
from adapters.discord.payload import ASKING_PREFIX, BUTTON_PREFIX
from adapters.events import File, Message

_SPOKEN = frozenset({discord.MessageType.default, discord.MessageType.reply})
"""The types that people write; the others tell of joins, pins, boosts and the like."""

_PREFIX = re.compile(f"{re.escape(BUTTON_PREFIX)}|{re.escape(ASKING_PREFIX)}")
_MENTION = re.compile(r"<(?P<sign>@!?|@&|#)(?P<id>\d+)>")


def normalize_message(message: discord.Message, me: DiscordUser) -> Message | None:
    """None for what is not said by a person, or is said to somebody else: a reply to, or a mention
    of, others and not the bot.

    In a server a message is addressed to the bot when it mentions the bot or the bot's own role, or
    replies to a message of the bot. What does neither comes without its content, but for who has
    the privileged intent, and what cannot be read is None too.
    """
    if message.type not in _SPOKEN or message.webhook_id is not None:
        return None
    if not is_person(message.author):
        return None
    private = is_private(message.channel)
    mentioned = _mentions(message, me)
    addressed = private or mentioned or _replies_to(message, me)
    if not addressed and _is_for_others(message):
        return None
    text = _cut_mention(message, me) if mentioned else message.content
    quoted = _quoted(message, me)
    attachments = tuple(_attachments(message))
    readable = text or (addressed and quoted) or attachments
    if not (private or mentioned or readable):
        return None
    return Message(
        key=f"discord:{message.channel.id}:{message.id}",
        conversation=conversation_of(message.channel.id),
        user=user_of(message.author),
        text=clean(_readable(text, message)),
        message_id=str(message.id),
        private=private,
        quoted=quoted,
        attachments=attachments,
        reply_to=_reply_to(message),
        reply_token=_reply_token(message, me),
        files=_files(message),
        addressed=addressed,
        quoted_from=_quoted_from(message, me),
        channel=channel_of(message.channel),
        sent=message.created_at.timestamp(),
    )


def normalize_edit(message: discord.Message, me: DiscordUser) -> Message | None:
    """A changed message, as it is now. None as for normalize_message, and for what is no edit.

    Discord tells of a message also when it finds a preview for a link in it, or when it is
    pinned. That is no edit: the time of the last one stays. Where there was an edit before, it
    gets that edit's key, so that it is the same once more.
    """
    said = normalize_message(message, me)
    if said is None or message.edited_at is None or not message.content:
        return None
    key, sent = f"{said.key}:edit:{message.edited_at.isoformat()}", message.edited_at.timestamp()
    return replace(said, key=key, kind="edit", sent=sent)


def _mentions(message: discord.Message, me: DiscordUser) -> bool:
    if any(user.id == me.id for user in message.mentions):
        return True
    role = message.guild.self_role if message.guild else None
    return role is not None and f"<@&{role.id}>" in message.content


def _replied_to(message: discord.Message) -> discord.Message | None:
    resolved = message.reference.resolved if message.reference else None
    return resolved if isinstance(resolved, discord.Message) else None


def _reply_to(message: discord.Message) -> str:
    """Id of what it replies to, also where that is gone. A forward refers to something too."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return ""
    return str(message.reference.message_id or "")


def _reply_token(message: discord.Message, me: DiscordUser) -> str:
    replied_to = _replied_to(message)
    if replied_to is None or replied_to.author.id != me.id:
        return ""
    rows = (row for row in replied_to.components if isinstance(row, discord.ActionRow))
    ids = (str(getattr(child, "custom_id", "") or "") for row in rows for child in row.children)
    return next((clean(_PREFIX.sub("", one)) for one in ids if _PREFIX.match(one)), "")


def _files(message: discord.Message) -> tuple[File, ...]:
    """What came with it; where that is nothing, with the message it replies to."""
    parts: tuple[discord.Message | discord.MessageSnapshot, ...]
    parts = (message, *message.message_snapshots)
    given = [attachment for part in parts for attachment in part.attachments]
    if not given and (replied_to := _replied_to(message)):
        given = replied_to.attachments
    return tuple(map(_file, given))


def _file(attachment: discord.Attachment) -> File:
    media_type = clean(attachment.content_type or "")
    kind = "voice" if attachment.is_voice_message() else file_kind(media_type)
    return File(
        clean(attachment.url),
        clean(attachment.filename),
        int(attachment.size),
        kind,
        media_type,
        float(attachment.duration or 0.0),
    )


def _replies_to(message: discord.Message, me: DiscordUser) -> bool:
    replied_to = _replied_to(message)
    return replied_to is not None and replied_to.author.id == me.id


def _is_for_others(message: discord.Message) -> bool:
    """Whether talk that does not address the bot addresses somebody else."""
    named = message.mentions or message.raw_role_mentions
    return bool(named or message.type is discord.MessageType.reply)


def _quoted_from(message: discord.Message, me: DiscordUser) -> str:
    replied_to = _replied_to(message)
    return "" if replied_to is None or replied_to.author.id == me.id else name_of(replied_to.author)


def _quoted(message: discord.Message, me: DiscordUser) -> str:
    """What the message answers, or passes on (a forward), where the bot did not say it itself."""
    replied_to = _replied_to(message)
    if replied_to is not None and replied_to.author.id != me.id:
        return clean(_readable(replied_to.content, replied_to))
    return clean("\n\n".join(forwarded.content for forwarded in message.message_snapshots))


def _cut_mention(message: discord.Message, me: DiscordUser) -> str:
    forms = [f"<@!?{me.id}>"]
    if message.guild and (role := message.guild.self_role):
        forms.append(f"<@&{role.id}>")
    mention = f"(?:{'|'.join(forms)})"
    without_address = re.sub(rf"\A\s*{mention}[,:]?\s*", "", message.content)
    return re.sub(rf"{mention}[ \t]?", "", without_address).strip()


def _readable(text: str, message: discord.Message) -> str:
    """Mentions as "@name" and "#channel"; those that nobody knows stay as they are."""
    names = {user.id: name_of(user) for user in message.mentions}
    guild = message.guild

    def name(mention: re.Match[str]) -> str:
        number = int(mention["id"])
        match mention["sign"]:
            case "@&":
                role = guild.get_role(number) if guild else None
                return f"@{role.name}" if role else mention[0]
            case "#":
                channel = guild.get_channel_or_thread(number) if guild else None
                return f"#{channel.name}" if channel else mention[0]
            case _:
                return f"@{names[number]}" if number in names else mention[0]

    return _MENTION.sub(name, text)


def _attachments(message: discord.Message) -> Iterator[str]:
    parts: tuple[discord.Message | discord.MessageSnapshot, ...]
    parts = (message, *message.message_snapshots)
    for part in parts:
        yield from map(_kind, part.attachments)
        yield from ("sticker" for _ in part.stickers)
    if message.poll:
        yield "poll"


def _kind(attachment: discord.Attachment) -> str:
    if attachment.is_voice_message():
        return "voice"
    kind, _, _ = (attachment.content_type or "").partition("/")
    return kind if kind in ("image", "audio", "video") else "file"
