"""The REST calls of the Discord stand-in, and the ways in which they can be made to fail."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from tests.stand_ins import discord_spec
from tests.stand_ins.discord_checks import (
    ApiError,
    check_choices,
    check_commands,
    check_form,
)
from tests.stand_ins.discord_files import Body, Sent
from tests.stand_ins.discord_world import (
    EPHEMERAL,
    LOADING,
    Channel,
    Interaction,
    Json,
    Whisper,
    World,
)

BASE = "/api/v10"

_ANSWER_SECONDS = 3.0
_TOKEN_SECONDS = 15 * 60.0
_BODY_LIMIT = 64 * 1024 * 1024
_LIMITED_CONTENT = 1 << 19
_DEFER_MESSAGE, _DEFER_UPDATE, _MESSAGE, _UPDATE, _MODAL = 5, 6, 4, 7, 9
_OPEN_TO_ALL = re.compile(rf"{BASE}/(?:interactions|webhooks)/.*")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with an error, without doing it."""

    status: int
    code: int = 0
    message: str = "injected"
    page: bool = False
    """As Cloudflare, in front of Discord, answers: a page instead of JSON."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """429. Without `via` it looks like Cloudflare's."""

    retry_after: float
    via: bool = True
    everywhere: bool = False
    """A global rate limit."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection without an answer."""

    done: bool
    """Whether it is done before that."""


@dataclass(frozen=True, slots=True)
class Odd:
    """Answer with something else, without doing it."""

    answer: Any


Fault = Fail | Throttle | Cut | Odd


@dataclass(slots=True)
class Injection:
    method: str
    path: re.Pattern[str]
    fault: Fault
    times: int


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    """Without the API's base."""
    payload: Any
    files: tuple[Sent, ...] = ()


class Rest:
    def __init__(self, world: World, token: str) -> None:
        self._world = world
        self._authorization = f"Bot {token}"
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.injections: list[Injection] = []
        self.interactions_endpoint: str | None = None
        """Where the application wants its interactions, instead of through the gateway."""
        self.clock_ahead = timedelta()
        """Of the dates of answers."""

    def application(self) -> web.Application:
        @web.middleware
        async def around(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._around(request, handler)

        application = web.Application(middlewares=[around], client_max_size=_BODY_LIMIT)
        add = application.router.add_route
        channel = f"{BASE}/channels/{{channel}}"
        webhook = f"{BASE}/webhooks/{{application}}/{{token}}"
        add("GET", f"{BASE}/users/@me", self._me)
        add("POST", f"{BASE}/users/@me/channels", self._open_dm)
        add("GET", f"{BASE}/oauth2/applications/@me", self._application)
        add("PUT", f"{BASE}/applications/{{application}}/commands", self._set_commands)
        add("GET", channel, self._get_channel)
        add("PATCH", channel, self._change_thread)
        add("GET", f"{channel}/messages", self._history)
        add("POST", f"{channel}/messages", self._create_message)
        add("GET", f"{channel}/messages/{{message}}", self._get_message)
        add("PATCH", f"{channel}/messages/{{message}}", self._edit_message)
        add("DELETE", f"{channel}/messages/{{message}}", self._delete_message)
        add("POST", f"{channel}/messages/{{message}}/threads", self._create_thread)
        add("POST", f"{channel}/threads", self._create_thread)
        add("POST", f"{channel}/typing", self._typing)
        add("POST", f"{BASE}/interactions/{{id}}/{{token}}/callback", self._callback)
        add("POST", webhook, self._follow_up)
        add("GET", f"{webhook}/messages/@original", self._original)
        add("PATCH", f"{webhook}/messages/@original", self._edit_original)
        for folder in ("attachments", "ephemeral-attachments"):
            add("GET", f"/{folder}/{{place}}/{{id}}/{{name}}", self._attachment)
        return application

    # Around every call.

    async def _around(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not request.path.startswith(f"{BASE}/"):
            return await handler(request)
        body = await Body.of(request)
        path = request.path.removeprefix(BASE)
        sent = tuple(body.files.values())
        self.requests.append(Request(request.method, path, body.payload, sent))
        fault = self._injected(request.method, path)
        if fault not in (None, Cut(done=True)):
            return faulty(request, fault)
        response = await self._handled(request, handler)
        if fault is not None:
            return cut(request)
        assert isinstance(response, web.Response)
        reply = json.loads(response.body) if isinstance(response.body, bytes) else None
        self.violations += discord_spec.problems(
            request.method, path, body.payload, response.status, reply, list(body.files)
        )
        return response

    def _injected(self, method: str, path: str) -> Fault | None:
        for injection in self.injections:
            if injection.method == method and injection.path.search(path) and injection.times:
                injection.times -= 1
                return injection.fault
        return None

    async def _handled(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        authorized = request.headers.get("Authorization") == self._authorization
        try:
            if not (authorized or _OPEN_TO_ALL.fullmatch(request.path)):
                raise ApiError(401, 0, "401: Unauthorized")
            response = await handler(request)
        except ApiError as problem:
            response = error(problem)
        except web.HTTPNotFound:
            response = error(ApiError(404, 0, "404: Not Found"))
        route = getattr(request.match_info.route.resource, "canonical", "none")
        response.headers.update(
            {
                "Date": format_datetime(datetime.now(UTC) + self.clock_ahead, usegmt=True),
                "X-RateLimit-Limit": "50",
                "X-RateLimit-Remaining": "49",
                "X-RateLimit-Reset-After": "1.0",
                "X-RateLimit-Reset": str(self._world.clock() + 1),
                "X-RateLimit-Bucket": f"{hash((request.method, route)) & 0xFFFFFFFF:x}",
            }
        )
        return response

    # The bot itself.

    async def _me(self, _: web.Request) -> web.Response:
        return reply(self._world.bot.json() | {"mfa_enabled": False, "locale": "en-US"})

    async def _application(self, _: web.Request) -> web.Response:
        return reply(
            {
                "id": str(self._world.bot.id),
                "name": "Bough",
                "icon": None,
                "description": "",
                "type": None,
                "bot_public": True,
                "bot_require_code_grant": False,
                "verify_key": "0" * 64,
                "flags": _LIMITED_CONTENT if self._world.message_content else 0,
                "flags_new": "0",
                "redirect_uris": [],
                "interactions_endpoint_url": self.interactions_endpoint,
                "role_connections_verification_url": None,
                "owner": self._world.bot.json() | {"bot": False},
                "approximate_guild_count": 1,
                "approximate_user_install_count": 0,
                "approximate_user_authorization_count": 0,
                "explicit_content_filter": 0,
                "eligible_oauth2_scopes": [],
                "team": None,
            }
        )

    async def _set_commands(self, request: web.Request) -> web.Response:
        given = await request.json()
        check_commands(given)
        common: Json = {
            "type": 1,
            "default_member_permissions": None,
            "version": "1",
            "description": "",
        }
        common |= {"application_id": str(self._world.bot.id)}
        self._world.commands = [
            common | {"id": str(self._world.snowflake())} | command for command in given
        ]
        return reply(self._world.commands)

    # Channels.

    def _channel(self, request: web.Request) -> Channel:
        return self._world.reachable(int(request.match_info["channel"]))

    async def _open_dm(self, request: web.Request) -> web.Response:
        recipient = int((await request.json())["recipient_id"])
        for user in self._world.users.values():
            if user.id == recipient:
                return reply(self._world.channel_json(self._world.dm(user)))
        raise ApiError(400, 50033, "Invalid Recipient(s)")

    async def _get_channel(self, request: web.Request) -> web.Response:
        return reply(self._world.channel_json(self._channel(request)))

    async def _change_thread(self, request: web.Request) -> web.Response:
        """All that the bot may change of a thread: that it is archived."""
        thread = self._channel(request)
        if await request.json() != {"archived": False} or thread.parent is None or thread.locked:
            raise ApiError(403, 50013, "Missing Permissions")
        thread.archived = False
        return reply(self._world.channel_json(thread))

    async def _typing(self, request: web.Request) -> web.Response:
        self._world.typing.append(self._channel(request))
        return web.Response(status=204)

    async def _create_thread(self, request: web.Request) -> web.Response:
        channel, number = self._channel(request), request.match_info.get("message")
        hangs_on = channel.message(number) if number is not None else None
        thread = self._world.thread(channel, (await request.json())["name"], hangs_on)
        return reply(self._world.channel_json(thread), status=201)

    # Messages.

    async def _history(self, request: web.Request) -> web.Response:
        channel = self._channel(request)
        after, limit = int(request.query.get("after", 0)), int(request.query.get("limit", 50))
        before = int(request.query.get("before", 1 << 63))
        found = [message for message in channel.messages if after < int(message["id"]) < before]
        page = found[:limit] if "after" in request.query else found[-limit:]
        return reply([self._world.seen(message, channel) for message in reversed(page)])

    async def _create_message(self, request: web.Request) -> web.Response:
        body = await Body.of(request)
        return reply(self._world.post(self._channel(request), body.payload, body.files))

    async def _get_message(self, request: web.Request) -> web.Response:
        channel = self._channel(request)
        message = channel.message(request.match_info["message"])
        return reply(self._world.seen(message, channel))

    async def _edit_message(self, request: web.Request) -> web.Response:
        channel = self._channel(request)
        self._world.check_open(channel, to_write=False)
        message = channel.message(request.match_info["message"])
        if message["author"]["id"] != str(self._world.bot.id):
            raise ApiError(403, 50005, "Cannot edit a message authored by another user")
        body = await Body.of(request)
        return reply(self._world.edit(channel, message, body.payload, body.files))

    async def _delete_message(self, request: web.Request) -> web.Response:
        channel = self._channel(request)
        self._world.delete(channel, channel.message(request.match_info["message"]))
        return web.Response(status=204)

    # Interactions.

    async def _callback(self, request: web.Request) -> web.Response:
        interaction = self._world.interactions.get(request.match_info["token"])
        if interaction is None or str(interaction.id) != request.match_info["id"]:
            raise ApiError(404, 10062, "Unknown interaction")
        if self._world.clock() - interaction.created > _ANSWER_SECONDS:
            raise ApiError(404, 10062, "Unknown interaction")
        if interaction.answered is not None:
            raise ApiError(400, 40060, "Interaction has already been acknowledged.")
        answer = await request.json()
        self._answer(interaction, answer["type"], answer.get("data") or {})
        if request.query.get("with_response") not in ("1", "true"):
            return web.Response(status=204)
        kind = {"command": 2, "press": 3, "completion": 4, "form": 5}[interaction.kind]
        return reply({"interaction": {"id": str(interaction.id), "type": kind}})

    def _answer(self, interaction: Interaction, kind: int, data: Json) -> None:
        match kind:
            case 8 if interaction.kind == "completion":
                check_choices(data["choices"])
                interaction.choices = data["choices"]
            case 5 if _opens(interaction) and data.get("flags", 0) & EPHEMERAL:
                interaction.message = self._world.think_aside(interaction)
            case 5 if _opens(interaction):
                thinking = {"content": "…", "flags": 0}
                interaction.message = self._world.post(
                    interaction.channel, thinking, content="", flags=LOADING | data.get("flags", 0)
                )
            case 4:
                self._say(interaction, data)
            case 6 if interaction.kind in ("press", "form"):
                pass
            case 9 if interaction.kind in ("press", "command"):
                check_form(data)
                interaction.form = data
            case 7 if interaction.message is not None:
                self._world.edit(interaction.channel, interaction.message, data)
            case _:
                raise ApiError(400, 50035, "Invalid Form Body: type")
        interaction.answered = kind

    def _say(
        self, interaction: Interaction, data: Json, files: Mapping[int, Sent] | None = None
    ) -> Json:
        if (data.get("flags") or 0) & EPHEMERAL:
            return self._world.whisper(interaction, data)
        message = self._world.post(interaction.channel, data, files)
        if interaction.message is None:
            interaction.message = message
        return message

    def _answerable(self, request: web.Request) -> Interaction:
        interaction = self._world.interactions.get(request.match_info["token"])
        if interaction is None or interaction.answered is None:
            raise ApiError(404, 10015, "Unknown Webhook")
        if self._world.clock() - interaction.created > _TOKEN_SECONDS:
            raise ApiError(401, 50027, "Invalid Webhook Token")
        return interaction

    async def _follow_up(self, request: web.Request) -> web.Response:
        interaction, body = self._answerable(request), await Body.of(request)
        message = interaction.message
        if message is not None and message["flags"] & LOADING:
            channel = interaction.channel
            return reply(self._world.edit(channel, message, body.payload, body.files))
        return reply(self._say(interaction, body.payload, body.files))

    async def _original(self, request: web.Request) -> web.Response:
        return reply(self._original_of(self._answerable(request)))

    async def _edit_original(self, request: web.Request) -> web.Response:
        interaction = self._answerable(request)
        message, body = self._original_of(interaction), await Body.of(request)
        channel = interaction.channel
        if message["flags"] & EPHEMERAL:
            text = body.payload["content"]
            self._world.whispers.append(Whisper(interaction.user, text))
        return reply(self._world.edit(channel, message, body.payload, body.files))

    def _original_of(self, interaction: Interaction) -> Json:
        message = interaction.message
        if message is None:
            raise ApiError(404, 10008, "Unknown Message")
        if message not in interaction.channel.messages and not message["flags"] & EPHEMERAL:
            raise ApiError(404, 10008, "Unknown Message")
        return message

    # Files.

    async def _attachment(self, request: web.Request) -> web.StreamResponse:
        fault = self._injected(request.method, request.path)
        return faulty(request, fault) if fault else await self._world.cdn.serve(request)


def _opens(interaction: Interaction) -> bool:
    """Whether a new message can answer it: a command, or the form that a command opened."""
    is_form = interaction.kind == "form" and interaction.message is None
    return interaction.kind == "command" or is_form


def reply(value: Any, status: int = 200) -> web.Response:
    # discord.py compares the content type as a whole: no charset.
    return web.Response(
        body=json.dumps(value).encode(), status=status, content_type="application/json"
    )


def error(problem: ApiError) -> web.Response:
    return reply({"message": problem.message, "code": problem.code}, problem.status)


def faulty(request: web.Request, fault: Fault) -> web.Response:
    match fault:
        case Fail(page=True):
            return web.Response(status=fault.status, text=fault.message)
        case Fail():
            return error(ApiError(fault.status, fault.code, fault.message))
        case Throttle():
            return throttled(fault)
        case Cut():
            return cut(request)
        case Odd():
            return reply(fault.answer)


def throttled(fault: Throttle) -> web.Response:
    body = {
        "message": "You are being rate limited.",
        "retry_after": fault.retry_after,
        "global": fault.everywhere,
        "code": 0,
    }
    response = reply(body, 429)
    response.headers["Retry-After"] = str(max(1, round(fault.retry_after)))
    if fault.via:
        response.headers["Via"] = "1.1 google"
    return response


def cut(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.close()
    return web.Response()
