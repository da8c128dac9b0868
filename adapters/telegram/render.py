"""What goes to Telegram: Markdown → message bodies, captions; buttons → a keyboard. Pure.

A body is {"text", "entities"}: the text is never parsed by Telegram, the formats stand beside it.
"""

import logging
import re
from collections.abc import Sequence

from telegram import InlineKeyboardButton, InlineKeyboardMarkup
from telegram.constants import CallbackQueryLimit, InlineKeyboardMarkupLimit, MessageLimit

from adapters.base import Body, Button, Refused
from adapters.cleaning import clean
from adapters.events import User
from adapters.telegram import utf16
from adapters.telegram.markdown import convert
from adapters.telegram.rich import Rich, clipped, split

log = logging.getLogger(__name__)

_LABEL = 64
"""UTF-16 units of a button's label; more does not fit on a phone."""
_CODE = ("code", "pre")
_WORD = re.compile(r"\S+")
_LINKED = re.compile(r"://|@\w|\w\.\w|(?<![\w/])/\w|#\w|\$[A-Za-z]|\+\d")
"""In words of which Telegram makes links by itself, where they are not in code."""
_NO_LINK = str.maketrans("./@#$+", "\N{ONE DOT LEADER}\N{FRACTION SLASH}＠＃＄＋")
"""Characters that look like theirs, and are as long."""
_STYLES = {"primary": "primary", "danger": "danger"}


def render(markdown: str) -> list[Body]:
    """Bodies of at most 4096 UTF-16 units and 100 entities each; none for blank text.

    Never raises: Markdown that cannot be converted is shown as it is written.
    """
    source = clean(markdown)
    if not source.strip():
        return []
    rich = _formatted(source)
    # Markup around nothing ("# ", "&nbsp;") has nothing to show but itself.
    return _bodies(rich) or _bodies(Rich(source))


def keyboard(buttons: Sequence[Button]) -> InlineKeyboardMarkup | None:
    """A row for every button that is not beside another, of at most 8; None for no buttons.

    Refused for more than Telegram takes (100).
    """
    if not buttons:
        return None
    if len(buttons) > InlineKeyboardMarkupLimit.TOTAL_BUTTON_NUMBER:
        raise Refused(f"{len(buttons)} buttons are more than the 100 that Telegram takes")
    rows: list[list[InlineKeyboardButton]] = []
    for button in buttons:
        if button.beside and rows and len(rows[-1]) < InlineKeyboardMarkupLimit.BUTTONS_PER_ROW:
            rows[-1].append(_button(button))
        else:
            rows.append([_button(button)])
    return InlineKeyboardMarkup(rows)


def label(text: str) -> str:
    """A button's label: one line of at most 64 UTF-16 units, and never empty."""
    return shortened(" ".join(clean(text).split()), _LABEL) or "…"


def notice(markdown: str) -> str:
    """What a person who pressed a button is told: plain text of at most 200 UTF-16 units."""
    text = " ".join(body["text"] for body in render(markdown)[:1])
    return shortened(text, CallbackQueryLimit.ANSWER_CALLBACK_QUERY_TEXT_LENGTH)


def caption(body: Body) -> Body:
    """The body as a file's caption: at most 1024 UTF-16 units, "" where it is blank."""
    text = shortened(body["text"], MessageLimit.CAPTION_LENGTH) if body["text"].strip() else ""
    return {"text": text, "entities": clipped(body.get("entities", ()), utf16.length(text))}


def addressed(body: Body, person: User) -> Body:
    """The body with a person's name before it, so that Telegram tells them."""
    name = f"{person.name}, "
    length = utf16.length(name)
    mention = {
        "type": "text_mention",
        "offset": 0,
        "length": length - 2,
        "user": {"id": int(person.id), "is_bot": False, "first_name": person.name},
    }
    moved = [{**one, "offset": one["offset"] + length} for one in body.get("entities", ())]
    return {"text": f"{name}{body['text']}", "entities": [mention, *moved]}


def unformatted(body: Body) -> Body:
    """The body without its formats. What stood in code, which may be anything that a worker saw,
    makes no links without it either."""
    text, table = body["text"], utf16.offsets(body["text"])
    pieces, end = [], 0
    for entity in body.get("entities", ()):
        start = utf16.index(table, entity["offset"])
        if entity["type"] not in _CODE or start < end:
            continue
        pieces.append(text[end:start])
        end = utf16.index(table, entity["offset"] + entity["length"])
        pieces.append(_WORD.sub(_without_link, text[start:end]))
    return {"text": "".join(pieces) + text[end:], "entities": []}


def _without_link(word: re.Match[str]) -> str:
    return word[0].translate(_NO_LINK) if _LINKED.search(word[0]) else word[0]


def _formatted(source: str) -> Rich:
    try:
        return convert(source)
    except BaseException as error:
        # A panic of the parser, which is written in Rust, is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        log.exception("Markdown of %d characters was not converted; sent as it is", len(source))
        return Rich(source)


def _bodies(rich: Rich) -> list[Body]:
    pieces = split(rich, MessageLimit.MAX_TEXT_LENGTH, MessageLimit.MESSAGE_ENTITIES)
    return [{"text": piece.text, "entities": piece.entities} for piece in pieces]


def _button(button: Button) -> InlineKeyboardButton:
    return InlineKeyboardButton(
        label(button.label),
        callback_data=button.token,
        style=_STYLES.get(button.style),
    )


def shortened(text: str, units: int) -> str:
    """The text within this many UTF-16 units; an ellipsis shows where it was cut."""
    if utf16.length(text) <= units:
        return text
    return utf16.prefix(text, units - 1).rstrip() + "…"
