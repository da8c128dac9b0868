"""What went wrong in a call, in words for people and without secrets."""

import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from itertools import islice
from typing import Any

from agent.models.base import ModelError, ModelErrorKind, ModelSpec, host_of
from agent.models.litellm.mending import Fault
from agent.models.retry import read_retry_after
from storage.records.entries import Json

LONGEST_ERROR = 300
"""Characters of an error's text."""

CONTEXT_LENGTH = re.compile(
    r"context_length_exceeded|context (length|window|size)|maximum context|prompt is too long"
    r"|too many (input )?tokens|input is too long|reduce the length|(input|prompt) tokens? count",
    re.IGNORECASE,
)
_NO_CREDENTIALS = re.compile(
    r"missing .{0,40}(key|credential)|unable to locate credentials|_KEY is not set", re.IGNORECASE
)
_NOT_SET_UP = re.compile(
    r"\w+ (is|are) required|not set\b|must be installed|access token|no login", re.IGNORECASE
)
"""What litellm says where something besides a key is missing, before it sends anything."""
_PACKAGES = {"google": "google-auth", "boto3": "boto3", "botocore": "boto3"}
"""Modules that litellm imports for a provider, and what brings them."""
_KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_KEY\b")
_SECRET = re.compile(r"\b(sk|pk|gsk|xai)-[\w*.-]{8,}|\bAIza[\w-]{20,}|\bBearer\s+\S+")
_LITELLM_PREFIX = re.compile(r"^(litellm\.)?(\w*(Error|Exception|Exceeded)\b[\s:-]*)+")


_WITHIN_A_STREAM = "MidStreamFallbackError"
_NAMED = {
    "rate_limit": ModelErrorKind.RATE_LIMIT,
    "authentication": ModelErrorKind.AUTH,
    "invalid_api_key": ModelErrorKind.AUTH,
    "permission": ModelErrorKind.AUTH,
    "billing": ModelErrorKind.AUTH,
    "not_found": ModelErrorKind.AUTH,
    "insufficient_quota": ModelErrorKind.RATE_LIMIT,
    "RESOURCE_EXHAUSTED": ModelErrorKind.RATE_LIMIT,
    "tool_use_failed": ModelErrorKind.BAD_REPLY,
    "invalid_request": ModelErrorKind.BAD_REQUEST,
}
_GARBLED = "tool_use_failed"
"""Groq's word where the model wrote a call that cannot be read: another try often goes well."""
_KEY_REFUSED = "API_KEY_INVALID"
"""Google's word, beside a 400."""


def translated(spec: ModelSpec, error: Exception) -> ModelError:
    """What really happened, from the exceptions below litellm's, whose classes and status codes
    differ by provider: garbage is a 500 for one and a 422 for another."""
    import httpx

    for cause in _chain(error):
        match cause:
            case Fault():
                return model_error(spec, cause.kind or kind_of_failure(cause.said), str(cause))
            case httpx.HTTPStatusError():
                return _refused(spec, cause.response)
            case httpx.TimeoutException():
                text = f"{host_of(spec)} did not answer in time"
                return model_error(spec, ModelErrorKind.UNAVAILABLE, text)
            case httpx.ConnectError():
                text = f"cannot connect to {host_of(spec)}"
                return model_error(spec, ModelErrorKind.UNAVAILABLE, text)
            case httpx.TransportError():
                text = f"{host_of(spec)} cut the connection"
                return model_error(spec, ModelErrorKind.UNAVAILABLE, text)
    return _own(spec, error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, as far as it belongs to this call."""

    def walk(current: BaseException | None) -> Iterator[BaseException]:
        while current is not None and not isinstance(current, ModelError):
            yield current
            within = getattr(current, "original_exception", None)
            current = within or current.__cause__ or current.__context__

    return islice(walk(error), 20)


def _refused(spec: ModelSpec, response: Any) -> ModelError:
    """The provider answered with an HTTP error."""
    status = int(response.status_code)
    body = _body(response)
    kind = kind_of(status)
    if kind is ModelErrorKind.BAD_REQUEST and CONTEXT_LENGTH.search(body):
        kind = ModelErrorKind.CONTEXT_LENGTH
    elif kind is ModelErrorKind.BAD_REQUEST and _GARBLED in body:
        kind = ModelErrorKind.BAD_REPLY
    elif kind is ModelErrorKind.BAD_REQUEST and _KEY_REFUSED in body:
        kind = ModelErrorKind.AUTH
    text = f"HTTP {status} {_phrase(status)}".strip()
    if detail := _detail(body):
        text = f"{text}: {detail}"
    return model_error(spec, kind, text, retry_after=read_retry_after(response.headers))


def kind_of(status: int) -> ModelErrorKind:
    match status:
        case 401 | 402 | 403 | 404:
            return ModelErrorKind.AUTH
        case 413:
            return ModelErrorKind.CONTEXT_LENGTH
        case 429:
            return ModelErrorKind.RATE_LIMIT
        case 408 | 409 | 424 | 425:  # 424: Bedrock's, where the model failed
            return ModelErrorKind.UNAVAILABLE
        case _ if status >= 500:
            return ModelErrorKind.UNAVAILABLE
        case _:
            return ModelErrorKind.BAD_REQUEST


def kind_of_failure(said: Json) -> ModelErrorKind:
    """Of an error that came within an answer: by its code, or by the words that servers use."""
    code, words = said.get("code"), f"{said.get('code')} {said.get('type')} {said.get('message')}"
    if CONTEXT_LENGTH.search(words):
        return ModelErrorKind.CONTEXT_LENGTH
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    numbered = kind_of(code) if isinstance(code, int) and 400 <= code < 600 else None
    named = (kind for name, kind in _NAMED.items() if name in words)
    return numbered or next(named, ModelErrorKind.UNAVAILABLE)


def _own(spec: ModelSpec, error: Exception) -> ModelError:
    """Nothing failed below litellm: it would not send the request, or could not read the answer."""
    for cause in _chain(error):
        if isinstance(cause, ModuleNotFoundError):
            return model_error(spec, ModelErrorKind.AUTH, missing_package(cause))
    within = getattr(error, "original_exception", None)
    if type(error).__name__ == _WITHIN_A_STREAM and within is not None:
        text = _LITELLM_PREFIX.sub("", str(within).partition("\n")[0])
        status = getattr(within, "status_code", None)
        kind = kind_of(status) if isinstance(status, int) else ModelErrorKind.UNAVAILABLE
        return model_error(spec, kind, text)
    status = getattr(error, "status_code", None)
    text = _LITELLM_PREFIX.sub("", str(error).partition("\n")[0])
    if _NO_CREDENTIALS.search(text):
        variable = _KEY_VARIABLE.search(text)
        or_there = f", or {variable[0]} in the environment" if variable else ""
        text = f"there is no key for it; set its api_key in the configuration{or_there}"
        return model_error(spec, ModelErrorKind.AUTH, text)
    if _NOT_SET_UP.search(text):
        return model_error(spec, ModelErrorKind.AUTH, text.rpartition(" - ")[2])
    match status:
        case 400 | 401 | 402 | 403 | 404 | 413 | 429:
            return model_error(spec, kind_of(status), text)
        case _:
            text = "it answered, but not with anything that can be read as a reply"
            return model_error(spec, ModelErrorKind.BAD_REPLY, text)


def missing_package(error: ModuleNotFoundError) -> str:
    module = str(error.name).partition(".")[0]
    package = _PACKAGES.get(module, module)
    return f"it needs the package {package}, which is not installed: pip install {package}"


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
            | {"Message": str(text)}
            | {"detail": str(text)}
            | [{"error": {"message": str(text)}}, *_]
        ):
            return text
        case {"detail": [*faults]}:  # which fields it does not take
            return "; ".join(_fault(fault) for fault in faults if isinstance(fault, dict))
        case _:
            return ""


def _fault(fault: Json) -> str:
    place = fault.get("loc")
    where = ".".join(str(part) for part in place) if isinstance(place, list) else ""
    return f"{where}: {fault.get('msg') or 'not taken'}"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def model_error(
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
