"""The tools that models plan with, as litellm sends them to each provider: nothing gets lost."""

from typing import Any

import pytest

from agent.delegation.caller import Caller, Limits
from agent.delegation.core.overseer import EXTEND_TABLE
from agent.delegation.offer import offer
from agent.models.base import ModelSpec
from agent.models.registry import RANKS, Models
from agent.tools.base import function_schema
from tests.support.provider_requests import PROVIDERS, parameters_in, sent

MODELS = Models({"parent": ModelSpec("", "big"), "worker": ModelSpec("", "small")})
OFFER = offer(MODELS, Limits(max_spawn_depth=2), Caller(RANKS["parent"], 0, frozenset({"file"})))
SCHEMAS = {"delegate_task": OFFER.parameters, "extend_table": EXTEND_TABLE}


def shape(schema: dict[str, Any]) -> Any:
    """Types, names, choices and what is needed; without words."""
    kind = str(schema["type"]).lower()
    if kind == "object":
        inner = {name: shape(each) for name, each in schema["properties"].items()}
        return inner, sorted(schema.get("required", ()))
    if kind == "array":
        return [shape(schema["items"])]
    return kind, schema.get("enum")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", SCHEMAS)
async def test_every_property_stays_typed(provider: str, name: str) -> None:
    tool = function_schema(name, "A tool.", SCHEMAS[name])
    body = await sent(provider, [tool])
    assert shape(parameters_in(provider, body)) == shape(SCHEMAS[name])


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_next_request_has_the_same_tools(provider: str) -> None:
    """Conversions work in place; what is offered is shared by all agents."""
    tool = function_schema("delegate_task", OFFER.description, OFFER.parameters)
    first = await sent(provider, [tool])
    assert (await sent(provider, [tool]))["tools"] == first["tools"]
