"""Models behind litellm: the one module that knows it.

litellm takes seconds to import, so that happens in a thread, at the first call or in `warm_up`. It
is kept quiet and does nothing on its own: no telemetry, no retries, no logs of prompts or keys.
"""

import asyncio
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Set
from importlib.util import find_spec
from typing import Any

from agent.models.base import (
    ModelError,
    ModelErrorKind,
    ModelSpec,
    Reply,
    Request,
)
from agent.models.heard import Listener, partial_usage
from agent.models.litellm.errors import model_error, translated
from agent.models.litellm.prompt_cache import marked, takes_marks
from agent.models.litellm.providers import (
    NO_AMAZON_KEYS,
    OF_AMAZON,
    OPENAI,
    amazon_keys,
    keep_off_the_network,
    mend_readers,
    protocol_of,
    sendable,
)
from agent.models.litellm.providers import (
    provider as provider_of,
)
from agent.models.litellm.reading import in_text, read
from agent.models.litellm.refusals import Extra, refused
from agent.models.litellm.streaming import streamed
from agent.models.litellm.tool_choice import tool_choice
from agent.models.litellm.usage import (
    listed_cache_prices,
    priced,
    read_leniently,
)
from agent.text.suggestion import nearest

CONNECT_TIMEOUT = 10.0
"""Seconds to reach a provider."""

CURE = "pip install 'litellm>=1.84,<1.106'"
MISSING = f"the package litellm, which talks to providers, is not installed: {CURE}"
"""What people are told where it is not there; all but the models works without it."""

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


class LitellmModel:
    """Every provider that litellm knows, and every server that speaks OpenAI's chat protocol.

    `complete` tries nothing again; patience is Retrying's. `timeout` is seconds for the whole call
    of a model that has no time of its own. Only a request of which something is refused that it can
    do without (a wish for a tool, a stream) is sent once more, without it.
    """

    def __init__(self, *, timeout: float = 600.0) -> None:
        self._timeout = timeout
        self._litellm: Any = None
        self._without: dict[tuple[str, str | None], frozenset[Extra]] = {}
        """What models, with their servers, refused to be asked for."""

    async def warm_up(self) -> None:
        """Import litellm, which takes seconds. Once it is there, this does nothing.

        ImportError, saying what to do, where it is not installed or broken."""
        if self._litellm is None:
            self._litellm = await asyncio.to_thread(_import_litellm)

    async def complete(self, request: Request) -> Reply:
        try:
            await self.warm_up()
        except ImportError as error:
            raise model_error(request.spec, ModelErrorKind.AUTH, str(error)) from None
        await self._sign_in(request.spec)
        place = (request.spec.model, request.spec.api_base)
        known = without = self._without.get(place, frozenset())
        while True:
            try:
                reply = await self._complete(request, without)
            except ModelError as error:
                extra = refused(error, request, without)
                if extra is None:
                    raise
                without |= {extra}
            else:
                if without != known:
                    self._without[place] = self._without.get(place, frozenset()) | without
                return reply

    async def _sign_in(self, spec: ModelSpec) -> None:
        """What litellm would do on the event loop: renew a login's key, look for Amazon's. Raises
        ModelError."""
        name = spec.api or protocol_of(spec.api_base) or spec.model.partition("/")[0]
        if provider_of(name).login:
            await asyncio.to_thread(self._place, spec)
        elif name in OF_AMAZON and not spec.api_key and not await asyncio.to_thread(amazon_keys):
            raise model_error(spec, ModelErrorKind.AUTH, NO_AMAZON_KEYS)

    async def _complete(self, request: Request, without: Set[Extra]) -> Reply:
        spec = request.spec
        listener = Listener(request.heard) if request.heard is not None else None
        try:
            response = await self._response(request, without, listener)
            model, provider, _ = self._place(spec)
            reply = read(request, response, listed_cache_prices(self._litellm, model, provider))
        except ModelError as error:
            if listener is not None and listener.text:
                error.partial = listener.text
                error.usage = partial_usage(request, listener.text)
            raise
        if listener is not None and not listener.text and reply.content:
            listener(reply.content)  # it came in one piece
        return reply

    async def _response(
        self, request: Request, without: Set[Extra], listener: Listener | None
    ) -> Any:
        """litellm's answer. Raises ModelError."""
        spec, litellm = request.spec, self._litellm
        arguments = self._arguments(request, without)
        try:
            async with asyncio.timeout(self._seconds(spec)):
                if listener is None or not self._streams(spec, without):
                    return in_text(await litellm.acompletion(**arguments))
                response = await streamed(litellm, spec, arguments, listener)
        except ModelError:
            raise
        except TimeoutError:
            raise self._late(spec) from None
        except Exception as error:  # noqa: BLE001  (litellm raises anything, its own bugs too)
            # Not chained: what litellm says may repeat the prompt and the key.
            raise translated(spec, error) from None
        model, provider, _ = self._place(spec)
        return priced(litellm, model, provider, response)

    def _streams(self, spec: ModelSpec, without: Set[Extra]) -> bool:
        return Extra.STREAM not in without and provider_of(self._place(spec)[1]).streams

    def _seconds(self, spec: ModelSpec) -> float:
        return self._timeout if spec.timeout is None else spec.timeout

    def _late(self, spec: ModelSpec) -> ModelError:
        text = f"no answer within {self._seconds(spec):g} s"
        return model_error(spec, ModelErrorKind.UNAVAILABLE, text)

    def _arguments(self, request: Request, without: Set[Extra]) -> dict[str, Any]:
        """What litellm's acompletion is called with."""
        import httpx

        spec = request.spec
        model, provider, forced = self._place(spec)
        thoughts = Extra.THOUGHTS not in without
        messages = sendable(request.messages, provider, thoughts=thoughts)
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
            raise model_error(spec, ModelErrorKind.AUTH, text)
        if request.tools:
            arguments["tools"] = list(request.tools)
            if not self._takes("tools", model, provider):
                # litellm's list is of known models; a server knows its own.
                arguments["allowed_openai_params"] = ["tools"]
            wish = tool_choice(request, provider) if Extra.WISH not in without else ""
            if wish and self._takes("tool_choice", model, provider):
                arguments["tool_choice"] = wish
            # A request without tools is a session's only one: to cache it would cost, for nothing.
            if takes_marks(model, provider):
                arguments["messages"] = marked(messages)
        if spec.reasoning_effort and self._takes("reasoning_effort", model, provider):
            arguments["reasoning_effort"] = spec.reasoning_effort
        counted = request.heard is not None and not without & {Extra.USAGE, Extra.STREAM}
        if counted and self._takes("stream_options", model, provider):
            arguments["stream_options"] = {"include_usage": True}
        return arguments

    def _place(self, spec: ModelSpec) -> tuple[str, str, str | None]:
        """The provider's own name of the model, the provider, and the same provider again where
        litellm must be told and would not find it by itself."""
        api = spec.api or protocol_of(spec.api_base)
        try:
            model, provider, *_ = self._litellm.get_llm_provider(
                spec.model, custom_llm_provider=api, api_base=spec.api_base
            )
        except self._litellm.BadRequestError as error:
            if spec.api_base:
                return spec.model, OPENAI, OPENAI
            text = "a name without a provider; write it as provider/model, or set api_base"
            given, slash, rest = spec.model.partition("/")
            if given in self._providers():
                raise translated(spec, error) from None
            if slash and (known := nearest(given, self._providers())) is not None:
                text = f"there is no provider {given!r}. Did you mean {known}/{rest}?"
            raise model_error(spec, ModelErrorKind.AUTH, text) from None
        return str(model), str(provider), api

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
    litellm = _imported()
    read_leniently()
    # Else it gives up a stream in which a hundred pieces are alike: a table, a drawing.
    litellm.REPEATED_STREAMING_CHUNK_LIMIT = sys.maxsize
    keep_off_the_network(litellm)
    mend_readers()
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.redact_messages_in_exceptions = True
    litellm.turn_off_message_logging = True
    for name in ("httpx", "openai"):  # the first logs URLs, which may carry a key
        logging.getLogger(name).setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    warnings.filterwarnings("ignore", r"Item '\w+' on TypedDict class", UserWarning)
    # A call that is cancelled at the right moment leaves one behind, which does no harm.
    warnings.filterwarnings("ignore", r"coroutine '\w+\.acompletion' was never", RuntimeWarning)
    return litellm


def _imported() -> Any:
    """ImportError, saying what to do, where it or something that it needs is missing."""
    if find_spec("litellm") is None:
        raise ImportError(MISSING)
    try:
        # Not an import statement: type checkers would read all of litellm.
        litellm = importlib.import_module("litellm")
        for name in _NEEDED_BY_A_CALL:
            importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"the package litellm cannot be used: {error}; {CURE}") from error
    return litellm
