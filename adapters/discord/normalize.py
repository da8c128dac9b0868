"""Discord's messages and interactions as updates. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import discord
from discord.abc import User as DiscordUser

from adapters.base import CommandSpec
from adapters.cleaning import clean, display_name
from adapters.discord.interactions import Handle, Kind
from adapters.discord.payload import (
    ASKING_PREFIX,
    BUTTON_PREFIX,
    COMMAND_PREFIX,
    Payload,
    asking_form,
    words_form,
)
from adapters.events import Completion, Conversation, File, Message, Press, User

_SPOKEN = frozenset({discord.MessageType.default, discord.MessageType.reply})
"""The types that people write; the others tell of joins, pins, boosts and the like."""

_MOST_TYPED = 1_000
"""Characters of an option that are looked at."""
_ON_MESSAGE = re.compile(rf"{re.escape(COMMAND_PREFIX)}([a-z]+):([0-9]+)")
NO_MENU: Mapping[str, CommandSpec] = {}
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
    if not _is_person(message.author):
        return None
    private = _is_private(message.channel)
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
        conversation=_conversation(message.channel.id),
        user=_user(message.author),
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
        channel=_channel_of(message.channel),
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


Menu = Mapping[str, CommandSpec]
"""The commands of every message's menu, by what they are called there."""


def normalize_interaction(
    interaction: discord.Interaction[discord.Client], menu: Menu = NO_MENU
) -> Message | Press | Completion | None:
    """A slash command, and one of a message's menu, as the message "/name argument"; a press of our
    button as a Press, and the form that a press or a command opened as that; an option that is
    being typed as a Completion.

    None for everything else, such as buttons that are not ours. ValueError where it does not say
    where it happened, as in kinds of channels that are newer than discord.py.
    """
    if not _is_person(interaction.user):
        return None
    match interaction.type:
        case discord.InteractionType.application_command:
            return _command(interaction, menu)
        case discord.InteractionType.autocomplete:
            return _completion(interaction)
        case discord.InteractionType.component:
            return _press(interaction)
        case discord.InteractionType.modal_submit:
            data = dict(interaction.data or {})
            words = clean(_written(data))
            if asked := _ON_MESSAGE.fullmatch(str(data.get("custom_id", ""))):
                return _given(interaction, f"/{asked[1]} {words}", about=asked[2])
            press = _press(interaction)
            return press and replace(press, words=words)
        case _:
            return None


def asked_form(
    interaction: discord.Interaction[discord.Client], menu: Menu = NO_MENU
) -> Payload | None:
    """The form that comes up where a button of ours that asks for words was pressed, or a command
    given that asks."""
    data: dict[str, Any] = dict(interaction.data or {})
    if interaction.type is discord.InteractionType.application_command:
        spec = _of_menu(data, menu)
        target = str(data.get("target_id", ""))
        asks = spec is not None and spec.asks and target.isdecimal()
        return asking_form(spec.name, target, spec.on_message) if spec and asks else None
    custom_id = str(data.get("custom_id", ""))
    is_press = interaction.type is discord.InteractionType.component
    asks = is_press and custom_id.startswith(ASKING_PREFIX)
    return words_form(clean(custom_id.removeprefix(ASKING_PREFIX))) if asks else None


def _written(component: Mapping[str, Any]) -> str:
    """What stands in the only field of a form, however that is laid out."""
    inner = [*(component.get("components") or ()), component.get("component") or {}]
    texts = [component.get("value"), *(_written(one) for one in inner if one)]
    return "".join(text for text in texts if isinstance(text, str))


def _command(interaction: discord.Interaction[discord.Client], menu: Menu) -> Message | None:
    data: dict[str, Any] = dict(interaction.data or {})
    if (spec := _of_menu(data, menu)) is not None:
        return _given(interaction, f"/{spec.name}", about=str(data.get("target_id", "")))
    if data.get("type") != discord.AppCommandType.chat_input.value:
        return None
    options = [option for option in data.get("options") or () if "value" in option]
    words = [f"/{data.get('name')}", *_arguments(options)]
    files = tuple(_attached(options, data.get("resolved") or {}))
    return _given(interaction, " ".join(words), files=files)


def _of_menu(data: Mapping[str, Any], menu: Menu) -> CommandSpec | None:
    """The command of a message's menu that was given, if one was."""
    is_one = data.get("type") == discord.AppCommandType.message.value
    return menu.get(str(data.get("name"))) if is_one else None


def _given(
    interaction: discord.Interaction[discord.Client],
    line: str,
    *,
    about: str = "",
    files: tuple[File, ...] = (),
) -> Message:
    """A command as a message."""
    if interaction.channel is None:
        raise ValueError("a command does not say where")
    return Message(
        key=f"discord:interaction:{interaction.id}",
        conversation=_conversation(interaction.channel.id),
        user=_user(interaction.user),
        text=clean(line),
        message_id="",
        private=_is_private(interaction.channel),
        handle=_handle("command", interaction),
        files=files,
        sent=interaction.created_at.timestamp(),
        channel=_channel_of(interaction.channel),
        about=clean(about),
    )


def _completion(interaction: discord.Interaction[discord.Client]) -> Completion | None:
    data: dict[str, Any] = dict(interaction.data or {})
    typed = [each for each in data.get("options") or () if each.get("focused")]
    if not typed or interaction.channel is None:
        return None
    return Completion(
        key=f"discord:completion:{interaction.id}",
        conversation=_conversation(interaction.channel.id),
        user=_user(interaction.user),
        command=clean(str(data.get("name"))),
        typed=clean(str(typed[0].get("value", "")))[:_MOST_TYPED],
        handle=_handle("completion", interaction),
        private=_is_private(interaction.channel),
    )


def _arguments(options: list[dict[str, Any]]) -> list[str]:
    values = (str(option["value"]).strip() for option in options if not _is_file(option))
    return [value for value in values if value]


def _attached(options: list[dict[str, Any]], resolved: Mapping[str, Any]) -> Iterator[File]:
    attachments = resolved.get("attachments") or {}
    for option in filter(_is_file, options):
        if attachment := attachments.get(option["value"]):
            name, size = clean(attachment["filename"]), int(attachment["size"])
            media_type = clean(str(attachment.get("content_type") or ""))
            yield File(clean(attachment["url"]), name, size, _file_kind(media_type), media_type)


def _is_file(option: dict[str, Any]) -> bool:
    return option.get("type") == discord.AppCommandOptionType.attachment.value


def _press(interaction: discord.Interaction[discord.Client]) -> Press | None:
    custom_id = str(dict(interaction.data or {}).get("custom_id", ""))
    message, channel = interaction.message, interaction.channel
    if not custom_id.startswith(BUTTON_PREFIX):
        return None
    if message is None or channel is None:
        raise ValueError("a press does not say where")
    return Press(
        key=f"discord:press:{interaction.id}",
        conversation=_conversation(channel.id),
        user=_user(interaction.user),
        token=clean(custom_id.removeprefix(BUTTON_PREFIX)),
        message_id=str(message.id),
        handle=_handle("aside" if message.flags.ephemeral else "press", interaction),
        aside=message.flags.ephemeral,
    )


def _handle(kind: Kind, interaction: discord.Interaction[discord.Client]) -> str:
    return str(Handle(kind, interaction.id, clean(interaction.token)))


def _channel_of(place: object) -> str:
    """Address of the channel that a thread, or a post of a forum, is in; "" for what is none."""
    parent = place.parent_id if isinstance(place, discord.Thread) else None
    return _conversation(parent).address if parent else ""


def _conversation(channel_id: int) -> Conversation:
    # A thread is a channel with an id of its own, so it is a conversation of its own.
    return Conversation("discord", str(channel_id))


def _is_person(user: DiscordUser) -> bool:
    """Not another program, nor Discord itself."""
    return not (user.bot or user.system)


def _user(user: DiscordUser) -> User:
    return User("discord", str(user.id), _name(user))


def _name(user: DiscordUser) -> str:
    return display_name(user.display_name, f"discord:{user.id}")


def _is_private(channel: object) -> bool:
    return isinstance(channel, discord.DMChannel) or (
        isinstance(channel, discord.PartialMessageable)
        and channel.type is discord.ChannelType.private
    )


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
    kind = "voice" if attachment.is_voice_message() else _file_kind(media_type)
    return File(
        clean(attachment.url),
        clean(attachment.filename),
        int(attachment.size),
        kind,
        media_type,
        float(attachment.duration or 0.0),
    )


def _file_kind(media_type: str) -> str:
    match media_type.partition("/")[0]:
        case "image":
            return "photo"
        case "audio" | "video" as kind:
            return kind
        case _:
            return "document"


def _replies_to(message: discord.Message, me: DiscordUser) -> bool:
    replied_to = _replied_to(message)
    return replied_to is not None and replied_to.author.id == me.id


def _is_for_others(message: discord.Message) -> bool:
    """Whether talk that does not address the bot addresses somebody else."""
    named = message.mentions or message.raw_role_mentions
    return bool(named or message.type is discord.MessageType.reply)


def _quoted_from(message: discord.Message, me: DiscordUser) -> str:
    replied_to = _replied_to(message)
    return "" if replied_to is None or replied_to.author.id == me.id else _name(replied_to.author)


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
    names = {user.id: _name(user) for user in message.mentions}
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
