"""Discord's interactions as updates: commands, presses, forms, options that are typed. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import discord

from adapters.base import CommandSpec
from adapters.cleaning import clean
from adapters.discord.inbound.parts import (
    channel_of,
    conversation_of,
    file_kind,
    is_person,
    is_private,
    user_of,
)
from adapters.discord.interactions import Handle, Kind
from adapters.discord.payload import (
    ASKING_PREFIX,
    BUTTON_PREFIX,
    COMMAND_PREFIX,
    Payload,
    asking_form,
    words_form,
)
from adapters.events import Completion, File, Message, Press

_MOST_TYPED = 1_000
"""Characters of an option that are looked at."""
_ON_MESSAGE = re.compile(rf"{re.escape(COMMAND_PREFIX)}([a-z]+):([0-9]+)")
NO_MENU: Mapping[str, CommandSpec] = {}
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
    if not is_person(interaction.user):
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
        conversation=conversation_of(interaction.channel.id),
        user=user_of(interaction.user),
        text=clean(line),
        message_id="",
        private=is_private(interaction.channel),
        handle=_handle("command", interaction),
        files=files,
        sent=interaction.created_at.timestamp(),
        channel=channel_of(interaction.channel),
        about=clean(about),
    )


def _completion(interaction: discord.Interaction[discord.Client]) -> Completion | None:
    data: dict[str, Any] = dict(interaction.data or {})
    typed = [each for each in data.get("options") or () if each.get("focused")]
    if not typed or interaction.channel is None:
        return None
    return Completion(
        key=f"discord:completion:{interaction.id}",
        conversation=conversation_of(interaction.channel.id),
        user=user_of(interaction.user),
        command=clean(str(data.get("name"))),
        typed=clean(str(typed[0].get("value", "")))[:_MOST_TYPED],
        handle=_handle("completion", interaction),
        private=is_private(interaction.channel),
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
            yield File(clean(attachment["url"]), name, size, file_kind(media_type), media_type)


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
        conversation=conversation_of(channel.id),
        user=user_of(interaction.user),
        token=clean(custom_id.removeprefix(BUTTON_PREFIX)),
        message_id=str(message.id),
        handle=_handle("aside" if message.flags.ephemeral else "press", interaction),
        aside=message.flags.ephemeral,
    )


def _handle(kind: Kind, interaction: discord.Interaction[discord.Client]) -> str:
    return str(Handle(kind, interaction.id, clean(interaction.token)))
