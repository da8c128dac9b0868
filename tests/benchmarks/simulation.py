"""Agents whose models are simulated, in a whole gateway: what a way of working costs, in theory.

Real: the gateway. It builds every request, runs the tools on real files, keeps the sessions and
the ledger, asks people and takes their presses.

Simulated, for want of models that give the same answers every day:

- what models decide: scripted, as a plain function of the request that the gateway sends;
- tokens: one for CHARACTERS_PER_TOKEN characters of that request and of the reply;
- PRICES, in the proportions of real tiers; what a provider has cached is counted, and priced apart
  where a figure says so;
- the provider's prompt cache: a model has the beginnings of all requests it got, from LEAST_CACHED
  tokens on, and forgets none while the figures are taken;
- PACES: no call is waited for, its seconds are added up. Tools and people take no time.
"""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.recording import RecordingAdapter, Shown
from agent.models.base import ModelError, ModelErrorKind, Reply, Request, ToolCall, price
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.running.service import App
from storage.records.entries import Json, Usage, message
from tests.benchmarks.processes import PATIENCE

CHARACTERS_PER_TOKEN = 4
PRICES: Mapping[str, tuple[float, float]] = {
    "parent": (3.0, 15.0),
    "overseer": (1.0, 5.0),
    "worker": (0.1, 0.4),
    "judge": (0.1, 0.4),
}
"""Tier → dollars for a million tokens of input, of output."""


@dataclass(frozen=True, slots=True)
class Pace:
    first: float
    """Seconds until the first token of an answer."""
    reads: float
    """Tokens of input in a second, on top of that."""
    writes: float
    """Tokens of output in a second."""


PACES: Mapping[str, Pace] = {
    "parent": Pace(1.0, 10_000, 60),
    "overseer": Pace(0.7, 10_000, 80),
    "worker": Pace(0.4, 20_000, 150),
    "judge": Pace(0.4, 20_000, 150),
}

MOST_CHILDREN = 20
"""As many as a call may have tasks. The default is 3; it changes how long things take, not what
they cost, and times are added up for each task alone."""
LEAST_CACHED = 1_024
"""Tokens under which nothing is cached."""
CACHED_PRICE = 0.1
"""Of a cached token, as a part of what input costs."""
PARENT_TOOL = "delegate_task"
"""Offered to the agent that people talk to, and to no other one here."""


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Move:
    """What a simulated model says: the end of its work, where there are no calls."""

    text: str
    calls: tuple[Call, ...] = ()


Decide = Callable[[Request], Move]


@dataclass
class SimulatedModel:
    decide: Decide
    child_seconds: float = 0.0
    """Simulated, of all calls but the parent agent's."""
    saved: float = 0.0
    """Dollars by which the bill is lower where cached input has its own price."""
    most: int | None = None
    """Tokens of a request that the worker's model takes; None: any number."""
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _sent: dict[str, list[str]] = field(default_factory=dict)
    """The requests of each model."""

    async def complete(self, request: Request) -> Reply:
        move = self.decide(request)
        calls = tuple(
            ToolCall(f"call_{next(self._ids):05}", call.tool, json.dumps(call.arguments))
            for call in move.calls
        )
        written = move.text + "".join(call.name + call.arguments for call in calls)
        text = request_text(request)
        read, wrote = _tokens(text), _tokens(written)
        if request.spec.name == "worker" and self.most is not None and read > self.most:
            raise ModelError(ModelErrorKind.CONTEXT_LENGTH, "the context is too long")
        cached = self._cached(request.spec.name, text)
        self.saved += (1 - CACHED_PRICE) * cached * (request.spec.input_cost or 0.0)
        pace = PACES[request.spec.name]
        if PARENT_TOOL not in offered(request):
            self.child_seconds += pace.first + read / pace.reads + wrote / pace.writes
        usage = Usage(read, wrote, 1, price(request.spec, read, wrote), cached)
        return Reply(move.text, calls, usage, message("assistant", move.text))

    def _cached(self, model: str, text: str) -> int:
        """Tokens of a request that the model has read before; it has read this one then too."""
        known = self._sent.setdefault(model, [])
        longest = max((shared(text, earlier) for earlier in known), default=0)
        known.append(text)
        tokens = longest // CHARACTERS_PER_TOKEN
        return tokens if tokens >= LEAST_CACHED else 0


def offered(request: Request) -> set[str]:
    """Names of the tools that may be called."""
    return {tool["function"]["name"] for tool in request.tools}


def request_text(request: Request) -> str:
    """All that is sent, as providers read it: tools as JSON, texts as they are, calls as JSON."""
    return "\n".join([*map(json.dumps, request.tools), *map(_text, request.messages)])


def shared(one: str, other: str) -> int:
    """Characters with which both begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_FORMER = re.compile(
    r'<(?P<tag>call-\w+) tool="(\w+)">\n(\{[^\n]*\})\n(.*?)\n</(?P=tag)>', re.DOTALL
)
_CUT = "characters in all]"


def shown_text(request: Request) -> str:
    """What stands in the context: messages from people and tools, and what was handed over."""
    return "\n".join(str(m["content"]) for m in request.messages if m["role"] in ("user", "tool"))


def calls_made(request: Request) -> list[Call]:
    """The calls of tools in the context, oldest first; handed ones too, and those of former
    workers that it shows whole."""
    former = [found.group(2, 3, 4) for found in _FORMER.finditer(shown_text(request))]
    whole = [Call(tool, json.loads(given)) for tool, given, out in former if _CUT not in out]
    return whole + [
        Call(call["function"]["name"], json.loads(call["function"]["arguments"]))
        for m in request.messages
        for call in m.get("tool_calls") or ()
    ]


def _text(item: Json) -> str:
    calls = [json.dumps(call["function"]) for call in item.get("tool_calls") or ()]
    return "\n".join([item["content"] or "", *calls])


def _tokens(text: str) -> int:
    return len(text) // CHARACTERS_PER_TOKEN + 1


@dataclass(frozen=True, slots=True)
class Scene:
    app: App
    chat: RecordingAdapter

    async def shown(self, fits: Callable[[Shown], bool], count: int = 1) -> list[Shown]:
        """The messages that fit, once there are so many."""
        async with asyncio.timeout(PATIENCE):
            shown = await self.chat.wait_for(lambda all_: sum(map(fits, all_)) >= count)
        return [one for one in shown if fits(one)]


@asynccontextmanager
async def scene(
    folder: Path, files: Mapping[str, str], model: SimulatedModel
) -> AsyncIterator[Scene]:
    """A gateway that runs as long as the block, with these files in its workspace."""
    workspace = folder / "workspace"
    for path, text in files.items():
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    chat = RecordingAdapter("telegram")
    app = await bootstrap(_config(folder, workspace), adapters=[chat], model=model)
    ready = asyncio.Event()
    running = asyncio.create_task(app.run(ready=ready))
    await ready.wait()
    try:
        yield Scene(app, chat)
    finally:
        running.cancel()
        await asyncio.wait([running])
    if not running.cancelled():
        running.result()


def _config(folder: Path, workspace: Path) -> Config:
    models: dict[str, dict[str, Any]] = {
        tier: {"model": f"scripted:{tier}", "input_cost": paid / 1e6, "output_cost": earned / 1e6}
        for tier, (paid, earned) in PRICES.items()
    }
    return Config.model_validate(
        {
            "storage": {"url": f"sqlite:///{folder / 'bough.db'}"},
            "access": {"owners": ["telegram:1"]},
            "models": models,
            "tools": {"toolsets": ["file"], "workspace": str(workspace)},
            "delegation": {"max_concurrent_children": MOST_CHILDREN},
        }
    )


def assumptions() -> str:
    """What is simulated, for people who read the figures."""
    lines = [
        "Simulated: what models decide (scripted); tokens (one for "
        f"{CHARACTERS_PER_TOKEN} characters of the requests as the",
        "gateway built them); times, added up; and prices, where nothing else is said without",
        f"a discount for what is cached (then it costs {CACHED_PRICE:g} of other input):",
        *(
            f"  {tier:9} ${paid:g} / ${earned:g} a million tokens in / out; begins after "
            f"{PACES[tier].first:g} s, reads {PACES[tier].reads:,g}/s, "
            f"writes {PACES[tier].writes:g}/s"
            for tier, (paid, earned) in PRICES.items()
        ),
        "Real: the gateway, its tools on real files, and its ledger, where costs and tokens come "
        "from.",
    ]
    return "\n".join(lines)
