"""Telegram's side of a webhook: updates brought to a URL, and again until it says 200.

One at a time for a chat, several chats side by side, as Telegram's own server does it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import aiohttp

from tests.stand_ins.telegram_checks import Json, bad_request
from tests.stand_ins.telegram_world import World

SECRET = "X-Telegram-Bot-Api-Secret-Token"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
"""Seconds between attempts. Telegram's are longer."""


@dataclass(frozen=True)
class Hook:
    url: str
    secret: str
    connections: int


def checked_hook(params: Json) -> Hook:
    """What setWebhook takes; a local server takes http too."""
    url = params.get("url", "")
    if not re.match(r"https?://[^/\s]+", url):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    secret = params.get("secret_token", "")
    if not re.fullmatch(r"[A-Za-z0-9_-]{0,256}", secret):
        raise bad_request("secret token contains unallowed characters")
    connections = int(params.get("max_connections", 40))
    if not 1 <= connections <= 100:
        raise bad_request("max_connections is out of range")
    return Hook(url, secret, connections)


@dataclass
class Deliveries:
    world: World
    wait_change: Callable[[], Awaitable[None]]
    hook: Hook | None = None
    statuses: list[int] = field(default_factory=list)
    """Of every attempt, 0 where nobody answered."""
    brought: list[int] = field(default_factory=list)
    """Numbers of the updates, one for each attempt."""
    deaf: bool = False
    """Whether what the bot answers is lost on its way here."""
    last_error: tuple[float, str] | None = None
    _busy: set[str] = field(default_factory=set)
    _failures: dict[str, int] = field(default_factory=dict)

    async def run(self) -> None:
        """Until cancelled."""
        timeout = aiohttp.ClientTimeout(total=60)
        async with aiohttp.ClientSession(timeout=timeout) as session, asyncio.TaskGroup() as group:
            while True:
                if (hook := self.hook) is not None:
                    for update in self.world.pending:
                        queue = _queue(update)
                        if queue not in self._busy and len(self._busy) < hook.connections:
                            self._busy.add(queue)
                            group.create_task(self._bring(session, hook, queue, update))
                await self.wait_change()

    async def _bring(
        self, session: aiohttp.ClientSession, hook: Hook, queue: str, update: Json
    ) -> None:
        headers = {SECRET: hook.secret} if hook.secret else {}
        self.brought.append(update["update_id"])
        try:
            async with session.post(hook.url, json=update, headers=headers) as response:
                status = 0 if self.deaf else response.status
            said = f"Wrong response from the webhook: {status} {response.reason}"
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            status, said = 0, f"Connection failed: {type(error).__name__}"
        self.statuses.append(status)
        if 200 <= status < 300:
            self._failures.pop(queue, None)
            self.world.drop(update["update_id"])
        else:
            failures = self._failures[queue] = self._failures.get(queue, 0) + 1
            self.last_error = (self.world.clock(), said)
            await asyncio.sleep(min(_FIRST_PAUSE * 2 ** min(failures, 10), _LONGEST_PAUSE))
        self._busy.discard(queue)
        self.world.changed()

    def info(self) -> Json:
        """What getWebhookInfo says of it beside the URL."""
        if self.last_error is None:
            return {}
        when, said = self.last_error
        return {"last_error_date": int(when), "last_error_message": said}


def _queue(update: Json) -> str:
    """What is brought one after the other."""
    for kind, payload in update.items():
        if kind != "update_id" and isinstance(payload, dict):
            message = payload.get("message", payload)
            return str(message.get("chat", {}).get("id", "")) if isinstance(message, dict) else ""
    return ""
