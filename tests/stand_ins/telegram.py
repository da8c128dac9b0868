"""A Telegram Bot API server for tests, and for trying a bot by hand: no account, no network.

python-telegram-bot runs against it unmodified:

    async with TelegramServer(token="1:test") as telegram:
        ...  # a bot with base_url = telegram.base_url and that token
        telegram.say(1001, 1001, "hello")
        reply = await telegram.wait_for_message(1001)

By hand: `python -m tests.stand_ins.telegram --port 8081 --token 1:test`.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from aiohttp import web
from aiohttp.multipart import BodyPartReader

from tests.stand_ins.telegram_checks import ApiError, Json, Spec, bad_request
from tests.stand_ins.telegram_methods import Methods
from tests.stand_ins.telegram_world import World, buttons

T = TypeVar("T")

FaultKind = Literal["429", "500", "502", "400", "401", "403", "cut_before", "cut_after", "slow"]
"""502 answers with HTML, like a proxy; a cut is a connection that ends before or after the work."""

_NUMBERS = frozenset(
    ["offset", "limit", "timeout", "chat_id", "message_id", "message_thread_id", "cache_time"]
)
_SWITCHES = frozenset(["show_alert", "drop_pending_updates", "disable_notification"])
_OBJECTS = frozenset(
    [
        "allowed_updates",
        "commands",
        "entities",
        "link_preview_options",
        "reply_markup",
        "reply_parameters",
        "scope",
    ]
)


@dataclass
class Call:
    """One request, as it arrived."""

    method: str
    params: Json
    """Parsed: numbers are numbers, lists are lists. Files are {"file": name, "size": bytes}."""
    time: float
    """time.perf_counter() at its arrival."""
    result: Any = None
    """What was answered; an ApiError where it was refused."""


@dataclass
class Fault:
    method: str
    kind: FaultKind
    left: int
    seconds: float
    description: str


@dataclass
class TelegramServer:
    """`clock` is seconds since the epoch, for dates and for how old a press is."""

    token: str = "1000:test-token"
    port: int = 0
    username: str = "bough_bot"
    clock: Callable[[], float] = time.time
    sent: list[Call] = field(default_factory=list)
    """Every request, in order of arrival, getUpdates too."""
    violations: list[str] = field(default_factory=list)
    """What the published spec, where it is at hand, has against requests and answers."""

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
        self._faults: deque[Fault] = deque()
        self._spec = Spec()
        self.world = World(me, self.clock, self._changed)
        self.methods = Methods(self.world, self._change)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.methods.release()
        await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/bot"

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

    def calls(self, *methods: str) -> list[Call]:
        """Requests of these methods, in order."""
        return [call for call in self.sent if call.method in methods]

    async def wait_for(self, predicate: Callable[[], T], timeout: float | None = 5.0) -> T:
        """What `predicate` returns, once it is true; asked again after every change."""
        try:
            async with asyncio.timeout(timeout):
                while not (found := predicate()):
                    await self._change()
                return found
        except TimeoutError:
            last = [(call.method, call.params, call.result) for call in self.sent[-8:]]
            raise TimeoutError(f"it did not happen in {timeout} s; last requests: {last}") from None

    async def wait_for_message(self, chat: int, text: str = "", timeout: float = 5.0) -> Json:
        """The newest of the bot's messages in a chat that has this text in it."""
        found = await self.wait_for(
            lambda: [one for one in self.messages(chat) if text in one["text"]], timeout
        )
        return found[-1]

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
        """Let the next calls of a method fail. `seconds`: retry_after, or how slow."""
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
        token, _, method = request.path.removeprefix("/bot").partition("/")
        if ":" not in token or method not in self.methods.table:
            return _refusal(ApiError(404, "Not Found"))
        if token != self.token:
            return _refusal(ApiError(401, "Unauthorized"))
        try:
            call = Call(method, await _parameters(request), time.perf_counter())
        except ValueError as error:
            return _refusal(bad_request(f"can't parse the parameters: {error}"))
        self.sent.append(call)
        self.violations += self._spec.request(method, call.params)
        if len(call.params.get("entities", ())) > 100:
            self.violations.append(f"{method}: more than 100 entities")
        try:
            return await self._answer(request, call)
        except ApiError as error:
            call.result = error
            return _refusal(error)
        finally:
            self._changed()

    async def _answer(self, request: web.Request, call: Call) -> web.StreamResponse:
        fault = self._fault(call.method)
        kind = fault.kind if fault else ""
        if fault and kind == "slow":
            await asyncio.sleep(fault.seconds)
        elif fault and kind not in ("cut_before", "cut_after", "502"):
            raise _failure(fault)
        if kind == "502":
            return web.Response(status=502, text="<html>502 Bad Gateway</html>")
        if kind != "cut_before":
            call.result = await self.methods.table[call.method](call.params)
            self.violations += self._spec.reply(call.method, call.result)
        if kind in ("cut_before", "cut_after") and request.transport is not None:
            request.transport.abort()
        return web.json_response({"ok": True, "result": call.result})


def _failure(fault: Fault) -> ApiError:
    match fault.kind:
        case "429":
            wait = int(fault.seconds)
            text = f"Too Many Requests: retry after {wait}"
            return ApiError(429, fault.description or text, retry_after=wait)
        case "401":
            return ApiError(401, fault.description or "Unauthorized")
        case "403":
            return ApiError(403, fault.description or "Forbidden: bot was blocked by the user")
        case "400":
            return ApiError(400, fault.description or "Bad Request: can't parse entities")
        case _:
            return ApiError(500, fault.description or "Internal Server Error")


def _refusal(error: ApiError) -> web.Response:
    body: Json = {"ok": False, "error_code": error.code, "description": error.description}
    if error.parameters:
        body["parameters"] = error.parameters
    return web.json_response(body, status=error.code)


async def _parameters(request: web.Request) -> Json:
    """From the query, a form, multipart or JSON: the Bot API takes them all."""
    params: Json = dict(request.query)
    if request.content_type == "application/json":
        params.update(await request.json())
    elif request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader) and part.name:
                params[part.name] = await _part(part)
    else:
        params.update(await request.post())
    return {name: _parsed(name, value) for name, value in params.items()}


async def _part(part: BodyPartReader) -> Any:
    if part.filename is None:
        return await part.text()
    return {"file": part.filename, "size": len(await part.read(decode=True))}


def _parsed(name: str, value: Any) -> Any:
    """Form values are text; a number that is none stays text, for the spec to complain."""
    if not isinstance(value, str):
        return value
    if name in _OBJECTS:
        return json.loads(value)
    if name in _SWITCHES and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if name in _NUMBERS and value.removeprefix("-").isdigit():
        return int(value)
    return value


if __name__ == "__main__":
    from tests.stand_ins.telegram_console import main

    main()
