"""Outgoing messages, buttons and commands as the JSON that Discord takes. Pure.

Nothing here ever pings anybody: what the agent writes is untrusted, and so is what it quotes.
"""

import json
import logging
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from discord.utils import escape_markdown

from adapters.base import (
    LONGEST_CHOICE,
    MOST_CHOICES,
    Button,
    CommandSpec,
    Edit,
    OpenThread,
    Post,
    Suggest,
    Upload,
)
from adapters.cleaning import clean
from adapters.discord.segments import LIMIT, fit, units
from adapters.filenames import safe_name

Payload = dict[str, Any]

BUTTON_PREFIX = "bough:"
"""What every custom_id of ours starts with; the button's token follows."""
ASKING_PREFIX = "bough.asks:"
"""The same of a button that asks for words; the form's own custom_id is like a button's."""
COMMAND_PREFIX = "bough.on:"
"""What the custom_id of a form starts with that a command on a message asks with: its name and the
message's id follow, as "label:123"."""

_ROW = 5
_ROWS = 5
_LABEL = 80
_NONCE = 25
_NAME = 32
_DESCRIPTION = 100
_CODE = re.compile(r"(```.*?```|``.+?``|`[^`\n]+`)", re.DOTALL)
_NOT_IN_NAMES = re.compile(r"[^\w-]+")

_ACTION_ROW, _BUTTON, _TEXT_INPUT, _LABELLED = 1, 2, 4, 18
_ONE_LINE, _PARAGRAPH = 1, 2
_CHOICES, _FORM = 8, 9
_MOST_WORDS, _ONE_LINE_WORDS = 4_000, 1_000
_THREAD_NAME = 100
_MESSAGE_COMMAND = 3
_MOST_ON_MESSAGES = 5
_STYLES = {"primary": 1, "plain": 2, "danger": 4}
_STRING_OPTION, _ATTACHMENT_OPTION = 3, 11
_SUPPRESS_EMBEDS = 1 << 2
_EPHEMERAL = 1 << 6
_IN_SERVERS, _IN_PRIVATE = 0, 1
_SUFFIXES = {"image/png": (".png",), "image/jpeg": (".jpg", ".jpeg")}
"""Of the names of what is shown as a picture."""

_log = logging.getLogger(__name__)


def new_message(post: Post) -> Payload:
    payload = changed_message(post)
    if not post.buttons:
        del payload["components"]
    if post.nonce:
        # With enforce_nonce Discord gives back the first message instead of making a second one.
        payload |= {"nonce": post.nonce[:_NONCE], "enforce_nonce": True}
    # A thread is called by the id of the message it hangs on, which stands in the channel.
    if post.reply_to and post.reply_to != post.conversation.chat:
        payload["message_reference"] = {
            "message_id": post.reply_to,
            "fail_if_not_exists": False,
        }
    return payload


def changed_message(message: Post | Edit) -> Payload:
    """Text and buttons, all of them: buttons that are not given are taken away. Files stay."""
    payload: Payload = {
        "content": _content(message),
        "components": _rows(message.buttons),
        "allowed_mentions": {"parse": []},
        "flags": _SUPPRESS_EMBEDS,
    }
    if isinstance(message, Post) and message.upload is not None:
        payload["attachments"] = [{"id": "0", "filename": _file_name(message.upload)}]
    return payload


def form(payload: Payload, upload: Upload) -> list[Payload]:
    """A message and its file as the fields of a multipart form, as discord.py takes them."""
    return [
        {
            "name": "payload_json",
            "value": json.dumps(payload),
            "content_type": "application/json",
        },
        {
            "name": "files[0]",
            "value": upload.data,
            "filename": _file_name(upload),
            "content_type": upload.media_type,
        },
    ]


def label(text: str) -> str:
    """A button's label: one line of at most 80 UTF-16 units. One without any is refused."""
    return fit(" ".join(clean(text).split()), _LABEL) or "…"


def whisper(text: str) -> Payload:
    """A message that only one person sees."""
    return {
        "content": fit(clean(text), LIMIT),
        "allowed_mentions": {"parse": []},
        "flags": _SUPPRESS_EMBEDS | _EPHEMERAL,
    }


def words_form(token: str) -> Payload:
    """The answer to a press that opens a form for words. All that is known of it is its custom_id,
    so it may come back to another process."""
    return _form(f"{BUTTON_PREFIX}{token}", "Answer in words", "Your answer", _PARAGRAPH)


def _form(custom_id: str, title: str, label: str, style: int) -> Payload:
    field = {
        "type": _TEXT_INPUT,
        "custom_id": "words",
        "style": style,
        "min_length": 1,
        "max_length": _MOST_WORDS if style == _PARAGRAPH else _ONE_LINE_WORDS,
        "required": True,
    }
    return {
        "type": _FORM,
        "data": {
            "custom_id": custom_id,
            "title": title,
            "components": [{"type": _LABELLED, "label": label, "component": field}],
        },
    }


def new_thread(thread: OpenThread) -> Payload:
    return {"name": fit(" ".join(clean(thread.name).split()), _THREAD_NAME) or "…"}


def suggestions(suggest: Suggest) -> Payload:
    """The answer to an option that is being typed."""
    choices = [
        {"name": fit(clean(one.label), LONGEST_CHOICE) or "…", "value": one.value}
        for one in suggest.choices[:MOST_CHOICES]
        if len(one.value) <= LONGEST_CHOICE
    ]
    return {"type": _CHOICES, "data": {"choices": choices}}


def asking_form(command: str, message_id: str, title: str) -> Payload:
    """The answer to a command that was given on a message, and asks for words first."""
    return _form(f"{COMMAND_PREFIX}{command}:{message_id}", title, "Name", _ONE_LINE)


def commands(specs: Sequence[CommandSpec]) -> list[Payload]:
    """All of them, and those that stand in the menu of every message."""
    on_messages = [_message_command(spec) for spec in specs if spec.on_message]
    return [*map(command, specs), *on_messages[:_MOST_ON_MESSAGES]]


def _message_command(spec: CommandSpec) -> Payload:
    kind, places = _MESSAGE_COMMAND, [_IN_SERVERS, _IN_PRIVATE]
    return {"name": fit(spec.on_message, _NAME), "type": kind, "contexts": places}


def command(spec: CommandSpec) -> Payload:
    """A slash command for servers and private chats."""
    payload: Payload = {
        "name": spec.name,
        "description": fit(spec.description, _DESCRIPTION),
        "contexts": [_IN_PRIVATE] if spec.private else [_IN_SERVERS, _IN_PRIVATE],
    }
    options = [_option(_STRING_OPTION, spec.argument)] if spec.argument else []
    if options and spec.completes:
        options[0]["autocomplete"] = True
    if spec.file:
        options.append(_option(_ATTACHMENT_OPTION, "attachment"))
    return payload | {"options": options} if options else payload


def _option(kind: int, name: str) -> Payload:
    return {
        "type": kind,
        "name": _NOT_IN_NAMES.sub("-", name.lower())[:_NAME],
        "description": fit(name, _DESCRIPTION),
        "required": False,
    }


def _file_name(upload: Upload) -> str:
    """Discord shows as a picture what is called one."""
    name = safe_name(upload.name)
    suffixes = _SUFFIXES.get(upload.media_type, ("",))
    return name if name.lower().endswith(suffixes) else f"{name}{suffixes[0]}"


def _content(message: Post | Edit) -> str:
    text = str(message.body["text"])
    if message.plain:
        # Code stays code: out of it, what a worker saw would make links.
        escaped = "".join(
            piece if piece.startswith("`") else escape_markdown(piece)
            for piece in _CODE.split(text)
        )
        # Escapes make it longer; where they do not fit, markup is the smaller evil.
        return escaped if units(escaped) <= LIMIT else text
    return text


def _rows(buttons: Sequence[Button]) -> list[Payload]:
    shown = buttons[: _ROW * _ROWS]
    if len(shown) < len(buttons):
        left_out = len(buttons) - len(shown)
        _log.warning("Discord shows %d buttons; %d are left out", len(shown), left_out)
    return [
        {"type": _ACTION_ROW, "components": [_button(button) for button in row]}
        for row in _packed(shown)
    ]


def _packed(buttons: Sequence[Button]) -> list[list[Button]]:
    """In full rows; where some stand beside others, in a row for each group as far as that goes.

    Of more groups than rows, the smallest neighbours share a row. Where even that is too much,
    the rows are filled.
    """
    full = [list(buttons[start : start + _ROW]) for start in range(0, len(buttons), _ROW)]
    if not any(button.beside for button in buttons):
        return full
    rows = _groups(buttons)
    while len(rows) > _ROWS:
        sizes = [len(row) + len(following) for row, following in pairwise(rows)]
        if min(sizes) > _ROW:
            return full
        first = sizes.index(min(sizes))
        rows[first : first + 2] = [rows[first] + rows[first + 1]]
    return rows


def _groups(buttons: Sequence[Button]) -> list[list[Button]]:
    rows: list[list[Button]] = []
    for button in buttons:
        if button.beside and rows and len(rows[-1]) < _ROW:
            rows[-1].append(button)
        else:
            rows.append([button])
    return rows


def _button(button: Button) -> Payload:
    return {
        "type": _BUTTON,
        "style": _STYLES.get(button.style, _STYLES["plain"]),
        "label": label(button.label),
        "custom_id": f"{ASKING_PREFIX if button.asks else BUTTON_PREFIX}{button.token}",
    }
