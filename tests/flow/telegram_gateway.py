"""A whole gateway as `bough run` starts it, between the two stand-ins: a Bot API server on one
side, a model server, spoken to through litellm, on the other.

Every request that reaches a model is held against the rules real providers refuse by, and every
request to Telegram against its published description, where that is at hand.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from agent.models.base import Model, Reply, Request
from agent.models.scripted import Rule
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.running.service import App
from storage.records.entries import Json, content_text
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.stand_ins.model import ModelServer, Received
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_world import words

T = TypeVar("T")

OWNER, ANN, STRANGER = 1001, 1002, 6666
FORUM = -1_000_000_000_001
TOKEN = "1000:a-secret-token"
KEY = "sk-a-secret-key-of-the-models"
TIERS = ("parent", "worker", "overseer")
PATIENCE = 90.0
"""Seconds until a test that waits for something is a failure."""


class TelegramGateway:
    def __init__(
        self,
        telegram: TelegramServer,
        models: ModelServer,
        config: Json,
        store: type[SqlStore] = SqlStore,
    ) -> None:
        self.telegram = telegram
        self.models = models
        self.config = config
        self._store = store
        self.app: App | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        config = Config.model_validate(self.config)
        store = await self._store.open(config.storage.url, ballast=config.storage.ballast)
        self.app = await bootstrap(config, store=store)
        ready = asyncio.Event()
        self._task = asyncio.create_task(self.app.run(ready=ready))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait([self._task, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._task.done():
            self._task.result()

    async def stop(self) -> None:
        """As a signal does; a fault that ended the gateway before is raised, once."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

    async def ended(self) -> None:
        """Wait until it ends by itself; raises what ended it."""
        task, self._task = self._task, None
        assert task is not None
        async with asyncio.timeout(PATIENCE):
            await task

    # What people do

    def say(self, text: str, *, chat: int = OWNER, user: int | None = None, **more: Any) -> Json:
        """A person says something, in their private chat where nothing else is said."""
        return self.telegram.say(chat, chat if user is None else user, text, **more)

    def press(self, message: Json, button: str, user: int = OWNER) -> Json:
        return self.telegram.press(message, button, user)

    # What they see

    async def hears(self, text: str, *, chat: int = OWNER, count: int = 1) -> Json:
        """The newest of the bot's messages with this text in it, once there are so many."""

        def found() -> list[Json]:
            shown = [one for one in self.telegram.messages(chat) if text in words(one)]
            return shown if len(shown) >= count else []

        try:
            return (await self.telegram.wait_for(found, PATIENCE))[-1]
        except TimeoutError:
            shown = [words(one)[:300] for one in self.telegram.messages(chat)]
            raise TimeoutError(f"{text!r} was not said in {chat}; what was: {shown}") from None

    async def told(self, count: int = 1) -> str:
        """What the last press was answered with, once so many have been."""
        answers = self.telegram.methods.answers
        await self.telegram.wait_for(lambda: len(answers) >= count, PATIENCE)
        return str(answers[count - 1].get("text", ""))

    def texts(self, chat: int = OWNER) -> list[str]:
        return [words(one) for one in self.telegram.messages(chat)]

    # What happened

    def asked(self, tier: str) -> list[Received]:
        """The requests that reached the model of a tier."""
        return [request for request in self.models.requests if request.model == tier]

    async def settled(self) -> None:
        """Nothing runs, and nothing is to be sent."""
        assert self.app is not None
        async with asyncio.timeout(PATIENCE):
            while not (self.app.scheduler.idle() and self.app.delivery.idle()):
                await asyncio.sleep(0.01)

    async def read(self, work: Callable[[Transaction], T]) -> T:
        assert self.app is not None
        return await self.app.store.read(work)


@asynccontextmanager
async def telegram_gateway(
    folder: Path,
    rules: Sequence[Json],
    *,
    wrap: Callable[[Model], Model] | None = None,
    store: type[SqlStore] = SqlStore,
    started: bool = True,
    **sections: Any,
) -> AsyncIterator[TelegramGateway]:
    """`sections` are added to the configuration. `wrap` changes the model behind the server."""
    async with (
        TelegramServer(token=TOKEN) as telegram,
        ModelServer([Rule.model_validate(rule) for rule in rules], api_key=KEY) as models,
    ):
        if wrap is not None:
            models._model = wrap(models._model)
        telegram.person(OWNER, "Olga")
        telegram.person(ANN, "Ann")
        config = configuration(folder, telegram, models)
        gateway = TelegramGateway(telegram, models, config, store)
        gateway.config |= sections
        if started:
            await gateway.start()
        try:
            yield gateway
        finally:
            await gateway.stop()
        assert telegram.violations == [], telegram.violations[:3]
        assert [fault for r in models.requests for fault in protocol_faults(r.messages)] == []


def configuration(folder: Path, telegram: TelegramServer, models: ModelServer) -> Json:
    tiers = {
        tier: {
            "model": f"openai/{tier}",
            "api_base": models.url,
            "api_key": KEY,
            "input_cost": 1e-6,
            "output_cost": 2e-6,
        }
        for tier in TIERS
    }
    return {
        "storage": {"url": f"sqlite:///{folder}/bough.db", "ballast": "none"},
        "telegram": {
            "token": telegram.token,
            "base_url": telegram.base_url,
            "base_file_url": telegram.base_file_url,
            "paced": False,
        },
        "models": tiers,
        "access": {"owners": [f"telegram:{OWNER}"], "allow": [f"telegram:{ANN}"]},
    }


def protocol_faults(messages: Sequence[Json]) -> list[str]:
    """What a strict provider refuses a conversation for."""
    faults: list[str] = []
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                faults.append(f"message {number}: a result without its call")
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            faults.append(f"message {number}: {open_calls} have no result")
        if (role == "system") != (number == 0):
            faults.append(f"message {number}: {role} stands in the wrong place")
        calls = message.get("tool_calls") or []
        open_calls = [call["id"] for call in calls]
        if len(set(open_calls)) < len(open_calls):
            faults.append(f"message {number}: two calls have one id")
        for call in calls:
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                faults.append(f"message {number}: arguments that are no object")
        if not content_text(message.get("content")).strip() and not calls:
            faults.append(f"message {number}: empty")
    return faults + [f"at the end {call} has no result" for call in open_calls]


# Rules of the model server


def delegate(table: Any, **more: Any) -> Json:
    """The parent delegates when it is told to go."""
    arguments = {"goal": "Check the page", "branch_table": table} | more
    return call("parent", "delegate_task", arguments, last="^go")


def call(tier: str, name: str, arguments: Any, **when: Any) -> Json:
    reply = {"tool_calls": [{"name": name, "arguments": arguments}]}
    return {"when": {"tier": tier, **when}, "reply": reply}


def report(condition: Any, branch: str, evidence: str = "seen", **more: Any) -> Json:
    """The worker reports."""
    when = more.pop("when", {})
    arguments = {"condition": condition, "branch": branch, "evidence": evidence} | more
    return call("worker", "report_outcome", arguments, **when)


def says(tier: str, text: str, **when: Any) -> Json:
    return {"when": {"tier": tier, **when}, "reply": {"text": text}}


ANSWER = says("parent", "result: {last}")
"""The parent shows what it was told."""


async def result_of(gateway: TelegramGateway, *, chat: int = OWNER) -> Json:
    """The delegation's result, once the parent has answered to it."""
    await gateway.hears("result: ", chat=chat)
    told = (str(request.messages[-1]["content"]) for request in reversed(gateway.asked("parent")))
    return results_in(next(text for text in told if '{"results"' in text))


def results_in(text: str) -> Json:
    """The first result in what a model was told."""
    found: Json = json.JSONDecoder().raw_decode(text, text.index('{"results"'))[0]
    return dict(found["results"][0])


class Gate:
    """A model that answers what holds a word when it is let, and all else at once; a `wrap`."""

    def __init__(self, word: str = "") -> None:
        self._word = word
        self._model: Model | None = None
        self.open = asyncio.Event()

    def __call__(self, model: Model) -> Self:
        self._model = model
        return self

    async def complete(self, request: Request) -> Reply:
        assert self._model is not None
        if self._word in str(request.messages[-1]["content"]):
            await self.open.wait()
        return await self._model.complete(request)


class ConstantIds:
    """A model that calls every call "call_1", as some servers do."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def complete(self, request: Request) -> Reply:
        reply = await self._model.complete(request)
        for one in reply.raw.get("tool_calls", ()):
            one["id"] = "call_1"
        return reply
