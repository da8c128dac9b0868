"""Presses, commands and options: passed on beside all else, and acknowledged within the 3 s that
Discord gives, so they never wait behind messages."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import discord
from discord.http import Route

from adapters.base import Commands, Receive
from adapters.discord.inbound.normalize_interaction import asked_form, normalize_interaction
from adapters.discord.inbound.unreadable import Complaints, unreadable_interaction
from adapters.discord.interactions import INTERACTION_CALLBACK, Deferrals
from adapters.discord.payload import Payload
from adapters.discord.rest import PLATFORM_ERRORS
from adapters.events import Completion, Message, Press, Unreadable

_LONGEST_SILENCE_SECONDS = 1.5
"""Half the time in which Discord wants an interaction acknowledged."""

_log = logging.getLogger(__name__)

PassOver = Callable[[Unreadable], Coroutine[Any, Any, None]]
"""Puts on record that something came and cannot be read."""


class Interactions:
    def __init__(
        self,
        client: discord.Client,
        deferrals: Deferrals,
        commands: Commands,
        complaints: Complaints,
    ) -> None:
        self._client = client
        self._deferrals = deferrals
        self._menu = {spec.on_message: spec for spec in commands if spec.on_message}
        self._discreet = frozenset(spec.name for spec in commands if spec.discreet)
        self._complaints = complaints
        self._arrived: asyncio.Queue[discord.Interaction[Any] | Unreadable] = asyncio.Queue()

    def put(self, arrived: discord.Interaction[Any] | Unreadable) -> None:
        self._arrived.put_nowait(arrived)

    async def run(self, receive: Receive, pass_over: PassOver, group: asyncio.TaskGroup) -> None:
        """Until cancelled. `group` owns what is passed on side by side."""
        while True:
            interaction = await self._arrived.get()
            if isinstance(interaction, Unreadable):
                group.create_task(pass_over(interaction))
                continue
            try:
                asked = asked_form(interaction, self._menu)
                update = normalize_interaction(interaction, self._menu) if not asked else None
            except Exception as error:  # noqa: BLE001
                # As with messages.
                odd = unreadable_interaction(interaction, error)
                self._complaints.add(odd, error)
                group.create_task(pass_over(odd))
                continue
            if asked is not None:
                group.create_task(self._open_form(interaction, asked))
            elif isinstance(update, Completion):
                group.create_task(self._complete(update, receive))
            elif update is not None:
                # Beside the next one: 3 s are soon over, and a command may take its time.
                group.create_task(self._pass_on(interaction, update, receive))

    async def _complete(self, update: Completion, receive: Receive) -> None:
        """Its answer is what acknowledges it."""
        await receive(update)

    async def _pass_on(
        self, interaction: discord.Interaction[Any], update: Message | Press, receive: Receive
    ) -> None:
        """Acknowledge it once it is dealt with, and where that takes long, before its time is up:
        Discord never tells it again, so waiting on would lose the place of the answer and save
        nothing."""
        self._deferrals.begin(update.handle)
        receiving = asyncio.ensure_future(receive(update))
        try:
            done, _ = await asyncio.wait([receiving], timeout=_LONGEST_SILENCE_SECONDS)
            for received in done:
                received.result()
            await self._defer(interaction, update)
            self._deferrals.end(update.handle)
            await receiving
        finally:
            self._deferrals.end(update.handle)
            receiving.cancel()

    async def _open_form(self, interaction: discord.Interaction[Any], form: Payload) -> None:
        """At once, and before anybody else is asked: a form is an answer within 3 s, or none. Who
        may answer is checked when it comes back."""
        where = Route("POST", INTERACTION_CALLBACK, id=interaction.id, token=interaction.token)
        try:
            await self._client.http.request(where, json=form)
        except PLATFORM_ERRORS as error:
            # Nothing was lost: who pressed sees that it failed, and presses again.
            _log.warning("a form could not be opened: %s", error)

    async def _defer(self, interaction: discord.Interaction[Any], update: Message | Press) -> None:
        """A command's answer is to stand where the bot "thinks" from now on: who reads it is
        settled here. A press changes what it hangs on."""
        command = isinstance(update, Message)
        name = update.text.split()[0].removeprefix("/") if isinstance(update, Message) else ""
        alone = name in self._discreet and interaction.guild_id is not None
        try:
            await interaction.response.defer(thinking=command, ephemeral=alone)
        except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as error:
            # It is committed and will be worked on; only Discord's own sign of that is missing.
            _log.warning("an interaction could not be acknowledged: %s", error)
        except Exception as error:  # noqa: BLE001
            # Accepted; discord.py only stumbles over what it was told about it, and then it may
            # raise anything.
            _log.debug("an interaction was acknowledged with an odd reply: %r", error)
