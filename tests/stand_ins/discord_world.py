"""A small Discord: people, one server, channels, messages, in the JSON shapes of API version 10."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from tests.stand_ins.discord_checks import ApiError, check_message, check_thread_name, numbered
from tests.stand_ins.discord_files import Cdn, Sent

Json = dict[str, Any]

EPOCH_MS = 1_420_070_400_000
EPHEMERAL = 1 << 6
LOADING = 1 << 7
WHISPER = "WHISPER"
"""An event for watchers; the gateway never sends it."""
_KINDS = {"text": 0, "dm": 1, "thread": 11}


@dataclass(frozen=True, slots=True)
class User:
    id: int
    name: str
    bot: bool = False

    def json(self) -> Json:
        return {
            "id": str(self.id),
            "username": self.name.lower(),
            "global_name": self.name,
            "discriminator": "0",
            "avatar": None,
            "bot": self.bot,
            "public_flags": 0,
            "flags": 0,
            "primary_guild": None,
        }

    def member(self) -> Json:
        return {
            "roles": [],
            "joined_at": "2020-01-01T00:00:00+00:00",
            "deaf": False,
            "mute": False,
            "flags": 0,
        }


@dataclass(slots=True)
class Channel:
    id: int
    kind: Literal["text", "dm", "thread"]
    name: str = ""
    parent: "Channel | None" = None
    recipient: User | None = None
    messages: list[Json] = field(default_factory=list)
    forbidden: bool = False
    """The bot may neither read nor write here."""
    archived: bool = False
    """Of a thread: nobody has written there for long. A new message opens it again."""
    locked: bool = False
    """Of a thread: the bot may not write there."""

    def message(self, message_id: str) -> Json:
        for message in self.messages:
            if message["id"] == message_id:
                return message
        raise ApiError(404, 10008, "Unknown Message")


@dataclass(slots=True)
class Interaction:
    id: int
    token: str
    kind: Literal["command", "press", "form", "completion"]
    channel: Channel
    user: User
    created: float
    message: Json | None
    """The message of a press; of a command its answer, once there is one."""
    answered: int | None = None
    """Type of the callback that was accepted."""
    form: Json | None = None
    """What was opened by it."""
    choices: list[Json] | None = None
    """What was offered to who types an option."""


@dataclass(frozen=True, slots=True)
class Whisper:
    """An ephemeral message, and the one person who sees it."""

    user: User
    text: str


class World:
    """The state. `announce` is told of each event as the gateway names it."""

    def __init__(self, announce: Callable[[str, Json], None]) -> None:
        self._announce = announce
        self._last_snowflake = 0
        self.clock: Callable[[], float] = time.time
        self.cdn = Cdn(self.snowflake)
        self.users: dict[str, User] = {}
        self.channels: dict[int, Channel] = {}
        self.commands: list[Json] = []
        self.interactions: dict[str, Interaction] = {}
        self.whispers: list[Whisper] = []
        self.typing: list[Channel] = []
        self.message_content = False
        """Whether the bot may have the message content intent, and with it read all talk."""
        self._nonces: dict[tuple[int, str], Json] = {}
        self.bot = User(self.snowflake(), "Bough", bot=True)
        self.guild_id = self.snowflake()
        self.role_id = self.snowflake()
        """The role that Discord makes for the bot."""

    def snowflake(self) -> int:
        now = (int(self.clock() * 1000) - EPOCH_MS) << 22
        self._last_snowflake = max(now, self._last_snowflake + 1)
        return self._last_snowflake

    # People and places.

    def user(self, name: str) -> User:
        if name not in self.users:
            self.users[name] = User(self.snowflake(), name)
        return self.users[name]

    def channel(self, name: str) -> Channel:
        for channel in self.channels.values():
            if channel.kind == "text" and channel.name == name:
                return channel
        return self._add(Channel(self.snowflake(), "text", name))

    def thread(self, parent: Channel, name: str, on: Json | None = None) -> Channel:
        """`on`: the message that it hangs on, whose id it has then."""
        number = int(on["id"]) if on is not None else self.snowflake()
        if number in self.channels:
            raise ApiError(400, 160004, "A thread has already been created for this message")
        if parent.parent is not None:
            raise ApiError(400, 50024, "Cannot execute action on this channel type")
        check_thread_name(name)
        thread = self._add(Channel(number, "thread", name, parent))
        self._announce("THREAD_CREATE", self.channel_json(thread) | {"newly_created": True})
        return thread

    def dm(self, user: User) -> Channel:
        for channel in self.channels.values():
            if channel.recipient == user:
                return channel
        return self._add(Channel(self.snowflake(), "dm", recipient=user))

    def _add(self, channel: Channel) -> Channel:
        self.channels[channel.id] = channel
        return channel

    def reachable(self, channel_id: int) -> Channel:
        channel = self.channels.get(channel_id)
        if channel is None:
            raise ApiError(404, 10003, "Unknown Channel")
        if channel.forbidden:
            raise ApiError(403, 50001, "Missing Access")
        return channel

    def check_open(self, channel: Channel, *, to_write: bool) -> None:
        """A thread that is archived takes new messages, which open it, and no other changes; one
        that is locked takes none."""
        if channel.locked or (channel.archived and not to_write):
            raise ApiError(400, 50083, "Thread is archived")
        channel.archived = False

    # Messages.

    def say(
        self,
        channel: Channel,
        author: User,
        text: str,
        *,
        reply_to: Json | None = None,
        ping: bool = True,
        files: Mapping[str, bytes] | None = None,
        **extra: Any,
    ) -> Json:
        message = self._new_message(channel, author, text) | extra
        for name, content in (files or {}).items():
            attachment = self.cdn.add(Sent(name, content), f"attachments/{channel.id}")
            message["attachments"].append(attachment)
        if reply_to is not None:
            message |= {
                "type": 19,
                "message_reference": self._reference(channel, reply_to["id"]),
                "referenced_message": reply_to,
            }
            if ping and reply_to["author"] not in message["mentions"]:
                message["mentions"].append(reply_to["author"])
        return self._publish(channel, message)

    def rewrite(self, channel: Channel, message: Json, text: str) -> None:
        """A person edits what they said. A reply goes on mentioning whom it replied to."""
        replied_to = (message.get("referenced_message") or {}).get("author")
        pinged = [user for user in message["mentions"] if user == replied_to]
        message |= self._wording(text) | {"edited_timestamp": self._now()}
        message["mentions"] += [user for user in pinged if user not in message["mentions"]]
        self._announce("MESSAGE_UPDATE", message | self._where(channel))

    def preview(self, channel: Channel, message: Json) -> None:
        """Discord shows what stands behind a link. That is no edit."""
        message["embeds"] = [{"type": "link", "url": "https://example.com/", "title": "Example"}]
        self._announce("MESSAGE_UPDATE", message | self._where(channel))

    def post(
        self,
        channel: Channel,
        payload: Json,
        files: Mapping[int, Sent] | None = None,
        **extra: Any,
    ) -> Json:
        """What the bot sends. The same nonce again gives the first message again."""
        nonce = payload.get("nonce")
        if nonce and payload.get("enforce_nonce") and (channel.id, nonce) in self._nonces:
            return self._nonces[channel.id, nonce]
        self.check_open(channel, to_write=True)
        attachments = self.cdn.attached(channel.id, payload, files or {})
        check_message(payload, attached=bool(attachments))
        message = self._new_message(channel, self.bot, payload.get("content") or "")
        message |= {"components": numbered(payload.get("components") or [])}
        message["attachments"] = attachments
        message |= {"flags": payload.get("flags") or 0} | extra
        if nonce:
            message["nonce"] = nonce
            self._nonces[channel.id, nonce] = message
        if reference := payload.get("message_reference"):
            message |= {
                "type": 19,
                "message_reference": self._reference(channel, reference["message_id"]),
            }
            message["referenced_message"] = self._referenced(channel, reference)
        return self._publish(channel, message)

    def edit(
        self,
        channel: Channel,
        message: Json,
        payload: Json,
        files: Mapping[int, Sent] | None = None,
    ) -> Json:
        """The bot edits what it said."""
        old = message["attachments"]
        attachments = self.cdn.attached(channel.id, payload, files or {}, old)
        check_message({"content": message["content"]} | payload, attached=bool(attachments))
        message["attachments"] = attachments
        if "content" in payload:
            message["content"] = payload["content"] or ""
        if "components" in payload:
            message["components"] = numbered(payload["components"] or [])
        if payload.get("flags") is not None:
            message["flags"] = payload["flags"] | message["flags"] & EPHEMERAL
        message["flags"] &= ~LOADING
        message["edited_timestamp"] = self._now()
        if message not in channel.messages:
            return message  # nobody but one person sees it
        self._announce("MESSAGE_UPDATE", message | self._where(channel))
        return message

    def delete(self, channel: Channel, message: Json) -> None:
        channel.messages.remove(message)
        event = {"id": message["id"], "channel_id": message["channel_id"]}
        self._announce("MESSAGE_DELETE", event | self._where(channel))

    def whisper(self, interaction: Interaction, payload: Json) -> Json:
        """An ephemeral message: it stands in no channel, and only one person sees it."""
        check_message(payload)
        whisper = Whisper(interaction.user, payload["content"])
        self.whispers.append(whisper)
        self._announce(WHISPER, {"user": whisper.user.name, "text": whisper.text})
        message = self._new_message(interaction.channel, self.bot, payload["content"])
        return message | {"flags": EPHEMERAL}

    def think_aside(self, interaction: Interaction) -> Json:
        """What only one person will see shows that the bot "thinks"."""
        message = self._new_message(interaction.channel, self.bot, "")
        return message | {"flags": EPHEMERAL | LOADING}

    def _publish(self, channel: Channel, message: Json) -> Json:
        channel.messages.append(message)
        self._announce("MESSAGE_CREATE", message | self._where(channel))
        return message

    def _new_message(self, channel: Channel, author: User, text: str) -> Json:
        return self._wording(text) | {
            "id": str(self.snowflake()),
            "channel_id": str(channel.id),
            "type": 0,
            "author": author.json(),
            "mention_everyone": False,
            "attachments": [],
            "embeds": [],
            "components": [],
            "timestamp": self._now(),
            "edited_timestamp": None,
            "flags": 0,
            "pinned": False,
            "tts": False,
        }

    def _wording(self, text: str) -> Json:
        """The fields of a message that follow from its text."""
        people = {str(user.id): user for user in (*self.users.values(), self.bot)}
        mentioned = dict.fromkeys(re.findall(r"<@!?(\d+)>", text))
        return {
            "content": text,
            "mentions": [people[number].json() for number in mentioned if number in people],
            "mention_roles": list(dict.fromkeys(re.findall(r"<@&(\d+)>", text))),
        }

    def _reference(self, channel: Channel, message_id: str) -> Json:
        return {"type": 0, "channel_id": str(channel.id), "message_id": message_id}

    def _referenced(self, channel: Channel, reference: Json) -> Json | None:
        for message in channel.messages:
            if message["id"] == reference["message_id"]:
                return message
        if reference.get("fail_if_not_exists", True):
            raise ApiError(400, 50035, "Invalid Form Body: MESSAGE_REFERENCE_UNKNOWN_MESSAGE")
        return None

    def _where(self, channel: Channel) -> Json:
        return {} if channel.kind == "dm" else {"guild_id": str(self.guild_id)}

    def _now(self) -> str:
        return datetime.fromtimestamp(self.clock(), UTC).isoformat()

    # Shapes.

    def seen(self, message: Json, channel: Channel, *, content: bool | None = None) -> Json:
        """The message as a bot gets it; `content`: whether it has the message content intent."""
        bot = str(self.bot.id)
        visible = (
            (self.message_content if content is None else content)
            or channel.kind == "dm"
            or message["author"]["id"] == bot
            or any(user["id"] == bot for user in message["mentions"])
        )
        hidden: Json = {"content": "", "embeds": [], "attachments": [], "components": []}
        result = dict(message) if visible else message | hidden
        if result.get("referenced_message"):
            result["referenced_message"] = self.seen(
                result["referenced_message"], channel, content=content
            )
        return result

    def channel_json(self, channel: Channel) -> Json:
        last = channel.messages[-1]["id"] if channel.messages else None
        common: Json = {"id": str(channel.id), "type": _KINDS[channel.kind], "flags": 0}
        if last:
            common["last_message_id"] = last
        if channel.recipient is not None:
            return common | {"recipients": [channel.recipient.json()]}
        common |= {"guild_id": str(self.guild_id), "name": channel.name}
        if channel.parent is None:
            return common | {"position": 0, "permission_overwrites": []}
        archive: Json = {"archived": channel.archived, "locked": channel.locked}
        archive |= {"auto_archive_duration": 1440}
        return common | {
            "parent_id": str(channel.parent.id),
            "owner_id": str(self.bot.id),
            "message_count": len(channel.messages),
            "total_message_sent": len(channel.messages),
            "member_count": 1,
            "thread_metadata": archive | {"archive_timestamp": "2020-01-01T00:00:00+00:00"},
        }

    def guild_json(self) -> Json:
        places = [channel for channel in self.channels.values() if channel.kind != "dm"]
        everyone = {"id": str(self.guild_id), "name": "@everyone"}
        own_role = {"id": str(self.role_id), "name": "Bough", "tags": {"bot_id": str(self.bot.id)}}
        return {
            "id": str(self.guild_id),
            "name": "Guild",
            "owner_id": str(self.bot.id),
            "member_count": 2,
            "roles": [role_json(everyone), role_json(own_role)],
            "channels": [self.channel_json(place) for place in places if place.kind == "text"],
            "threads": [self.channel_json(place) for place in places if place.kind == "thread"],
            "members": [self.bot.member() | {"user": self.bot.json()}],
            "emojis": [],
            "stickers": [],
            "voice_states": [],
            "presences": [],
            "features": [],
            "unavailable": False,
        }


def role_json(role: Json) -> Json:
    return {
        "color": 0,
        "hoist": False,
        "position": 0,
        "permissions": "0",
        "managed": "tags" in role,
        "mentionable": False,
        "flags": 0,
    } | role
