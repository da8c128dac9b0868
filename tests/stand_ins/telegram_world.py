"""Telegram as people see it: chats, messages, buttons, and the updates a bot has not confirmed."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import Any

from tests.stand_ins.telegram_checks import Json, units

STALE = 150.0
"""Seconds after which a press is neither delivered nor answered any more."""

_MENTION = re.compile(r"(?<!\w)@\w{3,}")
_COMMAND = re.compile(r"(?<![\w/])/\w{1,32}(?:@\w{3,})?")


@dataclass
class Chat:
    id: int
    kind: str
    title: str = ""
    forum: bool = False
    messages: dict[int, Json] = field(default_factory=dict)
    topics: dict[int, Json] = field(default_factory=dict)
    """Thread id → the service message that made the topic."""
    blocked: str = ""
    """How the chat refuses the bot, where it does: "bot was blocked by the user"."""
    moved_to: int | None = None
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))


@dataclass(frozen=True)
class Kept:
    """A file as Telegram keeps it. The path is that of its download."""

    id: str
    name: str
    content: bytes = field(repr=False)
    path: str


@dataclass
class Query:
    asked: float
    answered: bool = False


class World:
    def __init__(self, me: Json, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self.me = me
        self.clock = clock
        self.changed = changed
        self.chats: dict[int, Chat] = {}
        self.people: dict[int, Json] = {}
        self.queries: dict[str, Query] = {}
        self.files: dict[str, Kept] = {}
        """By file_id."""
        self.asking: list[Json] = []
        """Messages of the bot that ask for a reply."""
        self.allowed: list[str] = []
        """Kinds of updates the bot wants; empty: those that are the default."""
        self._updates: list[tuple[float, Json]] = []
        self._update_ids = itertools.count(1000)
        self._file_ids = itertools.count(1)
        self._query_ids = itertools.count(4_000_000_000)

    # People and places

    def person(self, user: int, name: str = "", username: str = "") -> Json:
        known = self.people.setdefault(
            user, {"id": user, "is_bot": False, "first_name": name or f"User {user}"}
        )
        if name:
            known["first_name"] = name
        if username:
            known["username"] = username
        return known

    def chat(self, chat: int) -> Chat:
        """The chat, made on first use: private for a person's id, else a group or supergroup."""
        if chat not in self.chats:
            kind = "private" if chat > 0 else "supergroup" if chat < -(10**12) else "group"
            self.chats[chat] = Chat(chat, kind, "" if chat > 0 else f"Group {-chat}")
        return self.chats[chat]

    def topic(self, chat: int, name: str, user: Json) -> int:
        place = self.chat(chat)
        place.forum = True
        made = self.message(place, user)
        thread = int(made["message_id"])
        made["forum_topic_created"] = {"name": name, "icon_color": 7322096}
        made.update(message_thread_id=thread, is_topic_message=True)
        place.topics[thread] = made
        return thread

    def shown(self, chat: Chat) -> Json:
        if chat.kind == "private":
            name = self.person(chat.id)["first_name"]
            return {"id": chat.id, "type": "private", "first_name": name}
        forum = {"is_forum": True} if chat.forum else {}
        return {"id": chat.id, "type": chat.kind, "title": chat.title, **forum}

    # Messages

    def message(self, chat: Chat, sender: Json, thread: int | None = None, **more: Any) -> Json:
        number = next(chat.numbers)
        message: Json = {
            "message_id": number,
            "from": sender,
            "chat": self.shown(chat),
            "date": int(self.clock()),
            **{name: value for name, value in more.items() if value is not None},
        }
        if thread is not None:
            message.update(message_thread_id=thread, is_topic_message=True)
        chat.messages[number] = message
        self._thread_replies(chat, message, thread)
        return message

    def _thread_replies(self, chat: Chat, message: Json, thread: int | None) -> None:
        """Messages of a topic reply to its beginning; replies elsewhere are a thread too."""
        reply = message.get("reply_to_message")
        if thread is not None and reply is None:
            message["reply_to_message"] = chat.topics[thread]
        elif thread is None and reply is not None and chat.kind == "supergroup":
            message["message_thread_id"] = reply["message_id"]

    def replied(self, chat: Chat, number: int) -> Json:
        """A message as it stands in an answer to it: without what it answers itself."""
        return {k: v for k, v in chat.messages[number].items() if k != "reply_to_message"}

    def say(
        self,
        chat: int,
        user: int,
        text: str,
        *,
        reply_to: Json | int | None = None,
        thread: int | None = None,
        entities: list[Json] | None = None,
        caption: bool = False,
        **more: Any,
    ) -> Json:
        """A person says something; the update that the bot gets."""
        place = self.chat(chat)
        number = reply_to["message_id"] if isinstance(reply_to, dict) else reply_to
        marks = [*found_entities(text), *(entities or ())]
        words, formats = ("caption", "caption_entities") if caption else ("text", "entities")
        message = self.message(
            place,
            self.person(user),
            thread,
            reply_to_message=None if number is None else self.replied(place, number),
            **{words: text or None, formats: marks or None},
            **more,
        )
        return self.publish("message", message)

    def edit(
        self, message: Json, text: str, *, entities: list[Json] | None = None, **more: Any
    ) -> Json:
        """A person changes the text or caption of their message; the update that the bot gets."""
        place = self.chats[message["chat"]["id"]]
        before = place.messages[message["message_id"]]
        media = "document" in before or "photo" in before
        shown, formats = ("caption", "caption_entities") if media else ("text", "entities")
        marks = [*found_entities(text), *(entities or ())]
        changed = {shown: text or None, formats: marks or None, "edit_date": int(self.clock())}
        after = {**before, **changed, **more}
        # A copy: what the bot has not fetched yet tells what was said then.
        edited = {name: value for name, value in after.items() if value is not None}
        place.messages[message["message_id"]] = edited
        return self.publish("edited_message", edited)

    def press(self, message: Json, button: str, user: int) -> Json:
        """A person presses the button with this label or data. LookupError where there is none."""
        place = self.chats[message["chat"]["id"]]
        current = place.messages[message["message_id"]]
        for one in buttons(current):
            if button in (one["text"], one["callback_data"]):
                return self.forge(current, one["callback_data"], user)
        raise LookupError(f"no button {button!r} on {words(current)!r}")

    def forge(self, message: Json, data: str, user: int) -> Json:
        """A press with any data, as a changed client could send it."""
        query = str(next(self._query_ids))
        self.queries[query] = Query(self.clock())
        return self.publish(
            "callback_query",
            {
                "id": query,
                "from": self.person(user),
                "message": message,
                "chat_instance": str(message["chat"]["id"]),
                "data": data,
            },
        )

    # Files

    def keep(self, name: str, content: bytes) -> str:
        """The file_id of a new file."""
        number = next(self._file_ids)
        ending = PurePosixPath(name).suffix
        kept = Kept(f"BQAC-{number}", name, content, f"documents/file_{number}{ending}")
        self.files[kept.id] = kept
        return kept.id

    def document(self, file_id: str) -> Json:
        """A kept file as a Document."""
        kept = self.files[file_id]
        return {
            "file_id": kept.id,
            "file_unique_id": f"unique-{kept.id}",
            "file_name": kept.name,
            "mime_type": guess_type(kept.name)[0] or "application/octet-stream",
            "file_size": len(kept.content),
        }

    # Updates

    def publish(self, kind: str, payload: Json) -> Json:
        update = {"update_id": next(self._update_ids), kind: payload}
        if not self.allowed or kind in self.allowed:
            self._updates.append((self.clock(), update))
        self.changed()
        return update

    def repeat(self, update: Json) -> None:
        """Send it again under a new update id, as Telegram may."""
        self._updates.append((self.clock(), {**update, "update_id": next(self._update_ids)}))
        self.changed()

    def confirm(self, below: int) -> None:
        self._updates = [(when, u) for when, u in self._updates if u["update_id"] >= below]

    def drop(self, number: int) -> None:
        """One update is with the bot."""
        self._updates = [(when, u) for when, u in self._updates if u["update_id"] != number]

    def forget(self) -> None:
        self._updates.clear()

    @property
    def pending(self) -> list[Json]:
        """What the bot has not confirmed; presses only as long as they are fresh."""
        oldest = self.clock() - STALE
        self._updates = [
            (when, update)
            for when, update in self._updates
            if when > oldest or "callback_query" not in update
        ]
        return [update for _, update in self._updates]


def words(message: Json) -> str:
    """The text or the caption of a message."""
    return str(message.get("text") or message.get("caption") or "")


def rows(message: Json) -> list[list[Json]]:
    """The buttons of a message, row by row."""
    keyboard: list[list[Json]] = message.get("reply_markup", {}).get("inline_keyboard", [])
    return [[button for button in row if "callback_data" in button] for row in keyboard]


def buttons(message: Json) -> list[Json]:
    return [button for row in rows(message) for button in row]


def found_entities(text: str) -> list[Json]:
    """The mentions and commands that Telegram marks in what people write."""
    found = [("bot_command", match) for match in _COMMAND.finditer(text)]
    inside = [match.span() for _, match in found]
    found += [
        ("mention", match)
        for match in _MENTION.finditer(text)
        if not any(start <= match.start() < end for start, end in inside)
    ]
    return [
        {"type": kind, "offset": units(text[: match.start()]), "length": units(match[0])}
        for kind, match in sorted(found, key=lambda one: one[1].start())
    ]
