"""The gateway of the Discord stand-in: sessions, heartbeats, replay after RESUME."""

import asyncio
import json
import secrets
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.stand_ins.discord_world import Json, World

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
AUTHENTICATION_FAILED, DISALLOWED_INTENTS = 4004, 4014

_GUILDS, _GUILD_MESSAGES, _DIRECT_MESSAGES = 1 << 0, 1 << 9, 1 << 12
_PRIVILEGED = 1 << 1 | 1 << 8 | 1 << 15
_HEARTBEAT_MS = 41_250


class Connection:
    """One websocket; what is sent goes out in order, compressed where the client asked for it."""

    def __init__(self, socket: web.WebSocketResponse, compressed: bool) -> None:
        self.socket = socket
        self._frames: asyncio.Queue[Json | str] = asyncio.Queue()
        self._compressor = zlib.compressobj() if compressed else None

    def send(self, op: int, data: Any, event: str | None = None, number: int | None = None) -> None:
        self._frames.put_nowait({"op": op, "d": data, "t": event, "s": number})

    def send_text(self, frame: str) -> None:
        """A frame as it stands, whatever it is."""
        self._frames.put_nowait(frame)

    async def write(self) -> None:
        while True:
            given = await self._frames.get()
            frame = given if isinstance(given, str) else json.dumps(given)
            if self._compressor is None:
                await self.socket.send_str(frame)
            else:
                data = self._compressor.compress(frame.encode())
                await self.socket.send_bytes(data + self._compressor.flush(zlib.Z_SYNC_FLUSH))


@dataclass(slots=True)
class Session:
    id: str
    intents: int
    shard: tuple[int, int]
    """Its number, and how many there are."""
    connection: Connection | None
    events: list[tuple[str, Json]] = field(default_factory=list)
    """All of them; the number of an event is its position, from 1."""

    def add(self, event: str, data: Json) -> None:
        self.events.append((event, data))
        if self.connection is not None:
            self.connection.send(DISPATCH, data, event, len(self.events))

    def replay(self, seen: int) -> None:
        assert self.connection is not None
        for number, (event, data) in enumerate(self.events[seen:], seen + 1):
            self.connection.send(DISPATCH, data, event, number)
        self.add("RESUMED", {})


class Gateway:
    def __init__(self, token: str) -> None:
        self._token = token
        self.world: World
        self.url = ""
        self.sessions: dict[str, Session] = {}
        self.connections: set[Connection] = set()
        self.opened = 0
        self.identified = 0
        self.resumed = 0
        self.down = False
        """Whether new connections are refused with 503."""
        self.refused_intents = _PRIVILEGED
        """Intents that are answered with 4014."""
        self.shards: list[tuple[int, int]] = []
        """Of each IDENTIFY, in order."""
        self.heartbeat_ms = _HEARTBEAT_MS
        self.deaf = False
        """Whether heartbeats stay without an answer."""
        self.oddities: dict[str, Callable[[Json], Any]] = {}
        """What becomes of the data of READY and GUILD_CREATE before they are sent, by their name;
        each is used once."""

    def dispatch(self, event: str, data: Json) -> None:
        """To every session that subscribed to such events, connected or not."""
        private = "guild_id" not in data
        for session in self.sessions.values():
            if not self._concerns(session, private):
                continue
            wanted = _DIRECT_MESSAGES if private else _GUILD_MESSAGES
            if event.startswith("MESSAGE_"):
                if session.intents & wanted:
                    session.add(event, self._seen(event, data))
            elif event == "INTERACTION_CREATE" or session.intents & _GUILDS:
                session.add(event, data)

    def _concerns(self, session: Session, private: bool) -> bool:
        """A server belongs to one shard; what is private comes to the first."""
        number, count = session.shard
        return number == (0 if private else (self.world.guild_id >> 22) % count)

    async def ask_to_reconnect(self) -> None:
        """As Discord does now and then, with a session that can be resumed."""
        for connection in list(self.connections):
            connection.send(RECONNECT, None)

    async def invalidate(self, *, resumable: bool) -> None:
        """End the sessions, or only say that they have to be taken up anew."""
        if not resumable:
            self.sessions.clear()
        for connection in list(self.connections):
            connection.send(INVALID, resumable)

    def send_raw(self, event: str, data: Any) -> None:
        """To every session, whatever it is."""
        for session in self.sessions.values():
            session.add(event, data)

    def _begin(self, session: Session, event: str, data: Json) -> None:
        odd = self.oddities.pop(event, None)
        session.add(event, odd(data) if odd else data)

    def _seen(self, event: str, data: Json) -> Json:
        if event == "MESSAGE_DELETE":
            return data
        return self.world.seen(data, self.world.channels[int(data["channel_id"])])

    async def drop(self, *, resumable: bool, code: int = 4000) -> None:
        """Close every connection. What is not resumable is forgotten: a later RESUME fails."""
        if not resumable:
            self.sessions.clear()
        for connection in list(self.connections):
            await connection.socket.close(code=code)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self.down:
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        connection = Connection(socket, request.query.get("compress") == "zlib-stream")
        self.connections.add(connection)
        self.opened += 1
        writer = asyncio.create_task(connection.write())
        connection.send(HELLO, {"heartbeat_interval": self.heartbeat_ms})
        try:
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    await self._handle(connection, json.loads(frame.data))
        finally:
            self.connections.discard(connection)
            for session in self.sessions.values():
                if session.connection is connection:
                    session.connection = None
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
        return socket

    async def _handle(self, connection: Connection, frame: Json) -> None:
        match frame["op"]:
            case 1 if not self.deaf:
                connection.send(ACK, None)
            case 2:
                await self._identify(connection, frame["d"])
            case 6:
                self._resume(connection, frame["d"])

    async def _identify(self, connection: Connection, data: Json) -> None:
        if data["token"] != self._token:
            await connection.socket.close(code=AUTHENTICATION_FAILED)
            return
        if data["intents"] & self.refused_intents:
            await connection.socket.close(code=DISALLOWED_INTENTS)
            return
        self.identified += 1
        number, count = data.get("shard", (0, 1))
        self.shards.append((number, count))
        session = Session(secrets.token_hex(16), data["intents"], (number, count), connection)
        self.sessions[session.id] = session
        here = self._concerns(session, private=False)
        guilds = [{"id": str(self.world.guild_id), "unavailable": True}] if here else []
        self._begin(
            session,
            "READY",
            {
                "v": 10,
                "user": self.world.bot.json(),
                "guilds": guilds,
                "shard": [number, count],
                "session_id": session.id,
                "resume_gateway_url": self.url,
                "application": {"id": str(self.world.bot.id), "flags": 0},
            },
        )
        if here and session.intents & _GUILDS:
            self._begin(session, "GUILD_CREATE", self.world.guild_json())

    def _resume(self, connection: Connection, data: Json) -> None:
        session = self.sessions.get(data["session_id"])
        if session is None or data["token"] != self._token:
            connection.send(INVALID, False)
            return
        self.resumed += 1
        session.connection = connection
        session.replay(data["seq"])
