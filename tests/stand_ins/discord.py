"""A Discord to test against: REST and gateway on one port, for discord.py as it is.

In tests:

    async with DiscordServer(token="x") as server:
        DiscordAdapter("x", server.api_base, server.gateway_url)
        server.dm("ann", "hello")
        await server.wait_for(lambda: len(server.messages(server.dm_of("ann"))) == 2)

By hand: python -m tests.stand_ins.discord --port 8082 --token x
"""

import argparse
import asyncio
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Self

from aiohttp import web

from tests.stand_ins.discord_console import converse
from tests.stand_ins.discord_files import UPLOAD_LIMIT, Sent
from tests.stand_ins.discord_gateway import Gateway
from tests.stand_ins.discord_rest import (
    BASE,
    Fault,
    Handler,
    Injection,
    Request,
    Rest,
    Throttle,
    reply,
    throttled,
)
from tests.stand_ins.discord_world import WHISPER, Channel, Interaction, Json, User, Whisper, World
from tests.stand_ins.rates import DiscordLimits
from tests.stand_ins.serving import listen

_SLASH, _COMPONENT, _OPTION, _FORM = 2, 3, 4, 5
_ON_MESSAGE = 3
_KINDS: dict[int, Literal["command", "press", "form", "completion"]] = {
    _SLASH: "command",
    _COMPONENT: "press",
    _FORM: "form",
    _OPTION: "completion",
}
_TEXT_OPTION, _FILE_OPTION = 3, 11


class DiscordServer:
    """One server ("guild") with a channel "general", private chats, and one bot in both.

    `world.clock` (Unix seconds) decides when interactions die and may be replaced.
    """

    def __init__(self, token: str = "token", port: int = 0) -> None:
        self._port = port
        self.watchers: list[Callable[[str, Json], None]] = []
        """Called with each event and its data."""
        self.gateway = Gateway(token)
        self.world = World(self._announce)
        self.gateway.world = self.world
        self.rest = Rest(self.world, token)
        self.general = self.world.channel("general")
        self.limits: DiscordLimits | None = None
        """What is over them is refused (429), where they are given."""
        application = self.rest.application()
        application.middlewares.insert(0, self._limited)
        application.router.add_get("/gateway/", self.gateway.serve)
        application.router.add_get(f"{BASE}/gateway/bot", self._gateway_bot)
        self.shards = 1
        """Connections that Discord asks for."""
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)

    async def __aenter__(self) -> Self:
        self._port = await listen(self._runner, self._port)
        self.world.cdn.origin = f"http://127.0.0.1:{self._port}"
        self.gateway.url = self.gateway_url
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.gateway.drop(resumable=False, code=1001)
        await self._runner.cleanup()

    async def _gateway_bot(self, _: web.Request) -> web.Response:
        limit = {"total": 1000, "remaining": 999, "reset_after": 1, "max_concurrency": 1}
        answer = {"url": self.gateway_url, "shards": self.shards, "session_start_limit": limit}
        return reply(answer)

    @property
    def api_base(self) -> str:
        return f"http://127.0.0.1:{self._port}{BASE}"

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self._port}/gateway/"

    @property
    def urls(self) -> dict[str, str]:
        """Where it is, as `[discord]` says it."""
        return {"api_base": self.api_base, "gateway_url": self.gateway_url}

    @property
    def mention(self) -> str:
        """The bot, mentioned."""
        return f"<@{self.world.bot.id}>"

    # What people do.

    def user(self, name: str) -> User:
        return self.world.user(name)

    def dm_of(self, user: str) -> Channel:
        return self.world.dm(self.user(user))

    def thread(self, name: str) -> Channel:
        return self.world.thread(self.general, name)

    def say(self, channel: Channel, user: str, text: str, **more: Any) -> Json:
        """`more`: reply_to (a message), ping (of its author), files (name → content), and
        fields of the message."""
        return self.world.say(channel, self.user(user), text, **more)

    def dm(self, user: str, text: str, **more: Any) -> Json:
        return self.say(self.dm_of(user), user, text, **more)

    def edit(self, message: Json, text: str) -> None:
        """Who said it says it differently now."""
        self.world.rewrite(self.world.channels[int(message["channel_id"])], message, text)

    def preview(self, message: Json) -> None:
        """Discord shows what stands behind a link in it: told like an edit, but none."""
        self.world.preview(self.world.channels[int(message["channel_id"])], message)

    def press(self, message: Json, label: str, user: str) -> Interaction:
        """KeyError where the message, as it is now, has no such button."""
        channel = self.world.channels[int(message["channel_id"])]
        buttons = self.buttons(channel.message(message["id"]))
        return self.press_forged(message, buttons[label], user)

    def press_forged(self, message: Json, custom_id: str, user: str) -> Interaction:
        """A press with any custom_id, whether there is such a button or not."""
        channel = self.world.channels[int(message["channel_id"])]
        data = {"custom_id": custom_id, "component_type": 2, "id": 2}
        return self._interact(_COMPONENT, channel, user, data, channel.message(message["id"]))

    def press_seen_alone(self, command: Interaction, label: str, user: str) -> Interaction:
        """A press on the answer of a command that only one person sees."""
        assert command.message is not None
        custom_id = self.buttons(command.message)[label]
        data = {"custom_id": custom_id, "component_type": 2, "id": 2}
        return self._interact(_COMPONENT, command.channel, user, data, command.message)

    def submit(self, press: Interaction, words: str) -> Interaction:
        """Who pressed writes into the form that came up. AssertionError where there is none."""
        assert press.form is not None, "no form came up"
        data: Json = {"custom_id": press.form["custom_id"], "components": []}
        for number, each in enumerate(press.form["components"]):
            field = each["component"]
            written = {"type": 4, "id": 2 * number + 2, "value": words}
            written["custom_id"] = field["custom_id"]
            assert field["min_length"] <= len(words) <= field["max_length"]
            data["components"].append({"type": 18, "id": 2 * number + 1, "component": written})
        return self._interact(_FORM, press.channel, press.user.name, data, press.message)

    def slash(
        self,
        channel: Channel,
        user: str,
        name: str,
        argument: str = "",
        file: Sent | None = None,
    ) -> Interaction:
        """KeyError where the command is not registered, or takes no argument or file."""
        command = {command["name"]: command for command in self.world.commands}[name]
        data: Json = {"id": command["id"], "name": name, "type": 1}
        names = {option["type"]: option["name"] for option in command.get("options", ())}
        given: list[tuple[int, str]] = [(_TEXT_OPTION, argument)] if argument else []
        if file is not None:
            folder = f"ephemeral-attachments/{self.world.bot.id}"
            attachment = self.world.cdn.add(file, folder) | {"ephemeral": True}
            data["resolved"] = {"attachments": {attachment["id"]: attachment}}
            given.append((_FILE_OPTION, attachment["id"]))
        if given:
            data["options"] = [
                {"name": names[kind], "type": kind, "value": value} for kind, value in given
            ]
        return self._interact(_SLASH, channel, user, data, None)

    def type_option(self, channel: Channel, user: str, name: str, typed: str) -> Interaction:
        """Somebody types an option. StopIteration where it offers nothing to choose from."""
        command = {command["name"]: command for command in self.world.commands}[name]
        option = next(one for one in command["options"] if one.get("autocomplete"))
        given = {"name": option["name"], "type": _TEXT_OPTION, "value": typed, "focused": True}
        data: Json = {"id": command["id"], "name": name, "type": 1, "options": [given]}
        return self._interact(_OPTION, channel, user, data, None)

    def give_on(self, message: Json, user: str, name: str) -> Interaction:
        """Somebody gives a command of a message's menu. KeyError where there is none."""
        channel = self.world.channels[int(message["channel_id"])]
        menu = {one["name"]: one for one in self.world.commands if one["type"] == _ON_MESSAGE}
        data: Json = {"id": menu[name]["id"], "name": name, "type": _ON_MESSAGE}
        seen = self.world.seen(message, channel)
        data |= {"target_id": message["id"], "resolved": {"messages": {message["id"]: seen}}}
        return self._interact(_SLASH, channel, user, data, None)

    def _interact(
        self, kind: int, channel: Channel, user: str, data: Json, message: Json | None
    ) -> Interaction:
        who = self.user(user)
        interaction = Interaction(
            id=self.world.snowflake(),
            token=secrets.token_urlsafe(80),
            kind=_KINDS[kind],
            channel=channel,
            user=who,
            created=self.world.clock(),
            message=message,
        )
        self.world.interactions[interaction.token] = interaction
        event: Json = {
            "id": str(interaction.id),
            "application_id": str(self.world.bot.id),
            "type": kind,
            "token": interaction.token,
            "version": 1,
            "data": data,
            "channel": self.world.channel_json(channel),
            "channel_id": str(channel.id),
            "locale": "en-US",
            "app_permissions": "0",
            "attachment_size_limit": UPLOAD_LIMIT,
            "entitlements": [],
            "authorizing_integration_owners": {},
        }
        if channel.kind == "dm":
            event |= {"user": who.json(), "context": 1}
        else:
            member = who.member() | {"user": who.json(), "permissions": "0"}
            event |= {"guild_id": str(self.world.guild_id), "member": member, "context": 0}
        if message is not None:
            event["message"] = message
        self._announce("INTERACTION_CREATE", event)
        return interaction

    # What is there to see.

    def messages(self, channel: Channel) -> list[Json]:
        """All of a channel as they are now, oldest first."""
        return channel.messages

    def said(self, channel: Channel) -> list[str]:
        """What the bot said in a channel."""
        bot = str(self.world.bot.id)
        return [m["content"] for m in channel.messages if m["author"]["id"] == bot]

    def buttons(self, message: Json) -> dict[str, str]:
        """Label → custom_id."""
        return {
            button["label"]: button["custom_id"]
            for row in message["components"]
            for button in row["components"]
        }

    @property
    def whispers(self) -> list[Whisper]:
        return self.world.whispers

    @property
    def requests(self) -> list[Request]:
        return self.rest.requests

    @property
    def violations(self) -> list[str]:
        """What the published API description does not allow, in requests or in replies."""
        return self.rest.violations

    async def wait_for(self, predicate: Callable[[], Any], timeout: float = 60.0) -> Any:
        """Return what `predicate` gives once that is true. TimeoutError after `timeout` seconds.

        It polls, because what is waited for is as often on the bot's side as on this one.
        """
        async with asyncio.timeout(timeout):
            while not (result := predicate()):
                await asyncio.sleep(0.005)
            return result

    # What goes wrong.

    def inject(self, method: str, path: str, fault: Fault, times: int = 1) -> None:
        """Let the next `times` calls fail whose path matches the regular expression."""
        self.rest.injections.append(Injection(method, re.compile(path), fault, times))

    @web.middleware
    async def _limited(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self.limits is None or not request.path.startswith(f"{BASE}/"):
            return await handler(request)
        wait = self.limits.check(request.method, request.path.removeprefix(BASE))
        return throttled(Throttle(wait)) if wait else await handler(request)

    def _announce(self, event: str, data: Json) -> None:
        if event != WHISPER:
            self.gateway.dispatch(event, data)
        for watch in self.watchers:
            watch(event, data)


async def serve(port: int, token: str) -> None:
    async with DiscordServer(token, port) as server:
        await converse(server)


def main() -> None:
    parser = argparse.ArgumentParser(description="A Discord for one bot and one person at a time")
    parser.add_argument("--port", type=int, default=8082)
    parser.add_argument("--token", default="x")
    arguments = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(arguments.port, arguments.token))


if __name__ == "__main__":
    main()
