"""What delegate_task is offered as: only what is there, typed, small, and always the same."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from agent.delegation.call.caller import Caller, Limits
from agent.delegation.call.offer import Offer, offer
from agent.delegation.tables.model import to_json
from agent.delegation.tables.parse import parse_table
from agent.models.base import ModelSpec
from agent.models.demo import demo_specs
from agent.models.registry import RANKS, Models
from agent.tools.base import Toolset, function_schema
from tests.support.seed_tables import YAML_TABLE
from tests.support.small_tables import listed

LIMIT = 3_500
"""Characters of JSON."""
DEMO = Models(demo_specs())
TIERS = {
    "parent": ModelSpec("", "big", input_cost=1e-5, output_cost=5e-5),
    "overseer": ModelSpec("", "middle", input_cost=3e-6, output_cost=15e-6),
    "worker": ModelSpec("", "small", input_cost=5e-8, output_cost=4e-7),
}
PRESETS = {
    "thorough": ModelSpec("", "middle", None, reasoning_effort="high", output_cost=15e-6),
    "dear": ModelSpec("", "huge", input_cost=1e-4, output_cost=1e-4),
    "local": ModelSpec("", "llama"),
}
PRICED = Models(TIERS, PRESETS)


def parent(models: Models, *toolsets: str) -> Caller:
    prices = models.prices(models.tier("parent"))
    return Caller(RANKS["parent"], 0, frozenset(toolsets), prices=prices)


def fields(made: Offer) -> dict[str, Any]:
    found: dict[str, Any] = made.parameters["properties"]["tasks"]["items"]["properties"]
    return found


def text(made: Offer) -> str:
    return json.dumps(function_schema("delegate_task", made.description, made.parameters))


def test_with_defaults_it_is_small_and_offers_no_choice_where_there_is_none() -> None:
    made = offer(DEMO, Limits(), parent(DEMO))
    assert len(text(made)) <= LIMIT
    assert not {"role", "toolsets", "model"} & fields(made).keys()
    assert "escalation_model" not in fields(made)["branch_table"]["properties"]
    assert "Workers have no tools" in made.description
    assert "at most 3 " in made.description


def test_with_three_tiers_and_files_it_is_little_longer() -> None:
    models = Models(TIERS)
    assert len(text(offer(models, Limits(), parent(models, "file")))) <= LIMIT + 200


def test_each_field_of_a_task_stands_there_once() -> None:
    limits = Limits(max_spawn_depth=2)
    made = offer(PRICED, limits, parent(PRICED, "file"))
    for field in fields(made):
        assert text(made).count(f'"{field}": {{') == 1


def test_what_there_is_to_choose_is_named_with_prices() -> None:
    limits = Limits(max_concurrent_children=7, max_spawn_depth=2, max_iterations=9)
    made = offer(PRICED, limits, parent(PRICED, Toolset.WEB, Toolset.FILE))
    found = fields(made)
    assert "at most 7 " in made.description
    assert "Toolsets of workers: file, web." in made.description
    assert found["toolsets"]["items"]["enum"] == ["file", "file_read", "web"]
    assert found["role"]["enum"] == ["leaf", "orchestrator"]
    assert found["model"]["enum"] == ["worker", "overseer", "parent", "thorough", "local"]
    assert "worker = small 0.05/0.4;" in found["model"]["description"]
    assert "thorough = middle (high effort) ?/15;" in found["model"]["description"]
    assert "local = llama ?/?;" in found["model"]["description"]
    assert "default worker" in found["model"]["description"]
    assert "default 9" in found["max_iterations"]["description"]


def test_toolsets_that_no_child_gets_are_not_offered() -> None:
    made = offer(PRICED, Limits(), parent(PRICED, "web", "message", "memory", "mcp:home"))
    assert "Toolsets of workers: mcp:home, web." in made.description
    assert fields(made)["toolsets"]["items"]["enum"] == ["mcp:home", "web"]


def test_what_is_dearer_is_offered_only_where_that_is_allowed() -> None:
    made = offer(PRICED, Limits(allow_dearer=True), parent(PRICED))
    assert "dear" in fields(made)["model"]["enum"]


def test_a_model_must_be_named_where_the_default_is_dearer() -> None:
    models = Models({"parent": TIERS["worker"], "worker": TIERS["parent"]})
    made = offer(models, Limits(allow_dearer=True), parent(models))
    assert "default worker" in fields(made)["model"]["description"]
    made = offer(models, Limits(), parent(models))
    assert fields(made)["model"]["enum"] == ["overseer"]
    assert "name one" in fields(made)["model"]["description"]
    assert made.parameters["properties"]["tasks"]["items"]["required"] == ["goal", "model"]


def test_a_child_is_offered_what_it_may_ask_for() -> None:
    child = Caller(RANKS["worker"], 1, frozenset({"file"}), home=1)
    found = fields(offer(PRICED, Limits(max_spawn_depth=2), child))
    assert not {"background", "role", "model"} & found.keys()


@pytest.mark.parametrize(
    "limits", [Limits(orchestrator_enabled=False, max_spawn_depth=3), Limits()]
)
def test_no_role_is_offered_where_nobody_can_be_an_orchestrator(limits: Limits) -> None:
    assert "role" not in fields(offer(PRICED, limits, parent(PRICED)))


def test_it_is_the_same_byte_for_byte() -> None:
    toolsets = [each.value for each in Toolset]
    one, other = (
        offer(PRICED, Limits(), parent(PRICED, *order)) for order in (toolsets, toolsets[::-1])
    )
    assert text(one) == text(other)


def everything(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from everything(inner)
    if "items" in schema:
        yield from everything(schema["items"])


def test_everything_has_a_type_that_every_provider_knows() -> None:
    made = offer(PRICED, Limits(max_spawn_depth=2), parent(PRICED, "file"))
    jsonschema.Draft202012Validator.check_schema(made.parameters)
    for schema in everything(made.parameters):
        match schema["type"]:
            case "object":
                assert schema["properties"]
            case "array":
                assert schema["items"]
            case simple:
                assert simple in ("string", "integer", "boolean")
        assert schema.keys() <= {
            "type",
            "description",
            "properties",
            "items",
            "required",
            "enum",
        }


def test_a_table_as_it_is_asked_for_is_the_table_that_was_meant() -> None:
    schema = fields(offer(PRICED, Limits(), parent(PRICED)))["branch_table"]
    table = parse_table(YAML_TABLE)
    form = to_json(table)
    written = form | {"conditions": listed(form["conditions"])}
    jsonschema.validate(written, schema)
    assert parse_table(written) == table
