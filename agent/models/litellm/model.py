"""Models behind litellm: the one module that knows it.

litellm takes seconds to import, so that happens in a thread, at the first call or in `warm_up`. It
is kept quiet and does nothing on its own: no telemetry, no retries, no logs of prompts or keys.
"""

import asyncio
import importlib
import json
import logging
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus
from itertools import count, islice
from typing import Any
from uuid import uuid4

from agent.models.base import (
    ModelError,
    ModelErrorKind,
    ModelSpec,
    Reply,
    Request,
    ToolCall,
    host_of,
)
from agent.models.litellm.prompt_cache import cache_use, marked, takes_marks
from agent.models.litellm.sendable import OPENAI, sendable
from agent.models.litellm.tool_choice import refuses_wish, tool_choice
from agent.models.litellm.usage import (
    CachePrices,
    listed_cache_prices,
    own_price,
    read_leniently,
)
from agent.models.retry import read_retry_after
from agent.models.usage import count as token_count
from agent.models.usage import dollars, estimated_input, estimated_output
from agent.text.suggestion import nearest
from agent.text.untrusted import storable
from storage.records.entries import Json, Usage

CONNECT_TIMEOUT = 10.0
"""Seconds to reach a provider."""

LONGEST_ERROR = 300
"""Characters of an error's text."""

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches prices from the network
    "LITELLM_MODE": "PRODUCTION",  # else it loads any .env file above its own folder
    "LITELLM_OFFLINE_MODE": "true",
    # else OpenAI's library sends the request, and looks at each message's type for 0.3 ms first
    "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER": "true",
}

_NEEDED_BY_A_CALL = ("openai.resources", "litellm.litellm_core_utils.default_encoding")
"""Modules that the first call would import on the event loop, for up to half a second."""

_NO_KEY = "no-key"
"""For servers that want no key: without one, that of OpenAI in the environment would be sent."""

_CONTEXT_LENGTH = re.compile(
    r"context_length_exceeded|context (length|window|size)|maximum context|prompt is too long"
    r"|too many (input )?tokens|input is too long|reduce the length|(input|prompt) tokens? count",
    re.IGNORECASE,
)
_NO_CREDENTIALS = re.compile(
    r"missing .{0,40}(key|credential)|unable to locate credentials", re.IGNORECASE
)
_KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_KEY\b")
_SECRET = re.compile(r"\b(sk|pk|gsk|xai)-[\w*.-]{8,}|\bAIza[\w-]{20,}|\bBearer\s+\S+")
_LITELLM_PREFIX = re.compile(r"^(litellm\.)?(\w*(Error|Exception|Exceeded)\b[\s:-]*)+")


class LitellmModel:
    """Every provider that litellm knows, and every server that speaks OpenAI's chat protocol.

    `complete` tries nothing again; patience is Retrying's. `timeout` is seconds for the whole call
    of a model that has no time of its own. Only a request whose wish for a tool is refused is sent
    once more, without it.
    """

    def __init__(self, *, timeout: float = 600.0) -> None:
        self._timeout = timeout
        self._litellm: Any = None
        self._take_no_wish: set[tuple[str, str | None]] = set()
        """Models, with their servers, that refused a wish for a tool."""

    async def warm_up(self) -> None:
        """Import litellm, which takes seconds. Once it is there, this does nothing."""
        if self._litellm is None:
            self._litellm = await asyncio.to_thread(_import_litellm)

    async def complete(self, request: Request) -> Reply:
        await self.warm_up()
        place = (request.spec.model, request.spec.api_base)
        if place in self._take_no_wish:
            request = replace(request, tool_choice="")
        try:
            return await self._complete(request)
        except ModelError as error:
            if not request.tool_choice or not refuses_wish(error):
                raise
        reply = await self._complete(replace(request, tool_choice=""))
        self._take_no_wish.add(place)
        return reply

    async def _complete(self, request: Request) -> Reply:
        spec = request.spec
        arguments = self._arguments(request)
        try:
            async with asyncio.timeout(self._seconds(spec)):
                response = await self._litellm.acompletion(**arguments)
        except TimeoutError:
            raise self._late(spec) from None
        except Exception as error:  # noqa: BLE001  (litellm raises anything, its own bugs too)
            # Not chained: what litellm says may repeat the prompt and the key.
            raise _translate(spec, error) from None
        model, provider, _ = self._place(spec)
        return _read(request, response, listed_cache_prices(self._litellm, model, provider))

    def _seconds(self, spec: ModelSpec) -> float:
        return self._timeout if spec.timeout is None else spec.timeout

    def _late(self, spec: ModelSpec) -> ModelError:
        text = f"no answer within {self._seconds(spec):g} s"
        return _error(spec, ModelErrorKind.UNAVAILABLE, text)

    def _arguments(self, request: Request) -> dict[str, Any]:
        """What litellm's acompletion is called with."""
        import httpx

        spec = request.spec
        model, provider, forced = self._place(spec)
        messages = [sendable(message, provider) for message in request.messages]
        arguments: dict[str, Any] = {
            "model": spec.model,
            "custom_llm_provider": forced,
            "messages": messages,
            "max_retries": 0,
            "timeout": httpx.Timeout(self._seconds(spec), connect=CONNECT_TIMEOUT),
        }
        if spec.api_base:
            arguments["api_base"] = spec.api_base
        if spec.api_key:
            arguments["api_key"] = spec.api_key
        elif spec.api_base and provider == OPENAI:
            arguments["api_key"] = _NO_KEY
        elif provider == OPENAI and not os.environ.get("OPENAI_API_KEY"):
            text = "missing key; set api_key, or OPENAI_API_KEY in the environment"
            raise _error(spec, ModelErrorKind.AUTH, text)
        if request.tools:
            arguments["tools"] = list(request.tools)
            wish = tool_choice(request, provider)
            if wish and self._takes("tool_choice", model, provider):
                arguments["tool_choice"] = wish
            # A request without tools is a session's only one: to cache it would cost, for nothing.
            if takes_marks(model, provider):
                arguments["messages"] = marked(messages)
        if spec.reasoning_effort and self._takes("reasoning_effort", model, provider):
            arguments["reasoning_effort"] = spec.reasoning_effort
        return arguments

    def _place(self, spec: ModelSpec) -> tuple[str, str, str | None]:
        """The provider's own name of the model, the provider, and the same provider again where
        litellm must be told and would not find it by itself."""
        try:
            model, provider, *_ = self._litellm.get_llm_provider(
                spec.model, custom_llm_provider=spec.api, api_base=spec.api_base
            )
        except self._litellm.BadRequestError:
            if spec.api_base:
                return spec.model, OPENAI, OPENAI
            text = "a name without a provider; write it as provider/model, or set api_base"
            given, slash, rest = spec.model.partition("/")
            if slash and (known := nearest(given, self._providers())) is not None:
                text = f"there is no provider {given!r}. Did you mean {known}/{rest}?"
            raise _error(spec, ModelErrorKind.AUTH, text) from None
        return str(model), str(provider), spec.api

    def _providers(self) -> list[str]:
        return [str(getattr(each, "value", each)) for each in self._litellm.provider_list]

    def _takes(self, parameter: str, model: str, provider: str) -> bool:
        """litellm could drop what a model does not take by itself (`drop_params`), but then it
        turns a refusal (422) into two calls and an AttributeError."""
        supported = self._litellm.get_supported_openai_params(model, provider)
        return parameter in (supported or ())


def _import_litellm() -> Any:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Not an import statement: type checkers would read all of litellm.
    litellm: Any = importlib.import_module("litellm")
    for name in _NEEDED_BY_A_CALL:
        importlib.import_module(name)
    read_leniently()
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.redact_messages_in_exceptions = True
    litellm.turn_off_message_logging = True
    for name in ("httpx", "openai"):  # the first logs URLs, which may carry a key
        logging.getLogger(name).setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    # A call that is cancelled at the right moment leaves one behind, which does no harm.
    warnings.filterwarnings("ignore", r"coroutine '\w+\.acompletion' was never", RuntimeWarning)
    return litellm


def _read(request: Request, response: Any, listed: CachePrices) -> Reply:
    spec = request.spec
    if not response.choices:
        raise _error(spec, ModelErrorKind.BAD_REPLY, "it answered without any choice")
    choice = response.choices[0]
    raw = storable(choice.message.model_dump(), nones=False)
    calls = _name_calls(raw.get("tool_calls") or [])
    content = raw.get("content") or ""
    if choice.finish_reason == "content_filter" and not content and not calls:
        text = "the provider's content filter withheld the answer"
        raise _error(spec, ModelErrorKind.BAD_REQUEST, text)
    kept = {key: value for key, value in raw.items() if value not in (None, [], {})}
    reply = Reply(
        content,
        tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in calls
        ),
        Usage(calls=1),
        {**kept, "role": "assistant", "content": content},
    )
    return replace(reply, usage=_usage(request, reply, response, listed))


def _name_calls(calls: list[Json]) -> list[Json]:
    """Give every call an id of its own, a name, and arguments in text; changes them in place."""
    taken: set[str] = set()
    numbers: dict[str, Iterator[int]] = {}
    for call in calls:
        id_ = wanted = call.get("id") or f"call_{uuid4().hex}"
        while id_ in taken:
            id_ = f"{wanted}-{next(numbers.setdefault(wanted, count(2)))}"
        call["id"] = id_
        taken.add(id_)
        function = call["function"]
        arguments = function.get("arguments") or "{}"
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        function.update(name=function.get("name") or "", arguments=arguments)
    return calls


def _usage(request: Request, reply: Reply, response: Any, listed: CachePrices) -> Usage:
    """What the provider counted; our estimate where it did not, or said what cannot be."""
    used = getattr(response, "usage", None)
    read = token_count(getattr(used, "prompt_tokens", None))
    written = token_count(getattr(used, "completion_tokens", None))
    by_litellm = response._hidden_params.get("response_cost") if read else None
    read, written = read or estimated_input(request), written or estimated_output(reply)
    cache = cache_use(used, read)
    cost = own_price(request.spec, read, written, cache, listed)
    return Usage(read, written, 1, dollars(by_litellm if cost is None else cost), cache.read)


def _translate(spec: ModelSpec, error: Exception) -> ModelError:
    """What really happened, from the exceptions below litellm's, whose classes and status codes
    differ by provider: garbage is a 500 for one and a 422 for another."""
    import httpx

    for cause in _chain(error):
        match cause:
            case httpx.HTTPStatusError():
                return _refused(spec, cause.response)
            case httpx.TimeoutException():
                text = f"{host_of(spec)} did not answer in time"
                return _error(spec, ModelErrorKind.UNAVAILABLE, text)
            case httpx.ConnectError():
                text = f"cannot connect to {host_of(spec)}"
                return _error(spec, ModelErrorKind.UNAVAILABLE, text)
            case httpx.TransportError():
                text = f"{host_of(spec)} cut the connection"
                return _error(spec, ModelErrorKind.UNAVAILABLE, text)
    return _own(spec, error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, as far as it belongs to this call."""

    def walk(current: BaseException | None) -> Iterator[BaseException]:
        while current is not None and not isinstance(current, ModelError):
            yield current
            current = current.__cause__ or current.__context__

    return islice(walk(error), 20)


def _refused(spec: ModelSpec, response: Any) -> ModelError:
    """The provider answered with an HTTP error."""
    status = int(response.status_code)
    body = _body(response)
    kind = _kind(status)
    if kind is ModelErrorKind.BAD_REQUEST and _CONTEXT_LENGTH.search(body):
        kind = ModelErrorKind.CONTEXT_LENGTH
    text = f"HTTP {status} {_phrase(status)}".strip()
    if detail := _detail(body):
        text = f"{text}: {detail}"
    return _error(spec, kind, text, retry_after=read_retry_after(response.headers))


def _kind(status: int) -> ModelErrorKind:
    match status:
        case 401 | 402 | 403 | 404:
            return ModelErrorKind.AUTH
        case 413:
            return ModelErrorKind.CONTEXT_LENGTH
        case 429:
            return ModelErrorKind.RATE_LIMIT
        case 408 | 409 | 425:
            return ModelErrorKind.UNAVAILABLE
        case _ if status >= 500:
            return ModelErrorKind.UNAVAILABLE
        case _:
            return ModelErrorKind.BAD_REQUEST


def _own(spec: ModelSpec, error: Exception) -> ModelError:
    """Nothing failed below litellm: it would not send the request, or could not read the answer."""
    status = getattr(error, "status_code", None)
    text = _LITELLM_PREFIX.sub("", str(error).partition("\n")[0])
    if _NO_CREDENTIALS.search(text):
        variable = _KEY_VARIABLE.search(text)
        or_there = f", or {variable[0]} in the environment" if variable else ""
        text = f"there is no key for it; set its api_key in the configuration{or_there}"
        return _error(spec, ModelErrorKind.AUTH, text)
    match status:
        case 400 | 401 | 402 | 403 | 404 | 413 | 429:
            return _error(spec, _kind(status), text)
        case _:
            text = "it answered, but not with anything that can be read as a reply"
            return _error(spec, ModelErrorKind.BAD_REPLY, text)


def _body(response: Any) -> str:
    import httpx

    try:
        return str(response.text)
    except httpx.ResponseNotRead:
        return ""


def _detail(body: str) -> str:
    """The provider's own words, where the body has them in one of the usual places."""
    try:
        data = json.loads(body)
    except ValueError:
        return ""
    match data:
        case (
            {"error": {"message": str(text)}}
            | {"error": str(text)}
            | {"message": str(text)}
            | {"detail": str(text)}
            | [{"error": {"message": str(text)}}, *_]
        ):
            return text
        case _:
            return ""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _error(
    spec: ModelSpec, kind: ModelErrorKind, text: str, *, retry_after: float | None = None
) -> ModelError:
    """One short line, without secrets."""
    text = f"{spec.name} model {spec.model}: {text}"
    if spec.api_key:
        text = text.replace(spec.api_key, "***")
    text = " ".join(_SECRET.sub("***", text).split())
    if len(text) > LONGEST_ERROR:
        text = text[: LONGEST_ERROR - 1] + "…"
    return ModelError(kind, text, retry_after=retry_after)
