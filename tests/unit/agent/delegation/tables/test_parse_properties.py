import json
from dataclasses import replace
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from agent.delegation.tables.model import BranchTable, fold, to_json
from agent.delegation.tables.parse import extend, parse_table
from agent.delegation.tables.source import TableError
from tests.support.seed_tables import JSON_TASK, YAML_TABLE

words = st.text(min_size=1, max_size=12).filter(lambda t: t.strip() and fold(t) != "default")
templates = st.lists(
    st.sampled_from(["{goal}", "{evidence}", "{observed_state}", "{{", "}}", "text ", "\n", "é"])
).map("".join)
reports = st.fixed_dictionaries(
    {"action": st.sampled_from(["report", "report_with_evidence"])},
    optional={"format": templates},
)
escalations = st.fixed_dictionaries(
    {"action": st.just("escalate")},
    optional={"tier": st.sampled_from(["overseer", "human"]), "prompt": templates},
)
expansions = st.fixed_dictionaries({"action": st.just("expand")}, optional={"prompt": templates})
names = st.sampled_from(["report", "report_with_evidence", "escalate", "expand"])
actions = st.one_of(reports, escalations, expansions, names)


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    made: dict[str, Any] = {draw(st.sampled_from(["description", "condition"])): draw(words)}
    if draw(st.booleans()):
        made["checks"] = draw(st.lists(words, max_size=3))
    if draw(st.booleans()):
        made["branch"] = draw(actions)
    else:
        branch_names = draw(st.lists(words, min_size=1, max_size=3, unique_by=_stored))
        made["branches"] = {name: draw(actions) for name in branch_names}
    return made


def _stored(text: str) -> str:
    return fold(text.replace("\0", "\ufffd").encode("utf-16", "replace").decode("utf-16"))


def _described(condition: dict[str, Any]) -> str:
    return _stored(condition.get("description") or condition["condition"])


@st.composite
def tables(draw: st.DrawFn) -> Any:
    listed: list[Any] = draw(st.lists(conditions(), min_size=1, max_size=3, unique_by=_described))
    default = [{"default": draw(actions)}] if draw(st.booleans()) else []
    if draw(st.booleans()):
        return listed + default
    made: dict[str, Any] = {"conditions": listed, **(default[0] if default else {})}
    if draw(st.booleans()):
        made["max_escalation_depth"] = draw(st.integers(0, 5))
    if draw(st.booleans()):
        made["escalation_model"] = draw(words)
    return made


@given(tables())
def test_the_normal_form_reads_back_as_the_same_table(source: Any) -> None:
    table = parse_table(source)
    bare = replace(table, warnings=())
    assert parse_table(to_json(table)) == bare
    assert parse_table(json.dumps(to_json(table))) == bare
    assert to_json(parse_table(to_json(table))) == to_json(table)


@given(tables())
def test_a_table_means_the_same_as_object_json_and_yaml(source: Any) -> None:
    table = parse_table(source)
    assert parse_table(json.dumps(source)) == table
    assert parse_table(json.dumps(source, ensure_ascii=False, indent=1)) == table
    assert parse_table(yaml.safe_dump(source, sort_keys=False)) == table


@given(tables(), tables())
def test_an_extension_keeps_the_numbers_of_what_was_there(old: Any, new: Any) -> None:
    table = parse_table(old)
    added = [i for i in (new if isinstance(new, list) else new["conditions"]) if "default" not in i]
    longer = extend(table, added)
    assert [c.number for c in longer.conditions] == list(range(1, len(longer.conditions) + 1))
    before = [fold(c.description) for c in table.conditions]
    assert [fold(c.description) for c in longer.conditions][: len(before)] == before
    assert extend(longer, added) == longer


def _ends_well(source: object) -> BranchTable | None:
    try:
        return parse_table(source)
    except TableError as error:
        assert str(error)
        str(error).encode()
        return None


KEYS = ["conditions", "default", "branch_table", "branches", "branch", "checks"]
KEYS += ["description", "condition", "action", "tier", "prompt", "format"]

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary(max_size=5)
    | st.text(alphabet=st.characters(), max_size=20)
    | st.sampled_from(["report", "escalate", "conditions", "branch_table", "{goal}", "{"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS) | st.text(max_size=5) | st.integers(),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(anything)
def test_whatever_comes_in_is_a_table_or_one_clear_message(source: object) -> None:
    _ends_well(source)


@given(st.text(alphabet=st.characters(), max_size=200))
@example("\ud800")
@example("{\ud800")
@example("a: \ud800\0")
@example("%YAML 9.9\n---\na")
@example("[" * 3000 + '"')
def test_whatever_text_comes_in_is_a_table_or_one_clear_message(text: str) -> None:
    _ends_well(text)
    _ends_well({"branch_table": text})


@given(st.sampled_from([YAML_TABLE, JSON_TASK]), st.data())
def test_a_valid_text_with_pieces_moved_about_is_a_table_or_one_clear_message(
    text: str, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        until = data.draw(st.integers(at, min(len(text), at + 30)))
        text = (
            text[:at]
            + data.draw(st.text(st.sampled_from("&*!{}[]:-\n \"'?<a1#|>%")))
            + text[until:]
        )
    _ends_well(text)


@given(tables(), st.data())
def test_a_valid_object_with_a_value_replaced_is_a_table_or_one_clear_message(
    source: Any, data: st.DataObject
) -> None:
    place = source
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()) or not isinstance(place[key], dict | list):
            place[key] = data.draw(anything)
            break
        place = place[key]
    _ends_well(source)
