import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agent.tools.mcp.schemas import MOST_BYTES, cleaned, safe_schema

KEYWORDS = [
    *("type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf"),
    *("$ref", "$defs", "description", "minimum", "maxLength", "additionalProperties", "default"),
    *("pattern", "not", "title", "a", "b b", "format"),
]
ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["object", "array", "string", "integer", "null", "#", "#/$defs/a", "a"]),
)
ANYTHING = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=6)
    ),
    max_leaves=40,
)


def nodes(schema: Any) -> list[dict[str, Any]]:
    """Every schema in it."""
    found = [schema]
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    inner += [schema[key] for key in ("items", "additionalProperties") if schema.get(key)]
    for one in inner:
        found += nodes(one) if isinstance(one, dict) else []
    return found


@given(ANYTHING)
def test_whatever_a_server_says_the_schema_is_one_that_providers_take(given: Any) -> None:
    made = safe_schema(given)
    Draft202012Validator.check_schema(made)
    assert made["type"] == "object" and isinstance(made["properties"], dict)
    assert not {"anyOf", "oneOf", "allOf", "$ref", "enum"} & made.keys()
    assert len(json.dumps(made, ensure_ascii=False).encode()) <= MOST_BYTES
    json.dumps(made, allow_nan=False)
    for node in nodes(made):
        assert ("type" in node) != ("anyOf" in node)
        assert node.get("type") != "array" or "items" in node
        assert all(isinstance(value, str) for value in node.get("enum", []))
        assert set(node.get("required", [])) <= set(node.get("properties", {}))
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", key) for key in node.get("properties", {}))


def test_an_ordinary_schema_keeps_what_it_says() -> None:
    schema = {
        "type": "object",
        "title": "Arguments",
        "properties": {
            "path": {"type": "string", "description": "Where.", "maxLength": 10},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "count": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"x": {}}}},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    made = safe_schema(schema)
    assert made["required"] == ["path"] and made["additionalProperties"] is False
    properties = made["properties"]
    assert properties["path"] == {"type": "string", "maxLength": 10, "description": "Where."}
    assert properties["mode"] == {"type": "string", "enum": ["a", "b"]}
    assert properties["count"] == {"type": "integer", "minimum": 1}
    assert [one["type"] for one in properties["rows"]["items"]["properties"]["x"]["anyOf"]] == [
        *("string", "number", "boolean", "object", "array")
    ]


def test_references_are_put_in_place_and_circles_end() -> None:
    schema = {
        "type": "object",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
            }
        },
        "properties": {"first": {"$ref": "#/$defs/node"}, "far": {"$ref": "http://x/y"}},
    }
    first = safe_schema(schema)["properties"]["first"]
    assert first["properties"]["name"] == {"type": "string"}
    assert "properties" not in first["properties"]["next"]
    assert "$" not in json.dumps(safe_schema(schema))


def test_alternatives_at_the_top_become_one_object() -> None:
    schema = {
        "oneOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
        ]
    }
    made = safe_schema(schema)
    assert set(made["properties"]) == {"a", "b"} and "required" not in made


def test_what_is_left_out_is_told_in_words() -> None:
    schema = {"properties": {"n": {"type": "integer", "enum": [1, 2], "default": 2}}}
    told = safe_schema(schema)["properties"]["n"]["description"]
    assert "one of [1, 2]" in told and "default: 2" in told


def test_a_schema_that_is_far_too_large_costs_little() -> None:
    huge = {"properties": {f"p{n}": {"description": "d" * 5_000} for n in range(5_000)}}
    assert len(json.dumps(safe_schema(huge))) <= MOST_BYTES
    wide: dict[str, Any] = {"anyOf": [{"properties": {f"p{n}": {}}} for n in range(20_000)]}
    assert len(json.dumps(safe_schema(wide))) <= MOST_BYTES
    knot = {"$ref": "#", "allOf": [{"$ref": "#"}] * 50, "properties": {"x": {"$ref": "#"}}}
    assert safe_schema(knot)["type"] == "object"


def test_words_are_visible_and_bounded() -> None:
    assert cleaned("a\u202eb\x1b[31m", 100) == "ab[31m"
    assert len(cleaned("ä" * 1_000, 100).encode()) <= 104
    assert cleaned(["no", "text"], 100) == ""
