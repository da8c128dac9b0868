from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, ListToolsResult

from agent.tools.mcp.wire.mending import (
    PARTS_AT_ONCE,
    mended_listing,
    mended_result,
    schema_of,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("name", "description", "inputSchema", "annotations", "readOnlyHint"),
                    *("type", "properties", "required", "text", "data", "mimeType", "uri"),
                    *("resource", "blob", "size", "title"),
                ]
            ),
            inner | st.sampled_from(["text", "image", "resource", "resource_link", "object"]),
            max_size=6,
        )
    ),
    max_leaves=30,
)


def test_of_countless_parts_only_some_are_looked_at() -> None:
    part = {"type": "text", "text": "x"}
    *parts, last = mended_result({"content": [part] * 100_000})["content"]
    assert parts == [part] * PARTS_AT_ONCE
    assert last["text"] == f"[{100_000 - PARTS_AT_ONCE} more parts were left out]"


@given(tools=st.lists(JSON, max_size=4) | JSON, cursor=JSON)
def test_every_listing_is_one_that_the_sdk_takes(tools: Any, cursor: Any) -> None:
    mended = mended_listing({"tools": tools, "nextCursor": cursor})
    parsed = ListToolsResult.model_validate(mended, by_name=False)
    names = [tool.name for tool in parsed.tools]
    given = tools if isinstance(tools, list) else []
    assert names == [
        t["name"]
        for t in given
        if isinstance(t, dict) and isinstance(t.get("name"), str)
        if t["name"]
    ]


@given(content=JSON | st.lists(JSON, max_size=4), structured=JSON)
def test_every_result_is_one_that_the_sdk_takes(content: Any, structured: Any) -> None:
    mended = mended_result({"content": content, "structuredContent": structured})
    CallToolResult.model_validate(mended, by_name=False)


def test_the_schema_is_kept_as_it_came() -> None:
    odd = {"type": "array", "required": [1], "properties": {"a": True}}
    (tool,) = mended_listing({"tools": [{"name": "t", "inputSchema": odd}]})["tools"]
    assert schema_of(tool) == odd
    assert tool["inputSchema"] == {"type": "object", "properties": {}, "required": []}
