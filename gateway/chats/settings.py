"""What holds in a conversation: what its people chose, then what the configuration says.

What was chosen is rows of the store. They are few, and asked for in every turn and with every
message, so they stand here, too: read at the start and with each sweep, and changed by what each
commit tells. Nothing else may change them here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from agent.tools.schedule.zones import is_zone, received_at
from gateway.chats.known_threads import KnownThreads
from gateway.configuration.config import Answer, Busy, ChatConfig, Config
from gateway.configuration.current import Current
from storage.records.chats.chat_settings import ChatChoice, ChatChoiceChange
from storage.records.entries import Json
from storage.store import Store, Transaction

Summaries = Literal["off", "ask", "auto"]
Key = Literal["stream", "busy", "summaries", "answer", "thoughts", "zone"]

ON, OFF = "on", "off"
VALUES: Mapping[Key, tuple[str, ...]] = {
    "stream": (ON, OFF),
    "busy": ("interrupt", "queue", "steer"),
    "summaries": ("off", "ask", "auto"),
    "answer": ("mention", "all", "thread"),
    "thoughts": (ON, OFF),
    "zone": (),
}
"""What may be chosen, and its values; a zone is a name (IANA)."""
READS = 3


@dataclass(slots=True)
class _Mirror:
    values: dict[tuple[str, str], str] = field(default_factory=dict)
    changes: int = 0
    """How often it was changed: what was read before the newest of them is outdated."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    live: Current[Config]
    threads: KnownThreads = field(default_factory=KnownThreads, compare=False)
    _mirror: _Mirror = field(default_factory=_Mirror, init=False, compare=False)

    @property
    def config(self) -> Config:
        """As it is now."""
        return self.live.now

    def busy_at(self, address: str) -> Busy:
        """What talk does during a turn."""
        return cast(Busy, self.value_at(address, "busy"))

    def stream_at(self, address: str) -> bool:
        """Whether answers are shown while they are written."""
        return self.value_at(address, "stream") == ON

    def answer_at(self, address: str) -> Answer:
        """What of a group's talk is answered."""
        return cast(Answer, self.value_at(address, "answer"))

    def summaries_at(self, address: str) -> Summaries:
        """Whether a branch that is left is summarised."""
        return cast(Summaries, self.value_at(address, "summaries"))

    def thoughts_at(self, address: str) -> bool:
        """Whether the calls of `think` are shown."""
        return self.value_at(address, "thoughts") == ON

    def value_at(self, address: str, key: Key) -> str:
        """What holds, as it is chosen: a topic has what was chosen for its chat, unless something
        was chosen for itself."""
        return self.chosen_at(address, key) or self.default_at(address, key)

    def chosen_at(self, address: str, key: Key) -> str:
        """What people chose; "" where they did not."""
        values = self._mirror.values
        places = ((place, key) for place in self.places_at(address))
        return next((values[place] for place in places if place in values), "")

    def default_at(self, address: str, key: Key) -> str:
        """What the configuration says."""
        session, chats = self.config.session, self._chats(address)
        match key:
            case "busy":
                return next((one.busy for one in chats if one.busy is not None), session.busy)
            case "answer":
                return next((one.answer for one in chats if one.answer is not None), "mention")
            case "summaries":
                return session.branch_summaries
            case "stream":
                own = (one.stream for one in chats if one.stream is not None)
                return _switch(next(own, session.stream))
            case "thoughts":
                return _switch(session.show_thoughts)
            case "zone":
                own_zone = next((one.zone for one in chats if one.zone is not None), None)
                return own_zone or session.zone or self.config.tools.timezone

    def zone_at(self, address: str) -> str:
        """The time zone of who never said theirs."""
        return self.value_at(address, "zone")

    def received(self, tx: Transaction, address: str, person: str) -> Json:
        """What the entry of a message there, or an event, says of the time: now, in the zone of
        the person, else of the chat."""
        zone = (tx.schedules.zone(person) if person else "") or self.zone_at(address)
        return received_at(tx.now, zone)

    def toolsets_at(self, address: str) -> frozenset[str]:
        """The toolsets of a conversation: its own, or those of all."""
        own = (chat.toolsets for chat in self._chats(address) if chat.toolsets is not None)
        return frozenset(next(own, self.config.tools.toolsets))

    def instructions_at(self, address: str) -> str:
        """What the agent is told besides in a conversation; "" for nothing."""
        own = (chat.instructions for chat in self._chats(address))
        return next(filter(None, own), self.config.agent.instructions or "")

    def model_at(self, address: str) -> str | None:
        """The name of the model that answers in a conversation; None: the parent's."""
        return next(filter(None, (chat.model for chat in self._chats(address))), None)

    def messages_kept_at(self, address: str) -> float:
        """Seconds that what is said in a conversation is kept."""
        own = (chat.retention.messages for chat in self._chats(address))
        return next((one for one in own if one is not None), self.config.retention.messages)

    def files_kept_at(self, address: str) -> float:
        """Seconds that what was sent there is kept: no longer than what was said."""
        own = (chat.retention.files for chat in self._chats(address))
        files = next((one for one in own if one is not None), self.config.retention.files)
        return min(files, self.messages_kept_at(address))

    def places_at(self, address: str) -> tuple[str, ...]:
        """The addresses whose settings hold in a conversation, the nearest first: its own, the
        chat's that it is a topic of, the channel's that it is a thread of."""
        thread = self.threads.at(address)
        channel = [thread.channel] if thread is not None else []
        return tuple(dict.fromkeys((address, address.partition("/")[0], *channel)))

    def changed(self, changes: Iterable[ChatChoiceChange]) -> None:
        """A commit changed them."""
        for change in changes:
            self._mirror.changes += 1
            if change.value is None:
                self._mirror.values.pop((change.address, change.key), None)
            elif known(change.key, change.value):
                self._mirror.values[change.address, change.key] = change.value

    async def read(self, store: Store) -> None:
        """Read all of them afresh. What a commit told of meanwhile is newer than what was read."""
        for _ in range(READS):
            before = self._mirror.changes
            rows: list[ChatChoice] = await store.read(lambda tx: tx.chat_settings.all())
            if self._mirror.changes == before:
                self._mirror.values = {
                    (row.address, row.key): row.value for row in rows if known(row.key, row.value)
                }
                return

    def _chats(self, address: str) -> list[ChatConfig]:
        """What the file says for a conversation, then for the chat or channel that it is in."""
        chats = self.config.chats
        return [chats[place] for place in self.places_at(address) if place in chats]


def known(key: str, value: str) -> bool:
    """Whether a row says something that this version can do; one of another version may not."""
    if key == "zone":
        return is_zone(value)
    return any(key == one and value in values for one, values in VALUES.items())


def _switch(on: bool) -> str:
    return ON if on else OFF
