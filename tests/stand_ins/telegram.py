"""A Telegram Bot API server for tests, and for trying a bot by hand: no account, no network.

python-telegram-bot runs against it unmodified:

    async with TelegramServer(token="1:test") as telegram:
        ...  # a bot with base_url = telegram.base_url and that token
        telegram.say(1001, 1001, "hello")
        reply = await telegram.wait_for_message(1001)

By hand: `python -m tests.stand_ins.telegram --port 8081 --token 1:test`.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Self, TypeVar

from aiohttp import web

from tests.stand_ins.rates import TelegramLimits
from tests.stand_ins.serving import listen
from tests.stand_ins.telegram_checks import ApiError, Json, Spec, bad_request
from tests.stand_ins.telegram_methods import Methods
from tests.stand_ins.telegram_wire import Fault, FaultKind, bad_gateway, parameters, refusal
from tests.stand_ins.telegram_world import Kept, World, buttons, rows, words

T = TypeVar("T")


@dataclass
class Call:
    """One request, as it arrived."""

    method: str
    params: Json
    """Parsed: numbers are numbers, lists are lists. A file is {"file": name, "size": bytes,
    "id": file_id}."""
    time: float
    """time.perf_counter() at its arrival."""
    result: Any = None
    """What was answered; an ApiError where it was refused."""
    untold: bool = False
    """It was carried out, and its answer cut off."""


@dataclass
class TelegramServer:
    """`clock` is seconds since the epoch, for dates and for how old a press is."""

    token: str = "1000:test-token"
    port: int = 0
    username: str = "bough_bot"
    clock: Callable[[], float] = time.time
    clock_ahead: timedelta = timedelta()
    """By which the dates of its answers are wrong."""
    sent: list[Call] = field(default_factory=list)
    """Every request, in order of arrival, getUpdates too; a download is of the method "file"."""
    violations: list[str] = field(default_factory=list)
    """What the published spec, where it is at hand, has against requests and answers."""
    limits: TelegramLimits | None = None
    """What is over them is refused (429), where they are given."""

    def __post_init__(self) -> None:
        me = {
            "id": int(self.token.split(":")[0]),
            "is_bot": True,
            "first_name": "Bough",
            "username": self.username,
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
        }
        self._waiting: set[asyncio.Event] = set()
        self._busy = 0
        """Requests that are carried out now; none that wait for updates."""
        self._faults: deque[Fault] = deque()
        self._spec = Spec()
        self.world = World(me, self.clock, self._changed)
        self.methods = Methods(self.world, self._change)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        self.port = await listen(self._runner, self.port)
        self._delivering = asyncio.create_task(self.methods.deliveries.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.methods.release()
        self._delivering.cancel()
        await asyncio.wait([self._delivering])
        await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/bot"

    @property
    def base_file_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/file/bot"

    # What people do

    def person(self, user: int, name: str = "", username: str = "") -> None:
        """Make a person known, with a private chat that the bot may write to."""
        self.world.person(user, name, username)
        self.world.chat(user)

    def group(self, chat: int, title: str = "", *, forum: bool = False) -> None:
        """Below -10**12 it is a supergroup."""
        place = self.world.chat(chat)
        place.title, place.forum = title or place.title, forum

    def topic(self, chat: int, name: str, user: int) -> int:
        """A forum topic made by a person, or by the bot where `user` is its id; its thread id."""
        me = self.world.me
        return self.world.topic(chat, name, me if user == me["id"] else self.world.person(user))

    def say(self, chat: int, user: int, text: str, **more: Any) -> Json:
        """A person says something in a chat; the update that the bot gets. Mentions and commands
        are marked as Telegram marks them.

        More: reply_to (message or its id), thread, entities, caption=True for the text of a photo
        or file, and any field of a Message (photo, voice, quote …).
        """
        return self.world.say(chat, user, text, **more)

    def document(self, name: str, content: bytes) -> Json:
        """A file to say something with: `say(…, document=…)`."""
        return self.world.document(self.world.keep(name, content))

    def edit(self, message: Json, text: str, **more: Any) -> Json:
        """A person changes the text or caption of their message; the update that the bot gets.
        More: entities, and any field of a Message."""
        return self.world.edit(message, text, **more)

    def press(self, message: Json, button: str, user: int) -> Json:
        """A person presses a button by label or data. LookupError where there is no such button."""
        return self.world.press(message, button, user)

    def forge(self, message: Json, data: str, user: int) -> Json:
        """A press with any data."""
        return self.world.forge(message, data, user)

    def repeat(self, update: Json) -> None:
        """Deliver the update once more, with another update id."""
        self.world.repeat(update)

    def block(self, chat: int, how: str = "bot was blocked by the user") -> None:
        """From now on the chat refuses the bot (403)."""
        self.world.chat(chat).blocked = how

    def migrate(self, old: int, new: int) -> None:
        """A group becomes a supergroup: the old chat points to the new one."""
        self.world.chat(new)
        self.world.chat(old).moved_to = new

    # What the bot did

    def messages(self, chat: int, thread: int | None = None) -> list[Json]:
        """The bot's messages in a chat as they stand now, oldest first; of one topic, or all."""
        if chat not in self.world.chats:
            return []
        mine = self.world.me["id"]
        return [
            message
            for message in self.world.chats[chat].messages.values()
            if message["from"]["id"] == mine and thread in (None, message.get("message_thread_id"))
        ]

    def labels(self, message: Json) -> list[str]:
        """The labels of a message's buttons."""
        return [button["text"] for button in buttons(message)]

    def rows(self, message: Json) -> list[list[str]]:
        """The labels, row by row."""
        return [[button["text"] for button in row] for row in rows(message)]

    def file(self, message: Json) -> Kept | None:
        """The document or picture of a message."""
        sizes = message.get("photo", [])
        file = message.get("document") or (sizes[-1] if sizes else None)
        return None if file is None else self.world.files[file["file_id"]]

    def calls(self, *methods: str) -> list[Call]:
        """Requests of these methods, in order."""
        return [call for call in self.sent if call.method in methods]

    async def wait_for(self, predicate: Callable[[], T], timeout: float | None = 60.0) -> T:
        """What `predicate` returns, once it is true; asked again after every change."""
        try:
            async with asyncio.timeout(timeout):
                while not (found := predicate()):
                    await self._change()
                return found
        except TimeoutError:
            last = [(call.method, call.params, call.result) for call in self.sent[-8:]]
            raise TimeoutError(f"it did not happen in {timeout} s; last requests: {last}") from None

    async def wait_for_message(self, chat: int, text: str = "", timeout: float = 60.0) -> Json:
        """The newest of the bot's messages in a chat that has this in its text or caption."""
        found = await self.wait_for(
            lambda: [one for one in self.messages(chat) if text in words(one)], timeout
        )
        return found[-1]

    async def has_read_all(self) -> None:
        """Once what a bot that is gone had sent is carried out: it may still be on its way here."""
        server = self._runner.server
        assert server is not None
        still = 0
        async with asyncio.timeout(60):
            while still < 3:
                await asyncio.sleep(0.02)
                # One that waits for updates waits on when nobody is there any more.
                there = any(one.transport is not None for one in server.connections)
                still = 0 if there or self._busy else still + 1

    # What goes wrong

    def fail_next(
        self,
        method: str,
        times: int = 1,
        kind: FaultKind = "500",
        *,
        seconds: float = 1.0,
        description: str = "",
    ) -> None:
        """Let the next calls of a method, or downloads ("file"), fail. `seconds`: retry_after, or
        how slow."""
        self._faults.append(Fault(method, kind, times, seconds, description))

    def _fault(self, method: str) -> Fault | None:
        for fault in self._faults:
            if fault.method == method and fault.left:
                fault.left -= 1
                return fault
        return None

    # The server

    def _changed(self) -> None:
        for event in self._waiting:
            event.set()

    async def _change(self) -> None:
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            await event.wait()
        finally:
            self._waiting.discard(event)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        files = request.path.startswith("/file/")
        path = request.path.removeprefix("/file").removeprefix("/bot")
        token, _, method = path.partition("/")
        if ":" not in token or not (files or method in self.methods.table):
            return refusal(ApiError(404, "Not Found"))
        if token != self.token:
            return refusal(ApiError(401, "Unauthorized"))
        try:
            if files:
                call = Call("file", {"file_path": method}, time.perf_counter())
            else:
                params = await parameters(request, self.world.keep)
                call = Call(method, params, time.perf_counter())
                self.violations += self._faults_of(call)
        except ValueError as error:
            return refusal(bad_request(f"can't parse the parameters: {error}"))
        self.sent.append(call)
        counts = method != "getUpdates"
        self._busy += counts
        try:
            return await self._answer(request, call)
        except ApiError as error:
            call.result = error
            return refusal(error)
        finally:
            self._busy -= counts
            self._changed()

    def _faults_of(self, call: Call) -> list[str]:
        """What Telegram would not always refuse, and no bot should do."""
        found = self._spec.request(call.method, call.params)
        for name in ("entities", "caption_entities"):
            if len(call.params.get(name, ())) > 100:
                found.append(f"{call.method}: more than 100 {name}")
        rows = (call.params.get("reply_markup") or {}).get("inline_keyboard", ())
        if any(not 1 <= len(row) <= 8 for row in rows):
            found.append(f"{call.method}: a row of the keyboard has no button or more than 8")
        return found

    async def _answer(self, request: web.Request, call: Call) -> web.StreamResponse:
        if self.limits is not None and (wait := self.limits.check(call.method, call.params)):
            raise Fault(call.method, "429", 0, math.ceil(wait), "").error
        fault = self._fault(call.method)
        kind = fault.kind if fault else ""
        if fault and kind == "slow":
            await asyncio.sleep(fault.seconds)
        elif fault and kind not in ("cut_before", "cut_after", "502"):
            raise fault.error
        if kind == "502":
            return bad_gateway()
        if call.method == "file":
            return await self._download(request, call.params["file_path"], kind)
        if kind != "cut_before":
            call.result = await self.methods.table[call.method](call.params)
            self.violations += self._spec.reply(call.method, call.result)
        if kind in ("cut_before", "cut_after") and request.transport is not None:
            call.untold = kind == "cut_after"
            request.transport.abort()
        headers = {"Date": format_datetime(datetime.now(UTC) + self.clock_ahead, usegmt=True)}
        return web.json_response({"ok": True, "result": call.result}, headers=headers)

    async def _download(self, request: web.Request, path: str, kind: str) -> web.StreamResponse:
        """A cut after the work is one in the middle of the content."""
        kept = next((one for one in self.world.files.values() if one.path == path), None)
        if kept is None:
            raise ApiError(404, "Not Found")
        response = web.StreamResponse()
        response.content_length = len(kept.content)
        if kind != "cut_before":
            await response.prepare(request)
            half = len(kept.content) // 2
            await response.write(kept.content[: half if kind == "cut_after" else None])
        if kind in ("cut_before", "cut_after") and request.transport is not None:
            request.transport.abort()
        return response


if __name__ == "__main__":
    from tests.stand_ins.telegram_console import main

    main()
