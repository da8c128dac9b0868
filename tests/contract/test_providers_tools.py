"""The tools that models plan with, and the wish that one is called, as litellm sends them to each
provider."""

from typing import Any

import pytest

from agent.delegation.call.caller import Caller, Limits
from agent.delegation.call.offer import offer
from agent.delegation.children.roles import OVERSEER_TOOLS, REPORT_OUTCOME
from agent.delegation.core.judging.overseer import EXTEND_TABLE
from agent.delegation.core.judging.verdict import GIVE_VERDICT, VERDICT_NAME
from agent.models.base import REQUIRED, ModelSpec
from agent.models.registry import RANKS, Models
from agent.tools.base import function_schema
from agent.tools.mcp.schemas import safe_schema
from tests.support.provider_requests import PROVIDERS, parameters_in, sent

MODELS = Models({"parent": ModelSpec("", "big"), "worker": ModelSpec("", "small")})
OFFER = offer(MODELS, Limits(max_spawn_depth=2), Caller(RANKS["parent"], 0, frozenset({"file"})))
SCHEMAS = {
    "delegate_task": OFFER.parameters,
    VERDICT_NAME: GIVE_VERDICT,
    **{tool.name: tool.parameters for tool in (REPORT_OUTCOME, *OVERSEER_TOOLS)},
}


def shape(schema: dict[str, Any]) -> Any:
    """Types, names, choices and what is needed; without words."""
    kind = str(schema["type"]).lower()
    if kind == "object":
        assert schema["properties"], "Gemini refuses an object of free keys"
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


CALLING = {"mode": "ANY"}
WISHES: dict[str, tuple[Any, Any, Any]] = {
    "openai": (
        "required",
        {"type": "function", "function": {"name": "extend_table"}},
        "none",
    ),
    "anthropic": ({"type": "any"}, {"type": "tool", "name": "extend_table"}, {"type": "none"}),
    "gemini": (CALLING, CALLING | {"allowed_function_names": ["extend_table"]}, {"mode": "NONE"}),
    "mistral": ("any", "any", "none"),
    "ollama": (None, None, None),
}
"""Provider → what it is sent for any tool, this one, none."""


def wish_in(body: dict[str, Any]) -> Any:
    return body.get("toolConfig", {}).get("functionCallingConfig") or body.get("tool_choice")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_wish_for_a_tool_is_sent_as_each_provider_takes_it(provider: str) -> None:
    tool = function_schema("extend_table", "A tool.", EXTEND_TABLE)
    wishes = (REQUIRED, "extend_table", "none")
    found = [wish_in(await sent(provider, [tool], wish)) for wish in wishes]
    assert found == list(WISHES[provider])
    assert wish_in(await sent(provider, [tool])) is None


async def test_claude_is_not_told_what_to_call_while_it_thinks() -> None:
    tool = function_schema("extend_table", "A tool.", EXTEND_TABLE)
    for wish, found in ((REQUIRED, None), ("extend_table", None), ("none", {"type": "none"})):
        body = await sent("anthropic", [tool], wish, "low")
        assert (wish_in(body), body["thinking"]["type"]) == (found, "enabled")


LYING = safe_schema(
    {
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
        "properties": {
            "a": {"type": ["string", "null"], "pattern": "(a+)+$", "const": "x"},
            "b": {"type": "array"},
            "c": {"type": "nonsense", "enum": [1, {"x": 2}]},
            "d": {"$ref": "#/$defs/node"},
            "not a name": {"type": "string"},
        },
    }
)


def typed(schema: dict[str, Any]) -> bool:
    """Whether every schema in it has a type, as Gemini wants it."""
    if "anyOf" in schema:
        return all(typed(one) for one in schema["anyOf"])
    inner = [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]
    lists = str(schema.get("type")).lower() != "array" or "items" in schema
    return "type" in schema and lists and all(typed(one) for one in inner)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_schema_of_a_lying_mcp_server_is_sent_as_one_that_is_taken(provider: str) -> None:
    body = await sent(provider, [function_schema("one__odd", "A tool.", LYING)])
    parameters = parameters_in(provider, body)
    assert typed(parameters)
    assert set(parameters["properties"]) == {"a", "b", "c", "d"}
