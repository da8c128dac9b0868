"""Discord as an adapter."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import assert_never

import aiohttp
import discord

from adapters.base import (
    Acknowledge,
    AdapterError,
    Body,
    Commands,
    Draft,
    Edit,
    Menu,
    Misconfigured,
    OpenThread,
    Outgoing,
    Post,
    Receive,
    Refused,
    Suggest,
    Throttled,
    Typing,
    Unavailable,
    Unreachable,
)
from adapters.checkup import Checkup
from adapters.discord import attachments, payload
from adapters.discord.client import (
    API_BASE,
    TO_HEAR_ALL,
    close,
    listen_to_all,
    may_hear_all,
    new_client,
)
from adapters.discord.follow_ups import acknowledged
from adapters.discord.handles import INTERACTION_CALLBACK, Deferrals, Handle
from adapters.discord.inbound.receiver import Receiver
from adapters.discord.render import render
from adapters.discord.rest import (
    PLATFORM_ERRORS,
    NotPermitted,
    ReplyRefused,
    Rest,
    ThreadArchived,
    ThreadExists,
    adapter_error,
    timely,
)
from adapters.events import Conversation

_LOGIN_SECONDS = 60.0
_MESSAGES = "/channels/{channel_id}/messages"
_FOLLOW_UPS = "/webhooks/{webhook_id}/{webhook_token}"

_log = logging.getLogger(__name__)


class DiscordAdapter:
    """A bot on Discord, by discord.py.

    Conversations are channels, threads and private chats by their id, "discord:42". To send,
    there is also "discord:user:7": the private chat with that user, opened when needed; what is
    said or pressed there arrives under the chat's own id.

    discord.py keeps `api_base` and `gateway_url` in classes: one Discord in a process.
    """

    name = "discord"
    numbers_buttons = False

    def __init__(
        self,
        token: str,
        api_base: str = API_BASE,
        gateway_url: str | None = None,
        commands: Commands = (),
        shards: int | None = 1,
    ) -> None:
        """`shards`: connections to the gateway; None for as many as Discord asks for."""
        self._token = token
        self._api_base = api_base
        self._gateway_url = gateway_url
        self._commands = commands
        self._shards = shards
        self._deferrals = Deferrals()
        self._private_chats: dict[int, int] = {}
        """User → channel, of the private chats opened here."""
        self._client: discord.Client | None = None
        """To send with: it never connects to the gateway."""
        self._rest: Rest | None = None
        self._gateway: discord.Client | None = None
        """To receive with, while it runs."""
        self._receiver: Receiver | None = None
        self._count = shards or 1
        self._held: list[int] = []
        """Numbers of the connections that are this process's; none: all."""
        self._ready = asyncio.Event()

    def label(self, text: str) -> str:
        return payload.label(text)

    def render(self, markdown: str) -> list[Body]:
        return render(markdown)

    async def start(self) -> str:
        """Log in. May be called again after it, or `run`, has failed."""
        await self.close()
        try:
            _, rest, me = await self._signed_in()
            self._count = self._shards or await _shards_asked_for(rest)
        except AdapterError as problem:
            await self.close()
            raise _start_failed(problem, self._api_base) from problem.__cause__
        return str(me)

    @property
    def feeds(self) -> tuple[str, ...]:
        """A connection is one process's. What is said in it depends on how many there are."""
        return tuple(f"shard:discord:{number}/{self._count}" for number in range(self._count))

    async def prepare(self, feeds: Collection[str]) -> None:
        self._held = [number for number, name in enumerate(self.feeds) if name in feeds]
        client, rest = self._client, self._rest
        if client is None or rest is None:
            raise Unavailable("the Discord adapter is not started")
        try:
            await self._register_commands(client, rest)
        except AdapterError as problem:
            raise _start_failed(problem, self._api_base) from problem.__cause__

    async def look(self, trace: aiohttp.TraceConfig | None = None) -> Checkup:
        """Who the bot is and whether it hears what names nobody, and nothing that changes anything
        there. `trace` is shown the answers. Raises as `start` does."""
        await self.close()
        try:
            client, _, me = await self._signed_in(trace)
            hears_all = may_hear_all(client)
        except AdapterError as problem:
            raise _start_failed(problem, self._api_base) from problem.__cause__
        finally:
            await self.close()
        return Checkup(str(me), hears_all=hears_all, to_hear_all=TO_HEAR_ALL)

    async def _signed_in(
        self, trace: aiohttp.TraceConfig | None = None
    ) -> tuple[discord.Client, Rest, discord.ClientUser]:
        self._client = client = new_client(self._api_base, self._gateway_url)
        client.http.http_trace = trace or timely()
        self._rest = rest = Rest(client)
        return client, rest, await self._log_in(client)

    async def _log_in(self, client: discord.Client) -> discord.ClientUser:
        try:
            async with asyncio.timeout(_LOGIN_SECONDS):
                await client.login(self._token)
        except discord.LoginFailure:
            raise Misconfigured("Discord refuses the bot token; set discord.token") from None
        except PLATFORM_ERRORS as error:
            raise adapter_error(error) from error
        if client.user is None or client.application is None:
            raise Unavailable("Discord does not say who the bot is")
        if client.application.interactions_endpoint_url:
            raise Misconfigured(
                "the bot has an interactions endpoint URL, so Discord sends presses and commands "
                "there and not here; clear it on the bot's page in the developer portal"
            )
        return client.user

    async def _register_commands(self, client: discord.Client, rest: Rest) -> None:
        await rest.call(
            "PUT",
            "/applications/{application_id}/commands",
            payload.commands(self._commands),
            application_id=client.application_id,
        )

    async def run(self, receive: Receive, cursors: Mapping[str, str]) -> None:
        """See Adapter.run. `start` comes first. Misconfigured where Discord ends it for good. Its
        connections are its own, so that what is sent meanwhile does not end with them."""
        if self._rest is None:
            raise Unavailable("the Discord adapter is not started")
        client = new_client(self._api_base, self._gateway_url, self._count, self._held)
        self._gateway = client
        try:
            me = await self._log_in(client)
            listen_to_all(client)
            ready = self._ready.set
            self._receiver = Receiver(client, me, self._deferrals, ready, self._commands)
            await self._receiver.run(receive, cursors)
        finally:
            self._gateway = self._receiver = None
            self._ready.clear()
            await close(client)
        raise Unavailable("the connection to Discord has ended")

    async def wait_ready(self) -> None:
        await self._ready.wait()

    async def close(self) -> None:
        """To be called when `run` has ended; also after a failed start, and more than once."""
        client, rest = self._client, self._rest
        self._client = self._rest = None
        self._ready.clear()
        if rest is not None:
            await rest.close()
        if client is not None:
            await close(client)

    async def deliver(self, outgoing: Outgoing) -> str | None:
        rest = self._rest
        if rest is None:
            raise Unavailable("the Discord adapter is not started")
        match outgoing:
            case Post():
                return await self._post(rest, outgoing)
            case Edit():
                await self._edit(rest, outgoing)
            case Draft():
                raise Refused("Discord has no drafts")
            case Typing():
                channel = await self._channel(rest, outgoing.conversation)
                await rest.call("POST", "/channels/{channel_id}/typing", channel_id=channel)
            case Acknowledge():
                await self._acknowledge(rest, outgoing)
            case OpenThread():
                await self._open_thread(rest, outgoing)
            case Suggest():
                await self._suggest(rest, outgoing)
            case Menu():
                pass  # Discord shows the same commands to all
            case _:
                assert_never(outgoing)
        return None

    async def fetch(self, ref: str, limit: int) -> bytes:
        return await attachments.fetch(ref, limit, self._api_base)

    async def _post(self, rest: Rest, post: Post) -> str:
        handle = Handle.parse(post.handle)
        if handle is not None and handle.kind == "command":
            try:
                return await self._answer(rest, handle, post)
            except (Refused, Unreachable, Misconfigured) as error:
                _log.info("a command cannot be answered in place, only in its channel: %s", error)
        channel = await self._channel(rest, post.conversation)
        try:
            return await self._send(rest, post, channel)
        except ReplyRefused:
            return await self._send(rest, replace(post, reply_to=""), channel)

    async def _send(self, rest: Rest, post: Post, channel: int) -> str:
        message = payload.new_message(post)
        try:
            return await rest.message_id(
                "POST", _MESSAGES, message, upload=post.upload, channel_id=channel
            )
        except NotPermitted as error:
            if post.upload is None:
                raise
            # Words may still be welcome here.
            raise Refused("the bot may not send files here; allow it to attach files") from error

    async def _answer(self, rest: Rest, handle: Handle, post: Post) -> str:
        """Put the message where the command's "thinking…" stands."""
        answer = partial(
            rest.message_id,
            "PATCH",
            f"{_FOLLOW_UPS}/messages/@original",
            payload.changed_message(post),
            upload=post.upload,
            webhook_id=self._application_id(),
            webhook_token=handle.token,
        )
        return await acknowledged(self._deferrals, handle, answer)

    async def _edit(self, rest: Rest, edit: Edit) -> None:
        handle = Handle.parse(edit.handle)
        if handle is not None and handle.kind == "aside":
            # It stands in no channel: only the press leads to it.
            change = partial(
                rest.call,
                "PATCH",
                f"{_FOLLOW_UPS}/messages/@original",
                payload.changed_message(edit),
                webhook_id=self._application_id(),
                webhook_token=handle.token,
            )
            return await acknowledged(self._deferrals, handle, change)
        channel = await self._channel(rest, edit.conversation)
        change = partial(
            rest.call,
            "PATCH",
            f"{_MESSAGES}/{{message_id}}",
            payload.changed_message(edit),
            channel_id=channel,
            message_id=edit.message_id,
        )
        try:
            await change()
        except ThreadArchived:
            # Nobody wrote there for a while. Who may write there may open it again.
            reopened = {"archived": False}
            await rest.call("PATCH", "/channels/{channel_id}", reopened, channel_id=channel)
            await change()

    async def _acknowledge(self, rest: Rest, acknowledge: Acknowledge) -> None:
        """Discord heard of the press when it was committed; left is what to tell the presser."""
        handle = Handle.parse(acknowledge.handle)
        if not acknowledge.text.strip():
            return
        if handle is None:
            raise Refused(f"{acknowledge.handle!r} is no press of Discord's")
        await self._deferrals.settled(acknowledge.handle)
        try:
            await rest.call(
                "POST",
                _FOLLOW_UPS,
                payload.whisper(acknowledge.text),
                webhook_id=self._application_id(),
                webhook_token=handle.token,
            )
        except (Unreachable, Misconfigured) as error:
            raise Refused(f"the press cannot be answered any more: {error}") from error

    async def _open_thread(self, rest: Rest, thread: OpenThread) -> None:
        try:
            opened = await rest.message_id(
                "POST",
                f"{_MESSAGES}/{{message_id}}/threads",
                payload.new_thread(thread),
                channel_id=thread.channel.chat,
                message_id=thread.message_id,
            )
        except ThreadExists:
            return
        if opened != thread.conversation.chat:
            raise Refused(f"the thread on message {thread.message_id} is called {opened}")

    async def _suggest(self, rest: Rest, suggest: Suggest) -> None:
        handle = Handle.parse(suggest.handle)
        if handle is None:
            raise Refused(f"{suggest.handle!r} is nothing that Discord asked")
        await rest.call(
            "POST",
            INTERACTION_CALLBACK,
            payload.suggestions(suggest),
            id=handle.id,
            token=handle.token,
        )

    def _application_id(self) -> int | None:
        return self._client.application_id if self._client else None

    async def _channel(self, rest: Rest, conversation: Conversation) -> int:
        kind, colon, user = conversation.chat.partition(":")
        if kind.isdecimal() and not colon:
            return int(kind)
        if kind != "user" or not user.isdecimal():
            raise Unreachable(f"{conversation.address} is neither a channel nor a user")
        if int(user) not in self._private_chats:
            self._private_chats[int(user)] = await self._open_private_chat(rest, user)
        return self._private_chats[int(user)]

    async def _open_private_chat(self, rest: Rest, user: str) -> int:
        try:
            recipient = {"recipient_id": user}
            return int(await rest.message_id("POST", "/users/@me/channels", recipient))
        except Refused as error:
            raise Unreachable(f"no private chat with {user}: {error}") from error


async def _shards_asked_for(rest: Rest) -> int:
    """1 where Discord's answer says nothing of it."""
    answer = await rest.call("GET", "/gateway/bot")
    shards = answer.get("shards") if isinstance(answer, dict) else None
    return shards if isinstance(shards, int) and shards > 1 else 1


def _start_failed(problem: AdapterError, api_base: str) -> AdapterError:
    match problem:
        case Unavailable() | Misconfigured():
            return problem
        case Throttled():
            return Unavailable(str(problem))
        case _:
            return Misconfigured(
                f"Discord at {api_base} does not let the bot start: {problem}; check "
                "discord.token, and discord.api_base where it is set"
            )
