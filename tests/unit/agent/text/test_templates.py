from hypothesis import given
from hypothesis import strategies as st

from agent.text.templates import (
    FIELDS,
    OUTPUT_LIMIT,
    VALUE_LIMIT,
    cut,
    cut_head,
    faults_in,
    fields_in,
    render,
)


def test_fields_are_found_in_order_and_doubled_braces_are_none() -> None:
    assert fields_in("{goal} of {{goal}} and {{{branch}}} then {goal}") == [
        "goal",
        "branch",
        "goal",
    ]


def test_a_brace_without_its_partner_is_found_as_itself() -> None:
    assert fields_in("a { b } c") == [" b "]
    assert fields_in("a { b") == ["{"]
    assert fields_in("a } b") == ["}"]


def test_the_known_fields_are_no_faults() -> None:
    assert faults_in(" ".join(f"{{{name}}}" for name in FIELDS) + " {{braces}}") == []


def test_every_other_field_is_a_fault_that_names_it_once() -> None:
    faults = faults_in("{prompt} {prompt} {goal!r} {} { goal }")
    assert [fault.split(" is not")[0] for fault in faults] == [
        "'{prompt}'",
        "'{goal!r}'",
        "'{}'",
        "'{ goal }'",
    ]
    assert "{observed_state}" in faults[0]


def test_a_single_brace_is_a_fault_that_says_how_to_write_it() -> None:
    assert faults_in("a { b") == ["a single '{' in a template; write {{ for a brace"]


def test_rendering_fills_fields_and_undoubles_braces() -> None:
    assert render("{goal}: {{x}} {{{branch}}}", {"goal": "g", "branch": "b"}) == "g: {x} {b}"


def test_a_value_with_a_field_in_it_stays_as_it_is() -> None:
    fields = {"goal": "{evidence} {{x}} {goal}", "evidence": "seen"}
    assert render("{goal}|{evidence}", fields) == "{evidence} {{x}} {goal}|seen"


def test_a_field_that_is_not_given_and_a_single_brace_stay_as_they_are() -> None:
    assert render("{goal} { {nonsense}", {}) == "{goal} { {nonsense}"


def test_a_long_value_is_cut_and_the_cut_is_said() -> None:
    rendered = render("<{evidence}>", {"evidence": "x" * (VALUE_LIMIT + 1)})
    assert rendered == f"<{'x' * VALUE_LIMIT}… [cut, {VALUE_LIMIT + 1} characters in all]>"
    assert render("{evidence}", {"evidence": "x" * VALUE_LIMIT}) == "x" * VALUE_LIMIT


def test_a_field_named_a_thousand_times_does_not_make_the_output_endless() -> None:
    rendered = render("{goal}" * 1_000, {"goal": "x" * 3_000})
    assert len(rendered) < OUTPUT_LIMIT + 100
    assert rendered.endswith("… [cut, 3000000 characters in all]")


def test_cutting_keeps_the_start_or_the_end() -> None:
    assert cut("abcdef", 3) == "abc… [cut, 6 characters in all]"
    assert cut_head("abcdef", 3) == "[cut, 6 characters in all] …def"
    assert cut("abc", 3) == cut_head("abc", 3) == "abc"


@given(st.text())
def test_text_with_its_braces_doubled_renders_to_itself(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert fields_in(doubled) == []
    assert render(doubled, dict.fromkeys(FIELDS, "no")) == text


@given(st.lists(st.sampled_from(["{", "}", "{{", "}}", "goal", "{goal}", "x"])).map("".join))
def test_a_template_without_faults_has_all_its_fields_filled(text: str) -> None:
    if not faults_in(text):
        assert set(fields_in(text)) <= {"goal"}
        filled = render(text, {"goal": "GOAL"})
        assert filled.count("GOAL") == fields_in(text).count("goal")
