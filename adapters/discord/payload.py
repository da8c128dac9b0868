"""Outgoing messages, buttons and commands as the JSON that Discord takes. Pure.

Nothing here ever pings anybody: what the agent writes is untrusted, and so is what it quotes.
"""

import logging
import re
from collections.abc import Sequence
from typing import Any

from discord.utils import escape_markdown

from adapters.base import Button, CommandSpec, Edit, Post
from adapters.discord.text import LIMIT, fit, units
from adapters.events import clean

Payload = dict[str, Any]

BUTTON_PREFIX = "bough:"
"""What every custom_id of ours starts with; the button's token follows."""

_ROW = 5
_ROWS = 5
_LABEL = 80
_NONCE = 25
_NAME = 32
_DESCRIPTION = 100
_NOT_IN_NAMES = re.compile(r"[^\w-]+")

_ACTION_ROW, _BUTTON = 1, 2
_STYLES = {"primary": 1, "plain": 2, "danger": 4}
_STRING_OPTION = 3
_SUPPRESS_EMBEDS = 1 << 2
_EPHEMERAL = 1 << 6
_IN_SERVERS, _IN_PRIVATE = 0, 1

_log = logging.getLogger(__name__)


def new_message(post: Post, *, reply: bool = True) -> Payload:
    """`reply`: whether to show it as a reply where the post asks for that."""
    payload = changed_message(post)
    if not post.buttons:
        del payload["components"]
    if post.nonce:
        # With enforce_nonce Discord gives back the first message instead of making a second one.
        payload |= {"nonce": post.nonce[:_NONCE], "enforce_nonce": True}
    if reply and post.reply_to:
        payload["message_reference"] = {
            "message_id": post.reply_to,
            "fail_if_not_exists": False,
        }
    return payload


def changed_message(message: Post | Edit) -> Payload:
    """Text and buttons, all of them: buttons that are not given are taken away."""
    return {
        "content": _content(message),
        "components": _rows(message.buttons),
        "allowed_mentions": {"parse": []},
        "flags": _SUPPRESS_EMBEDS,
    }


def whisper(text: str) -> Payload:
    """A message that only one person sees."""
    return {
        "content": fit(clean(text), LIMIT),
        "allowed_mentions": {"parse": []},
        "flags": _SUPPRESS_EMBEDS | _EPHEMERAL,
    }


def command(spec: CommandSpec) -> Payload:
    """A slash command for servers and private chats."""
    payload: Payload = {
        "name": spec.name,
        "description": fit(spec.description, _DESCRIPTION),
        "contexts": [_IN_SERVERS, _IN_PRIVATE],
    }
    if spec.argument:
        option = {
            "type": _STRING_OPTION,
            "name": _NOT_IN_NAMES.sub("-", spec.argument.lower())[:_NAME],
            "description": fit(spec.argument, _DESCRIPTION),
            "required": False,
        }
        payload["options"] = [option]
    return payload


def _content(message: Post | Edit) -> str:
    text = str(message.body["text"])
    if message.plain:
        escaped = escape_markdown(text)
        # Escapes make it longer; where they do not fit, markup is the smaller evil.
        return escaped if units(escaped) <= LIMIT else text
    return text


def _rows(buttons: Sequence[Button]) -> list[Payload]:
    shown = buttons[: _ROW * _ROWS]
    if len(shown) < len(buttons):
        left_out = len(buttons) - len(shown)
        _log.warning("Discord shows %d buttons; %d are left out", len(shown), left_out)
    return [
        {
            "type": _ACTION_ROW,
            "components": [_button(button) for button in shown[start : start + _ROW]],
        }
        for start in range(0, len(shown), _ROW)
    ]


def _button(button: Button) -> Payload:
    return {
        "type": _BUTTON,
        "style": _STYLES.get(button.style, _STYLES["plain"]),
        # A button without a label is refused.
        "label": fit(clean(button.label).strip(), _LABEL) or "…",
        "custom_id": f"{BUTTON_PREFIX}{button.token}",
    }
