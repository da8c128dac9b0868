"""litellm's readers of what a call used, kept from losing a reply over an odd number; and what a
call costs, with litellm's list of prices where the configuration has none."""

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent.models.base import ModelSpec, price
from agent.models.litellm.prompt_cache import CacheUse
from agent.models.usage import dollars, readable_usage

_LLMS = "litellm.llms"
_OPENAI = f"{_LLMS}.openai.chat.gpt_transformation"


@dataclass(frozen=True, slots=True)
class CachePrices:
    """What a cache's tokens cost, as parts of what input costs otherwise."""

    read: float = 1.0
    written: float = 1.0


def listed_cache_prices(litellm: Any, model: str, provider: str) -> CachePrices:
    """By litellm's list; as any input for a model that it does not have there."""
    try:
        listed = litellm.get_model_info(model, custom_llm_provider=provider)
    except Exception:  # noqa: BLE001
        # It raises a bare Exception for every model that is not listed.
        return CachePrices()
    fresh = dollars(listed.get("input_cost_per_token"))
    if not fresh:
        return CachePrices()
    read = dollars(listed.get("cache_read_input_token_cost"))
    written = dollars(listed.get("cache_creation_input_token_cost"))
    return CachePrices(1.0 if read is None else read / fresh, (written or fresh) / fresh)


def priced(litellm: Any, model: str, provider: str, response: Any) -> Any:
    """A streamed answer with what it cost by litellm's list, as one in one piece has it."""
    hidden = response._hidden_params
    if hidden.get("response_cost") is None:
        try:
            cost = litellm.completion_cost(response, model, custom_llm_provider=provider)
        except Exception:  # noqa: BLE001
            # It raises a bare Exception for every model that is not listed.
            return response
        hidden["response_cost"] = cost
    return response


def own_price(
    spec: ModelSpec, read: int, written: int, cache: CacheUse, listed: CachePrices
) -> float | None:
    """Dollars by the configured prices; None where there are none."""
    fresh = spec.input_cost or 0.0
    if spec.cached_input_cost is None:
        spec = replace(spec, cached_input_cost=fresh * listed.read)
    cost = price(spec, read, written, cache.read)
    return None if cost is None else cost + fresh * (listed.written - 1.0) * cache.written


def read_leniently() -> None:
    """litellm takes no reply of a server whose usage has one odd number. Where servers speak
    OpenAI's protocol it is mended before it is read, elsewhere it counts as not given: then we
    estimate. Once for the process."""
    _mend_openai(importlib.import_module(_OPENAI))
    anthropic = importlib.import_module(f"{_LLMS}.anthropic.chat.transformation").AnthropicConfig
    _give_object(anthropic, "transform_parsed_response", "usage")
    _guard(anthropic, "calculate_usage")
    place = f"{_LLMS}.vertex_ai.gemini.vertex_and_google_ai_studio_gemini"
    gemini = importlib.import_module(place).VertexGeminiConfig
    name = "_transform_google_generate_content_to_openai_model_response"
    _give_object(gemini, name, "usageMetadata")
    _guard(gemini, "_calculate_usage", static=True)


def in_one_piece(litellm: Any, whole: Mapping[str, Any]) -> Any:
    """An answer in OpenAI's shape as litellm reads one that was not streamed."""
    place = importlib.import_module(_OPENAI)
    convert = place.convert_to_model_response_object
    return convert(response_object=whole, model_response_object=litellm.ModelResponse())


def _mend_openai(place: Any) -> None:
    convert: Callable[..., Any] = place.convert_to_model_response_object
    if _is_ours(convert):
        return  # another model of ours was there before

    @functools.wraps(convert)
    def converted(*args: Any, **named: Any) -> Any:
        answer = named.get("response_object")
        if isinstance(answer, dict) and "usage" in answer:
            named["response_object"] = answer | {"usage": readable_usage(answer["usage"])}
        return convert(*args, **named)

    setattr(place, convert.__name__, converted)


def _give_object(config: Any, name: str, field: str) -> None:
    """Readers of whole replies take for granted that the usage is an object."""
    transform: Callable[..., Any] = getattr(config, name)
    if _is_ours(transform):
        return

    @functools.wraps(transform)
    def transformed(self: Any, completion_response: Any, *args: Any, **named: Any) -> Any:
        if isinstance(completion_response, dict):
            given = completion_response.get(field)
            usage = given if isinstance(given, Mapping) else {}
            completion_response = completion_response | {field: usage}
        return transform(self, completion_response, *args, **named)

    setattr(config, name, transformed)


def _guard(config: Any, name: str, *, static: bool = False) -> None:
    calculate: Callable[..., Any] = getattr(config, name)
    if _is_ours(calculate):
        return

    @functools.wraps(calculate)
    def calculated(*args: Any, **named: Any) -> Any:
        try:
            return calculate(*args, **named)
        except Exception:  # noqa: BLE001
            # Whatever a foreign reader raises over a number: the reply is worth more.
            usage: Any = importlib.import_module("litellm").Usage
            return usage(prompt_tokens=0, completion_tokens=0, total_tokens=0)

    setattr(config, name, staticmethod(calculated) if static else calculated)


def _is_ours(function: Any) -> bool:
    return hasattr(function, "__wrapped__")
