"""The seam to a language model: a request goes in, a reply or a ModelError comes out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol
from urllib.parse import urlsplit

from storage.records.entries import Json, Usage


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One configured model. Prices are dollars per token, None where not configured."""

    name: str
    """The tier or preset it was configured as: "parent", "worker", "cheap"…"""
    model: str
    """What the provider calls it, in litellm's notation ("openai/gpt-5-mini"); "demo" and
    "scripted:FILE" are Bough's own."""
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    """Where there are several: all of them. `api_key` is the one to use."""
    api: str | None = None
    """Provider whose protocol `api_base` speaks ("openai", "anthropic"); None: by the name."""
    reasoning_effort: str | None = None
    context_window: int | None = None
    timeout: float | None = None
    """Seconds of one call; None: the model's code decides."""
    input_cost: float | None = None
    output_cost: float | None = None
    cached_input_cost: float | None = None
    """Of a token that the provider had in its prompt cache; None: what any input costs."""
    fallback: tuple[str, ...] = ()
    """Names of the models that answer where this one fails, first one first."""
    stall_seconds: float = 300.0
    """Without a word of a streamed answer, thinking included, after which it is given up."""
    sees: bool | None = None
    """Whether it takes pictures; None: not known, so it is tried."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars per token, None where not known."""

    input: float | None = None
    output: float | None = None

    def dearer_than(self, other: "Prices") -> bool:
        """Whether input or output costs more here; what is not known of both is not compared."""
        pairs = ((self.input, other.input), (self.output, other.output))
        return any(a > b for a, b in pairs if a is not None and b is not None)


UNKNOWN_PRICES = Prices()


@dataclass(frozen=True, slots=True)
class Purpose:
    """For whom a model is called: what budgets go by. "" where there is no such one."""

    address: str = ""
    """The conversation that gets the answer."""
    person: str = ""
    """Identity of who asked."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str
    """JSON text, as the model wrote it: untrusted, maybe broken."""


def call_json(call: ToolCall) -> Json:
    """A call as it stands in an assistant's message, in OpenAI's shape."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


REQUIRED = "required"

Heard = Callable[[str], None]
"""Told each piece of an answer's text as it comes."""


@dataclass(frozen=True, slots=True)
class Request:
    spec: ModelSpec
    messages: Sequence[Json]
    """OpenAI's chat shape; the first is the system message."""
    tools: Sequence[Json] = ()
    """OpenAI's tool shape: {"type": "function", "function": {name, description, parameters}}."""
    purpose: Purpose = Purpose()
    tool_choice: str = ""
    """"none": no tool may be called; REQUIRED: one must be; a tool's name: that one must be. ""
    leaves it to the model. A provider that takes no such wish is not told."""
    heard: Heard | None = field(default=None, compare=False, repr=False)
    """The answer is streamed, and this is told its text, piece by piece; neither thinking nor calls
    of tools. What it was told is a beginning of the reply's content. None: the answer whole."""


Stop = Literal["", "length", "filter"]


@dataclass(frozen=True, slots=True)
class Reply:
    content: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    """Of this one call: calls == 1. Its cost is by the prices of the model that answered."""
    raw: Json
    """The provider's message, whole (thinking blocks, signatures), to be replayed to it."""
    model: str = ""
    """What the provider calls the model that answered; "" where it is the one that was asked."""
    stop: Stop = ""
    """Why the answer ends before its end: the limit of its length, or the provider's filter."""


class ModelErrorKind(StrEnum):
    AUTH = "auth"
    """Key missing or refused, model not allowed or not there."""
    RATE_LIMIT = "rate_limit"
    CONTEXT_LENGTH = "context_length"
    BAD_REQUEST = "bad_request"
    UNAVAILABLE = "unavailable"
    """5xx, time-out, connection refused or cut."""
    BAD_REPLY = "bad_reply"
    """It answered, but nothing that can be read as a reply."""
    BUDGET = "budget"
    """Not called: it could cost more than is left. The text says when to come back."""


RETRIED = frozenset(
    {ModelErrorKind.RATE_LIMIT, ModelErrorKind.UNAVAILABLE, ModelErrorKind.BAD_REPLY}
)


class ModelError(Exception):
    """A call failed. The text is for people: what happened, no secrets."""

    def __init__(
        self,
        kind: ModelErrorKind,
        text: str,
        *,
        retry_after: float | None = None,
        partial: str = "",
        usage: Usage | None = None,
        model: str = "",
    ) -> None:
        """`partial`: the text that was heard of a streamed answer before it broke off. People have
        seen it, so the call is not made again. `usage` is what it cost, about, where that is known
        better than by the price of the model that was asked; `model` is as in Reply."""
        super().__init__(text)
        self.kind = kind
        self.retry_after = retry_after
        self.partial = partial
        self.usage = usage
        self.model = model


class Model(Protocol):
    async def complete(self, request: Request) -> Reply:
        """One call. Cancelling it closes the connection. Raises ModelError."""
        ...


def host_of(spec: ModelSpec) -> str:
    """Where the model is, without anything of the URL that may be secret."""
    return urlsplit(spec.api_base or "").netloc.rpartition("@")[2] or "the provider"


def price(
    spec: ModelSpec, input_tokens: int, output_tokens: int, cached_tokens: int = 0
) -> float | None:
    """Dollars by the configured prices; None where those of input and output are not configured.
    `cached_tokens` are a part of the input."""
    if spec.input_cost is None and spec.output_cost is None:
        return None
    fresh = spec.input_cost or 0.0
    cached = spec.cached_input_cost if spec.cached_input_cost is not None else fresh
    read = fresh * (input_tokens - cached_tokens) + cached * cached_tokens
    return read + (spec.output_cost or 0.0) * output_tokens
