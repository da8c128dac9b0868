"""What is special about single providers, in one table: what they take back of their own answers,
and whose streams litellm cannot read. And messages of a context as providers take them."""

import functools
import importlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from agent.models.base import ModelErrorKind
from agent.models.litellm.mending import Fault, mended
from storage.records.entries import Json

OPENAI = "openai"
"""litellm's name for everything that speaks OpenAI's chat protocol."""

Keys = frozenset[str]
THOUGHTS: Keys = frozenset(
    {"reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"}
)


@dataclass(frozen=True, slots=True)
class Provider:
    returned: Keys | None = frozenset({"reasoning_content", "thinking_blocks"})
    """The keys of its own thinking that go back to it with the next request: servers need them
    (DeepSeek, LiteLLM's proxy), ignore them, or refuse them and are asked again without. Empty:
    it is known to refuse them. None: litellm translates messages into another protocol, and takes
    what that one has."""
    streams: bool = True
    """Whether litellm can read its stream. Else the answer is asked for whole."""
    login: bool = False
    """Whether its key comes from a login in a browser, which litellm keeps in a file and renews."""


_TRANSLATED = Provider(None)
_SILENT = Provider(frozenset())
PROVIDERS = {
    "anthropic": _TRANSLATED,
    "bedrock": _TRANSLATED,
    "bedrock_converse": _TRANSLATED,
    "gemini": _TRANSLATED,
    "ollama": _TRANSLATED,
    "ollama_chat": _TRANSLATED,
    "vertex_ai": _TRANSLATED,
    "vertex_ai_beta": _TRANSLATED,
    "azure": _SILENT,
    "cerebras": _SILENT,
    "cohere": Provider(frozenset(), streams=False),
    "cohere_chat": Provider(frozenset(), streams=False),
    "chatgpt": Provider(login=True),
    "github_copilot": Provider(login=True),
    "groq": _SILENT,
    "mistral": _SILENT,
    "openrouter": Provider(frozenset({"reasoning_details"})),
}
"""By litellm's name; others speak OpenAI's protocol as it stands."""

_LOGINS = {"github_copilot": "_login", "chatgpt": "_login_device_code"}
"""Providers with a login, and the method of litellm's that waits for one."""
_LOG_IN_FIRST = (
    "there is no login for it on this machine; log in once in a terminal with litellm itself, "
    "as the user that runs Bough"
)

_GEMINI = "litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini"
_MODEL_ARMOR = "MODEL_ARMOR"
_OF_BEDROCK = {
    "throttlingException": ModelErrorKind.RATE_LIMIT,
    "validationException": ModelErrorKind.BAD_REQUEST,
}
"""What it says in a stream that is no passing fault of its own."""
_OF_COHERE = {"MAX_TOKENS": "length", "ERROR_LIMIT": "length", "ERROR_TOXIC": "content_filter"}

_LITELLMS_OWN = "provider_specific_fields"


def provider(name: str) -> Provider:
    return PROVIDERS.get(name, Provider())


def sendable(messages: Iterable[Json], name: str, *, thoughts: bool) -> list[Json]:
    """Messages of a context as a provider takes them, whatever models wrote into them. `thoughts`:
    whether it gets its own thinking back. An answer without a word says nothing to anybody: it is
    left out, where litellm would put words of its own into the model's mouth."""
    returned = provider(name).returned if thoughts else frozenset[str]()
    sent = (_sendable(message, returned) for message in messages)
    return [message for message in sent if message is not None]


def has_thoughts(messages: Iterable[Json]) -> bool:
    return any(message.keys() & {*THOUGHTS, _LITELLMS_OWN} for message in messages)


def _sendable(message: Json, returned: Keys | None) -> Json | None:
    if message.get("role") != "assistant":
        return message
    sent = {key: value for key, value in message.items() if key != "tool_calls"}
    if returned is not None:
        own = sent.pop(_LITELLMS_OWN, None)
        given = {**own, **sent} if isinstance(own, dict) else sent
        sent = {key: value for key, value in sent.items() if key not in THOUGHTS}
        sent |= {key: given[key] for key in returned if given.get(key)}
    if calls := message.get("tool_calls"):
        sent["tool_calls"] = [_sendable_call(call, returned) for call in calls]
    if sent.get("content"):
        return sent
    # Beside calls some providers refuse an empty text, and litellm fills it for others.
    return {**sent, "content": None} if calls else None


def _sendable_call(call: Json, returned: Keys | None) -> Json:
    """A copy, for litellm to change. Arguments must be a JSON object, or a provider refuses the
    whole context for ever."""
    call = {**call, "function": {**call["function"]}}
    if returned is not None:
        call.pop(_LITELLMS_OWN, None)
        call["function"].pop(_LITELLMS_OWN, None)
    text = call["function"].get("arguments")
    try:
        fine = isinstance(json.loads(text), dict)
    except (TypeError, ValueError, RecursionError):
        fine = False
    if not fine:
        arguments = json.dumps({"not_json": text} if text else {}, ensure_ascii=False)
        call["function"]["arguments"] = arguments
    return call


def protocol_of(api_base: str | None) -> str | None:
    """The protocol of an address that says so itself; None: by the model's name."""
    path = urlsplit(api_base or "").path.rstrip("/").removesuffix("/v1")
    return "anthropic" if path.endswith("/anthropic") else None


OF_AMAZON = frozenset({"bedrock", "sagemaker", "sagemaker_chat"})
NO_AMAZON_KEYS = (
    "there are no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
    "environment, or set its api_key to a Bedrock API key"
)


def amazon_keys() -> bool:
    """Whether Amazon's own library finds credentials. Blocks: it may ask the machine's own
    address."""
    if os.environ.get("AWS_BEARER_TOKEN_BEDROCK"):
        return True
    return importlib.import_module("boto3").Session().get_credentials() is not None


def keep_off_the_network(litellm: Any) -> None:
    """litellm looks things up where its caller waits, on the event loop: a tokenizer of Llama's on
    Hugging Face's site for counting (24 to 48 s where that cannot be reached), and what an Ollama
    server knows of a model, on localhost whatever the address of the server. Neither is needed: our
    own estimate stands in for a missing count, and the window is configured. Once for the
    process."""
    litellm.disable_hf_tokenizer_download = True
    info = importlib.import_module("litellm.llms.ollama.common_utils").OllamaModelInfo
    look_up = info.get_runtime_model_info
    if hasattr(look_up, "__wrapped__"):
        return

    @functools.wraps(look_up)
    def known(_: Any, model: str, *__: Any, **___: Any) -> Json:
        sizes = dict.fromkeys(("max_tokens", "max_input_tokens", "max_output_tokens"))
        prices = dict.fromkeys(("input_cost_per_token", "output_cost_per_token"), 0.0)
        return {"key": model, "litellm_provider": "ollama", "mode": "chat", **sizes, **prices}

    info.get_runtime_model_info = known
    for name, method in _LOGINS.items():
        setattr(
            importlib.import_module(f"litellm.llms.{name}.authenticator").Authenticator,
            method,
            _refuse_login,
        )


def mend_readers() -> None:
    """Whatever litellm reads goes through `mended` first: each answer in one piece, and each event
    of a stream that it reads itself. Once for the process."""
    _mend_answers(importlib.import_module("litellm.llms.custom_httpx.http_handler"))
    _mend_ollama(importlib.import_module("litellm.llms.ollama.chat.transformation"))
    _mend_bedrock(importlib.import_module("litellm.llms.bedrock.chat.invoke_handler"))
    for place, reader in (
        (_GEMINI, "ModelResponseIterator"),
        ("litellm.llms.anthropic.chat.handler", "ModelResponseIterator"),
    ):
        _mend_events(getattr(importlib.import_module(place), reader), "chunk_parser")
    _mend_cohere()
    _mend_reasons()


def _mend_answers(place: Any) -> None:
    post = place.AsyncHTTPHandler.post
    if hasattr(post, "of_bough"):
        return

    @functools.wraps(post)
    async def posted(*args: Any, **named: Any) -> Any:
        response = await post(*args, **named)
        if named.get("stream"):
            return response
        try:
            body = response.json()
        except ValueError:
            return response  # litellm says that it cannot be read
        if isinstance(body, dict):
            response._content = json.dumps(mended(body)).encode()
        return response

    posted.of_bough = True  # type: ignore[attr-defined]  # litellm wraps it too
    place.AsyncHTTPHandler.post = posted


def _mend_events(reader: Any, name: str) -> None:
    parse = getattr(reader, name)
    if hasattr(parse, "__wrapped__"):
        return

    @functools.wraps(parse)
    def parsed(self: Any, *event: Json, **named: Json) -> Any:
        return parse(self, mended(*event, *named.values()))

    setattr(reader, name, parsed)


def _mend_ollama(place: Any) -> None:
    """litellm loses words where a tag of thinking is cut between two lines, and takes calls that
    come in two lines for one."""
    reader = place.OllamaChatCompletionResponseIterator
    parse = reader.chunk_parser
    if hasattr(parse, "__wrapped__"):
        return

    @functools.wraps(parse)
    def parsed(self: Any, chunk: Json) -> Any:
        chunk = mended(chunk)
        said = chunk["message"].get("content")
        found = parse(self, chunk | {"message": chunk["message"] | {"content": ""}})
        delta = found.choices[0].delta
        delta.content = said or None
        for call in delta.tool_calls or ():
            self.bough_calls = getattr(self, "bough_calls", -1) + 1
            call.index, call.id = self.bough_calls, call.id or f"call_{uuid4().hex}"
        return found

    reader.chunk_parser = parsed


def _mend_bedrock(place: Any) -> None:
    """Amazon's library knows the errors of a stream by a shape that lacks some of them."""
    decoder = place.AWSEventStreamDecoder
    parse = decoder._parse_message_from_event
    _mend_events(decoder, "converse_chunk_parser")
    if hasattr(parse, "__wrapped__"):
        return

    @functools.wraps(parse)
    def parsed(self: Any, event: Any) -> Any:
        came = event.to_response_dict()
        if (name := came["headers"].get(":exception-type")) is not None:
            try:
                said = json.loads(came["body"])
            except ValueError:
                said = {}
            raise Fault(said if isinstance(said, dict) else {}, _OF_BEDROCK.get(name))
        return parse(self, event)

    decoder._parse_message_from_event = parsed


def _mend_cohere() -> None:
    """litellm reads neither why Cohere's answer ended, nor its thinking."""
    config = importlib.import_module(
        "litellm.llms.cohere.chat.v2_transformation"
    ).CohereV2ChatConfig
    read = config.transform_response
    if hasattr(read, "__wrapped__"):
        return

    @functools.wraps(read)
    def transformed(self: Any, *args: Any, raw_response: Any, **named: Any) -> Any:
        found = read(self, *args, raw_response=raw_response, **named)
        said, choice = raw_response.json(), found.choices[0]
        choice.finish_reason = _OF_COHERE.get(said.get("finish_reason"), choice.finish_reason)
        parts = said["message"].get("content") or []
        if thoughts := "".join(str(part.get("thinking") or "") for part in parts):
            choice.message.reasoning_content = thoughts
        return found

    config.transform_response = transformed


def _mend_reasons() -> None:
    reasons = importlib.import_module("litellm.litellm_core_utils.core_helpers")._FINISH_REASON_MAP
    reasons.setdefault("model_length", "length")  # Mistral's
    reasons.setdefault("model_context_window_exceeded", "length")  # Claude's
    gemini = importlib.import_module(_GEMINI).VertexGeminiConfig
    reasons.setdefault(_MODEL_ARMOR, "content_filter")
    gemini._GEMINI_FINISH_REASON_KEYS |= {_MODEL_ARMOR}


def _refuse_login(authenticator: Any) -> Any:
    """litellm would print a code and sleep, on the event loop, until somebody typed it in."""
    errors = importlib.import_module(type(authenticator).__module__)
    raise errors.GetAccessTokenError(message=_LOG_IN_FIRST, status_code=401)
