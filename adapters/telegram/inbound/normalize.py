"""What comes from Telegram, in Bough's words: `telegram.Update` → `Update`. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import telegram
from telegram.constants import ChatType, MessageEntityType

from adapters.cleaning import clean, display_name
from adapters.events import Conversation, File, Message, Press, User
from adapters.telegram import utf16

PLATFORM = "telegram"
LARGEST_PHOTO = 10_000_000
"""Bytes of a picture that is fetched, where there is a smaller one of it."""

_ATTACHMENTS = (
    "animation",
    "audio",
    "checklist",
    "contact",
    "dice",
    "document",
    "game",
    "location",
    "paid_media",
    "photo",
    "poll",
    "sticker",
    "story",
    "venue",
    "video",
    "video_note",
    "voice",
)
_NOBODY = frozenset({777_000, 1_087_968_824, 136_817_688})
"""Accounts of Telegram's own, in whose name channels, anonymous administrators and chats write."""
# What Telegram sends along for clients that do not know the newer kind.
_SHADOWED = {"animation": "document", "venue": "location"}


def normalize(update: telegram.Update, me: telegram.User) -> Message | Press | None:
    """A message to the bot, an edit of one, or a press; None for everything else.

    In private every message is for the bot `me`; in a group the ones that mention it, reply to it
    or are a command that is not another bot's are addressed to it; an edit is judged by its new
    text. Channels, service messages, other bots, people who write in the name of a chat and what is
    said to somebody else (a reply to them, or a mention) are left out. What somebody passes on is
    what they show, not what they say: it is quoted, and no command, code or answer.
    """
    if update.message is not None:
        return _message(update.message, me)
    if update.edited_message is not None:
        return _edit(update.edited_message, me)
    if update.callback_query is not None:
        return _press(update.callback_query)
    return None


def _message(message: telegram.Message, me: telegram.User) -> Message | None:
    person = message.from_user
    if person is None or not _is_person(person) or message.sender_chat is not None:
        return None
    if message.is_automatic_forward:
        return None
    forwarded = message.forward_origin is not None
    attachments = _attachments(message)
    text = message.text or message.caption or ""
    if not text and not attachments:
        return None
    private = message.chat.type == ChatType.PRIVATE
    call = _call(text, message.entities or message.caption_entities, me)
    addressed = private or (not forwarded and _addressed(message, call, me))
    if not addressed and (forwarded or _is_for_others(message, call)):
        return None
    return Message(
        key=f"{PLATFORM}:{message.chat.id}:{message.message_id}",
        conversation=_conversation(message),
        user=_user(person),
        text="" if forwarded else clean(call.text),
        message_id=str(message.message_id),
        private=private,
        quoted=_passed_on(message, text) if forwarded else clean(_quoted(message, me)),
        attachments=attachments,
        reply_to="" if forwarded else _reply_to(message),
        reply_token="" if forwarded else _reply_token(message, me),
        files=_files(message),
        sent=message.date.timestamp(),
        addressed=addressed,
        quoted_from=_quoted_from(message, me),
        album=clean(message.media_group_id or ""),
    )


def _edit(message: telegram.Message, me: telegram.User) -> Message | None:
    if message.location is not None:
        return None  # A live location is edited every few seconds, and has no text.
    arrived = _message(message, me)
    if arrived is None:
        return None
    # The date is in whole seconds: the text tells two edits within one second apart.
    date = message.edit_date or message.date
    digest = sha256(arrived.text.encode()).hexdigest()[:16]
    key = f"{arrived.key}:edit:{int(date.timestamp())}:{digest}"
    return replace(arrived, key=key, kind="edit", sent=date.timestamp())


def _press(query: telegram.CallbackQuery) -> Press | None:
    if query.message is None or query.data is None or not _is_person(query.from_user):
        return None
    return Press(
        key=f"{PLATFORM}:press:{query.id}",
        conversation=_conversation(query.message),
        user=_user(query.from_user),
        token=clean(query.data),
        message_id=str(query.message.message_id),
        handle=query.id,
    )


def _is_person(user: telegram.User) -> bool:
    return not user.is_bot and user.id not in _NOBODY


def _passed_on(message: telegram.Message, text: str) -> str:
    """A forwarded text, below whose it is."""
    match message.forward_origin:
        case telegram.MessageOriginUser(sender_user=sender):
            name = sender.full_name
        case telegram.MessageOriginHiddenUser(sender_user_name=hidden):
            name = hidden
        case telegram.MessageOriginChat(sender_chat=chat):
            name = chat.effective_name or ""
        case telegram.MessageOriginChannel(chat=chat):
            name = chat.effective_name or ""
        case _:
            name = ""
    return f"[forwarded from {display_name(name, 'somebody')}]\n{clean(text)}".strip()


def _user(person: telegram.User) -> User:
    name = display_name(person.full_name, f"{PLATFORM}:{person.id}")
    return User(PLATFORM, str(person.id), name)


def _conversation(message: telegram.MaybeInaccessibleMessage) -> Conversation:
    """The chat, or the forum topic. An old message that is inaccessible does not say its topic."""
    thread = ""
    # Replies outside of forums have a message_thread_id too.
    if isinstance(message, telegram.Message) and message.is_topic_message:
        thread = str(message.message_thread_id or "")
    return Conversation(PLATFORM, str(message.chat.id), thread)


def _attachments(message: telegram.Message) -> tuple[str, ...]:
    kinds = [kind for kind in _ATTACHMENTS if getattr(message, kind)]
    shadowed = {_SHADOWED.get(kind) for kind in kinds}
    return tuple(kind for kind in kinds if kind not in shadowed)


def _reply_to(message: telegram.Message) -> str:
    reply = message.reply_to_message
    return "" if reply is None or _made_topic(reply) else str(reply.message_id)


def _reply_token(message: telegram.Message, me: telegram.User) -> str:
    reply = message.reply_to_message
    if reply is None or reply.reply_markup is None or not _is_from(reply, me):
        return ""
    tokens = (button.callback_data for row in reply.reply_markup.inline_keyboard for button in row)
    return next((clean(token) for token in tokens if isinstance(token, str)), "")


def _made_topic(reply: telegram.Message) -> bool:
    """In a topic, every message that is no other reply replies to the one that made the topic."""
    return reply.forum_topic_created is not None


def _files(message: telegram.Message) -> tuple[File, ...]:
    """Those of the message, then of the one it replies to."""
    carriers = (message, message.reply_to_message)
    return tuple(
        file
        for one in carriers
        if one is not None
        for kind in _attachments(one)
        if (file := _file(kind, one)) is not None
    )


def _file(kind: str, message: telegram.Message) -> File | None:
    """None for what is no file (a poll, a place …)."""
    match kind:
        case "photo":
            sizes = message.photo
            # All of one picture, smallest first; one that is too big to be fetched is passed over.
            fitting = [size for size in sizes if (size.file_size or 0) <= LARGEST_PHOTO] or sizes
            best = max(fitting, key=lambda size: size.width * size.height)
            return File(best.file_id, "", best.file_size or 0, "photo", "image/jpeg")
        case "document" | "voice" | "audio" | "video" | "video_note" | "animation":
            return _named_file(kind, getattr(message, kind))
        case "sticker" if (sticker := message.sticker) is not None:
            moves = sticker.is_animated or sticker.is_video
            if moves and sticker.thumbnail is not None:
                small = sticker.thumbnail
                return File(small.file_id, sticker.emoji or "", small.file_size or 0, "sticker")
            name = clean(sticker.emoji or "")
            return File(sticker.file_id, name, sticker.file_size or 0, "sticker")
        case _:
            return None


def _named_file(kind: str, given: Any) -> File:
    """What has a length, a name or a type has it under the same names."""
    # The library's own attribute is about to change from seconds to a timedelta, and warns of it.
    seconds = given.to_dict().get("duration") or 0
    return File(
        given.file_id,
        clean(getattr(given, "file_name", None) or ""),
        given.file_size or 0,
        kind,
        clean(getattr(given, "mime_type", None) or ""),
        float(seconds),
    )


def _quoted(message: telegram.Message, me: telegram.User) -> str:
    """What the message replies to. Of the bot's own words, only what the person marked."""
    reply, quote = message.reply_to_message, message.quote
    own = reply is not None and _is_from(reply, me)
    if quote is not None and (quote.is_manual or not own):
        return quote.text
    if reply is None or own:
        return ""
    return reply.text or reply.caption or ""


def _quoted_from(message: telegram.Message, me: telegram.User) -> str:
    """Who said what the message replies to: a person, a bot, or a chat in whose name it was."""
    reply = message.reply_to_message
    if reply is None or _made_topic(reply) or _is_from(reply, me):
        return ""
    if reply.sender_chat is not None:
        return display_name(reply.sender_chat.effective_name or "", "")
    person = reply.from_user
    return _user(person).name if person is not None else ""


def _is_from(message: telegram.Message, me: telegram.User) -> bool:
    return message.from_user is not None and message.from_user.id == me.id


@dataclass(frozen=True, slots=True)
class _Call:
    """How a text calls the bot."""

    text: str
    """Without the bot's name."""
    mentioned: bool = False
    command: bool = False
    """A command that is not another bot's."""
    other: bool = False
    """A command that is another bot's."""
    others: bool = False
    """Somebody else is mentioned."""


def _call(text: str, entities: Sequence[telegram.MessageEntity], me: telegram.User) -> _Call:
    table = utf16.offsets(text)
    name = f"@{me.username}".casefold()
    mentioned = command = other = others = False
    cuts: list[tuple[int, int]] = []
    for entity in entities:
        start = utf16.index(table, entity.offset)
        end = utf16.index(table, entity.offset + entity.length)
        words = text[start:end]
        match entity.type:
            case MessageEntityType.MENTION if words.casefold() == name:
                mentioned = True
                cuts.append((start, end))
            case MessageEntityType.TEXT_MENTION if entity.user and entity.user.id == me.id:
                mentioned = True
                cuts.append((start, end))
            case MessageEntityType.MENTION | MessageEntityType.TEXT_MENTION:
                others = True
            case MessageEntityType.BOT_COMMAND:
                at = words.find("@")
                own = at < 0 or words[at:].casefold() == name
                if start == 0:
                    command, other = own, not own
                if own and at >= 0:
                    cuts.append((start + at, end))
    for start, end in sorted(cuts, reverse=True):
        text = _without(text, start, end)
    return _Call(text, mentioned, command, other, others)


def _without(text: str, start: int, end: int) -> str:
    """The text without a name in it, and without the space or comma that belonged to the name."""
    before, after = text[:start], text[end:]
    if not before.strip():
        return after.lstrip(" ,:").lstrip("\n")
    if before[-1].isspace():
        if after.startswith(" "):
            after = after[1:]
        elif not after or after[0] in ".?!":
            before = before.rstrip(" ,\n")
        else:
            before = before[:-1]
    return before + after


def _addressed(message: telegram.Message, call: _Call, me: telegram.User) -> bool:
    if message.chat.type not in (ChatType.GROUP, ChatType.SUPERGROUP) or call.other:
        return False
    reply = message.reply_to_message
    replied = reply is not None and _is_from(reply, me) and not _made_topic(reply)
    return call.mentioned or call.command or replied


def _is_for_others(message: telegram.Message, call: _Call) -> bool:
    """Whether talk that does not address the bot addresses somebody else, or nobody can answer
    it."""
    if message.chat.type not in (ChatType.GROUP, ChatType.SUPERGROUP):
        return True
    reply = message.reply_to_message
    return call.other or call.others or (reply is not None and not _made_topic(reply))
