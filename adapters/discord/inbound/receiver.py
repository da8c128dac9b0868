"""From the gateway's events to `receive`: in order, and without losing what was missed."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import discord
from discord.abc import User as DiscordUser
from discord.gateway import DiscordWebSocket

from adapters.base import Commands, Receive
from adapters.discord.client import stay_connected
from adapters.discord.handles import Deferrals
from adapters.discord.inbound.elsewhere import candidates, no_older
from adapters.discord.inbound.histories import Histories
from adapters.discord.inbound.history import LIMIT, Unparsed
from adapters.discord.inbound.interactions import Interactions
from adapters.discord.inbound.normalize import normalize_edit, normalize_message
from adapters.discord.inbound.unreadable import (
    CREATED,
    INTERACTION,
    Complaints,
    guard_parsers,
    unreadable,
    unreadable_message,
)
from adapters.events import Conversation, Unreadable
from adapters.inbound.ordering import TakingIn, of_rights

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Said:
    message: discord.Message
    edited: bool = False
    """Told of because it changed, and as it is now."""


_Arrived = _Said | Unreadable


class Receiver:
    """Passes on what arrives: messages side by side, but in order within a channel and of a person,
    and interactions beside all else.

    discord.py runs a task per event, so events only put what they bring into queues, and one
    worker per queue takes it from there. What waits has no bound, because the gateway cannot be
    slowed down; what waits when the process dies is read from the history after the restart.

    A new session (READY) replays nothing. So at READY the conversations that are known are held:
    their live messages wait until what was said before them is read from the history and passed
    on. A resumed session needs nothing of this, since Discord replays what was missed.

    Where nobody had talked to the bot before, somebody may have meanwhile. What was said there
    comes first, in the order in which it was said everywhere: the newest message that was passed
    on is then the place from which to go on, also for who starts after a crash. For the same
    reason nothing is passed on before what was said earlier in a place that is not on record yet:
    beside anything newer, who starts after a crash would take it for answered.
    """

    def __init__(
        self,
        client: discord.Client,
        me: DiscordUser,
        deferrals: Deferrals,
        ready: Callable[[], object],
        commands: Commands = (),
    ) -> None:
        """`ready` is called when the gateway sends events, and may be called again."""
        self._client = client
        self._me = me
        self._ready = ready
        self._complaints = Complaints()
        self._messages: asyncio.Queue[_Arrived] = asyncio.Queue()
        self._alone = of_rights(commands)
        self._interactions = Interactions(client, deferrals, commands, self._complaints)
        self._sessions: asyncio.Queue[int] = asyncio.Queue()
        self._session = 0
        self._newest: dict[int, int] = {}
        """Channel → id of the newest message that was passed on, here or before the restart."""
        self._on_record: set[int | tuple[int, str]] = set()
        """Channels in which it is stored how far they were read; those of who was passed on with
        that person, since of strangers nothing is stored."""
        self._passed = 0
        """Id of the newest message that was passed on here, wherever and whoever it was said to."""
        self._taking: TakingIn
        self._held: dict[int, list[_Arrived]] = {}
        self._unread_since = 0
        """Message id; what came later where nobody had talked to the bot is still to be read."""
        self._holds_all = False
        """Whether every channel of a server is held: it is not known yet which ones are to be."""
        self._shards: set[int] = set()
        """Those that have been ready."""
        self._histories = Histories(client)
        self._connected = True
        guard_parsers(client, me, self._unread)
        for handler in (
            self.on_connect,
            self.on_ready,
            self.on_shard_ready,
            self.on_resumed,
            self.on_disconnect,
            self.on_message,
            self.on_raw_message_edit,
            self.on_interaction,
            self.on_unreadable,
            self.on_error,
        ):
            client.event(handler)

    async def run(self, receive: Receive, cursors: Mapping[str, str]) -> None:
        """Until cancelled. Raises Misconfigured, and whatever `receive` raises."""
        self._newest |= (read := _channels(cursors))
        self._on_record.update(read)
        self._taking = TakingIn(receive, self._alone)
        try:
            async with asyncio.TaskGroup() as group:
                workers = [
                    group.create_task(self._pass_on_messages(group)),
                    group.create_task(self._interactions.run(receive, self._pass_over, group)),
                    group.create_task(self._catch_up(group)),
                ]
                await stay_connected(self._client)
                for worker in workers:
                    worker.cancel()
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    # Events, in the order in which discord.py calls them.

    async def on_connect(self) -> None:
        """READY: a new session."""
        self._session += 1
        for channel in self._newest:
            self._held.setdefault(channel, [])
        self._unread_since = self._unread_since or max((self._passed, *self._newest.values()))
        self._holds_all = self._unread_since > 0
        if not self._is_sharded():
            self._up()

    async def on_ready(self) -> None:
        """READY, and the servers are known. Of shards, discord.py tells it only at the start."""
        if not self._is_sharded():
            self._sessions.put_nowait(self._session)

    async def on_shard_ready(self, shard: int) -> None:
        """The same for one of several connections; what was missed is read when all are there."""
        self._shards.add(shard)
        if len(self._shards) == len(self._own_shards()):
            self._up()
            self._sessions.put_nowait(self._session)

    def _is_sharded(self) -> bool:
        return isinstance(self._client, discord.AutoShardedClient)

    def _own_shards(self) -> list[int]:
        """Those that this process holds."""
        client = self._client
        return (isinstance(client, discord.AutoShardedClient) and client.shard_ids) or [0]

    def _is_ours(self, channel: int) -> bool:
        """What was missed in it is to be read here: what is private, or not known to be in any
        server, is told by the first connection."""
        return 0 in self._own_shards() or self._client.get_channel(channel) is not None

    async def on_resumed(self) -> None:
        self._up()

    async def on_disconnect(self) -> None:
        if self._connected:
            gateway = DiscordWebSocket.DEFAULT_GATEWAY
            _log.warning("no connection to Discord's gateway %s; trying until there is", gateway)
        self._connected = False

    async def on_message(self, message: discord.Message) -> None:
        self._heard(_Said(message))

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        """Raw, because the other event comes only for messages in discord.py's cache."""
        self._heard(_Said(event.message, edited=True))

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        self._interactions.put(interaction)

    async def on_unreadable(self, event: str, arrived: Unreadable) -> None:
        if event == INTERACTION:
            self._interactions.put(arrived)
        else:
            self._heard(arrived)

    async def on_error(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Called by discord.py while it handles what an event handler raised."""
        _log.exception("an event of Discord could not be handled: %s", event)

    def _unread(self, event: str, data: Any, error: Exception) -> None:
        """An event that discord.py cannot read."""
        arrived = unreadable(event, data, error)
        self._complaints.add(arrived, error)
        # As an event of its own: so it does not come before what was said before it.
        self._client.dispatch("unreadable", event, arrived)

    def _heard(self, arrived: _Arrived) -> None:
        channel = _channel_of(arrived)
        held = self._held.get(channel)
        if held is None and self._holds_all and _in_a_server(arrived):
            held = self._held[channel] = []
        if held is None:
            self._messages.put_nowait(arrived)
        else:
            held.append(arrived)

    def _up(self) -> None:
        if not self._connected:
            _log.warning("connected to Discord's gateway again")
        self._connected = True
        self._ready()

    # Messages.

    async def _pass_on_messages(self, group: asyncio.TaskGroup) -> None:
        while True:
            group.create_task(self._pass_on(await self._messages.get()))

    async def _pass_on(self, arrived: _Arrived) -> None:
        """Stands in its lines before it is first left, so tasks may be made of it in order."""
        if isinstance(arrived, Unreadable):
            return await self._pass_over(arrived)
        message, channel = arrived.message, arrived.message.channel.id
        normalize = normalize_edit if arrived.edited else normalize_message
        try:
            update = normalize(message, self._me)
        except Exception as error:  # noqa: BLE001
            # A field of a shape that nobody expects: this message is lost, the next one is not.
            odd = unreadable_message(message, arrived.edited, error)
            self._complaints.add(odd, error)
            return await self._pass_over(odd)
        if update is not None:
            place = (channel, update.user.identity)
            known = arrived.edited or not self._on_record.isdisjoint((channel, place))
            await self._taking.take(update, ahead=not known)
            if update.addressed and not arrived.edited:
                self._on_record.add(place)
        if arrived.edited:
            return  # its id says nothing about which messages were passed on
        self._passed = max(self._passed, message.id)
        # Of places where nobody talks to the bot, nothing is read again after a gap.
        if (update is not None and update.addressed) or channel in self._newest:
            self._newest[channel] = max(message.id, self._newest.get(channel, 0))

    async def _pass_over(self, odd: Unreadable) -> None:
        """Where nobody has talked to the bot, the history is not read: there is no place in it."""
        channel = _channel_of(odd)
        if channel not in self._newest:
            odd = replace(odd, message_id="")
        await self._taking.take(odd)
        if odd.message_id:
            self._newest[channel] = max(int(odd.message_id), self._newest[channel])

    # What was missed.

    async def _catch_up(self, group: asyncio.TaskGroup) -> None:
        readers: list[asyncio.Task[None]] = []
        while True:
            session = await self._sessions.get()
            for reader in readers:
                reader.cancel()
            self._holds_all = False
            self._unread_since = self._unread_here()
            since = no_older(self._unread_since)
            known = {one for one in self._held.keys() & self._newest.keys() if self._is_ours(one)}
            others = candidates(self._client, since, known) if self._unread_since else []
            for channel in self._held.keys() - known - set(others):
                self._let_go(channel, session)
            first = group.create_task(self._read_elsewhere(others, since, session))
            latest_first = sorted(known, key=self._newest.__getitem__, reverse=True)
            readers = [first] + [
                group.create_task(self._read_missed(channel, session, first))
                for channel in latest_first
            ]

    def _unread_here(self) -> int:
        """`_unread_since`, where other processes hold connections too: what they were told says
        nothing of how far ours were heard."""
        if len(self._own_shards()) == (self._client.shard_count or 1):
            return self._unread_since
        known = self._client.get_channel
        ours = [number for one, number in self._newest.items() if known(one) is not None]
        return min(self._unread_since, max((self._passed, *ours)) or self._unread_since)

    async def _read_elsewhere(self, channels: list[int], since: int, session: int) -> None:
        for channel in channels:
            self._held.setdefault(channel, [])
        glances = (self._histories.glance(channel, since) for channel in channels)
        found = await asyncio.gather(*glances)
        for message in sorted(chain.from_iterable(found), key=lambda one: one.id):
            await self._pass_on(_Said(message))
            self._unread_since = message.id
        if session == self._session:
            self._unread_since = 0
        for channel in channels:
            self._let_go(channel, session)

    async def _read_missed(self, channel: int, session: int, before: "asyncio.Task[None]") -> None:
        messages = await self._histories.since(channel, self._newest[channel])
        await asyncio.wait([before])
        for message in messages:
            await self._pass_on(self._arrived(message))
        if len(messages) == LIMIT:
            _log.warning(
                "channel %d: of what was missed, only the last %d were read", channel, LIMIT
            )
        self._let_go(channel, session)

    def _let_go(self, channel: int, session: int) -> None:
        """A later session holds the channel for its own gap, and its reader will let it go."""
        if session == self._session:
            for said in self._held.pop(channel, ()):
                self._messages.put_nowait(said)

    def _arrived(self, message: discord.Message | Unparsed) -> _Arrived:
        if not isinstance(message, Unparsed):
            return _Said(message)
        odd = unreadable(CREATED, message.data, message.error)
        self._complaints.add(odd, message.error)
        return odd


def _channel_of(arrived: _Arrived) -> int:
    """0, which is no channel, where it does not say."""
    if isinstance(arrived, _Said):
        return arrived.message.channel.id
    chat = arrived.conversation.chat
    return int(chat) if chat.isdecimal() else 0


def _in_a_server(arrived: _Arrived) -> bool:
    return isinstance(arrived, _Said) and arrived.message.guild is not None


def _channels(cursors: Mapping[str, str]) -> dict[int, int]:
    """Channel → message id, of the cursors that are both."""
    addresses = {Conversation.parse(address): cursor for address, cursor in cursors.items()}
    return {
        int(conversation.chat): int(cursor)
        for conversation, cursor in addresses.items()
        if conversation.chat.isdecimal() and cursor.isdecimal()
    }
