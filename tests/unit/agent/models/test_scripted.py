"""The rules of a scripted model: which one fits, what it says, and what is wrong with a file."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.base import ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.scripted import (
    Answer,
    Call,
    Rule,
    ScriptedFiles,
    ScriptedModel,
    ScriptError,
    When,
)
from storage.records.entries import Json, message

SPEC = ModelSpec("parent", "scripted:test")


def tool(name: str) -> Json:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


def rule(text: str = "yes", times: int | None = None, **when: Any) -> Rule:
    return Rule(reply=Answer(text=text), when=When(**when), times=times)


async def ask(
    model: ScriptedModel, *messages: Json, spec: ModelSpec = SPEC, tools: tuple[str, ...] = ()
) -> Reply:
    return await model.complete(Request(spec, messages, [tool(name) for name in tools]))


USER = message("user", "What is the weather in Oslo?")
CALLING = message(
    "assistant",
    "",
    tool_calls=[{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}],
)
RESULT = message("tool", "21 °C and sun", tool_call_id="call_1")


async def test_the_first_rule_that_fits_answers() -> None:
    model = ScriptedModel([rule("no", last="Rome"), rule("first", last="Oslo"), rule("second")])
    assert (await ask(model, USER)).content == "first"


@pytest.mark.parametrize(
    ("when", "fits"),
    [
        ({}, True),
        ({"tier": "parent"}, True),
        ({"tier": "scripted:test"}, True),
        ({"tier": "worker"}, False),
        ({"last": "sun$"}, True),
        ({"last": "Oslo"}, False),
        ({"system": "helpful"}, True),
        ({"system": "judge"}, False),
        ({"tools": "think"}, True),
        ({"tools": ["think", "delegate_task"]}, True),
        ({"tools": ["think", "fly"]}, False),
        ({"turn": 1}, True),
        ({"turn": 0}, False),
        ({"tier": "parent", "last": "sun", "turn": 2}, False),
    ],
)
async def test_a_rule_fits_when_all_its_conditions_do(when: dict[str, Any], fits: bool) -> None:
    model = ScriptedModel([rule("fits", **when), rule("does not")])
    messages = [message("system", "You are helpful."), message("user", "before")]
    messages += [message("assistant", "ok"), USER, CALLING, RESULT]
    reply = await ask(model, *messages, tools=("think", "delegate_task"))
    assert reply.content == ("fits" if fits else "does not")


async def test_a_rule_is_used_only_as_often_as_it_says() -> None:
    model = ScriptedModel([rule("twice", times=2), rule("then this")])
    replies = [(await ask(model, USER)).content for _ in range(3)]
    assert replies == ["twice", "twice", "then this"]


async def test_without_a_fitting_rule_it_says_so() -> None:
    reply = await ask(ScriptedModel([rule(last="Rome")], "rules.yaml"), USER)
    assert reply.content == (
        "No rule of rules.yaml fits this message: What is the weather in Oslo?"
    )


async def test_templates_are_filled_in_texts_and_in_every_argument() -> None:
    arguments: dict[str, Any] = {"goal": "{1}: {last}", "tasks": [{"n": 1, "of": "{last_tool}"}]}
    answer = Answer(
        text="{1} is {2}{3} after {last_tool}, {unknown} {} {9}",
        tool_calls=(Call(name="f", arguments=arguments), Call(name="g", arguments='{"a": "{1}"')),
    )
    model = ScriptedModel([Rule(reply=answer, when=When(last=r"in (\w+)(\?)(x)?"))])
    reply = await ask(model, CALLING, RESULT, USER)
    assert reply.content == "Oslo is ? after 21 °C and sun, {unknown} {} {9}"
    assert json.loads(reply.tool_calls[0].arguments) == {
        "goal": "Oslo: What is the weather in Oslo?",
        "tasks": [{"n": 1, "of": "21 °C and sun"}],
    }
    assert reply.tool_calls[1].arguments == '{"a": "Oslo"'


async def test_what_a_person_writes_is_not_taken_as_a_template() -> None:
    model = ScriptedModel([rule("You said: {last}")])
    assert (await ask(model, message("user", "{last} {1}"))).content == "You said: {last} {1}"


async def test_text_is_found_in_messages_made_of_parts() -> None:
    parts = [{"type": "text", "text": "look at"}, {"type": "image_url", "image_url": {"url": "x"}}]
    model = ScriptedModel([rule("{last}")])
    assert (await ask(model, {"role": "user", "content": parts})).content == "look at\n"


async def test_call_ids_are_new_in_their_context_and_always_the_same() -> None:
    calls = (Call(name="f"), Call(name="g"))
    replies = []
    for _ in range(2):
        model = ScriptedModel([Rule(reply=Answer(tool_calls=calls))])
        first = await ask(model, USER)
        results = [message("tool", "ok", tool_call_id=call.id) for call in first.tool_calls]
        replies.append((first, await ask(model, USER, first.raw, *results)))
    assert replies[0] == replies[1]
    ids = [call.id for reply in replies[0] for call in reply.tool_calls]
    assert len(set(ids)) == 4


async def test_usage_is_what_the_rule_says_and_costs_what_the_spec_says() -> None:
    answer = Answer.model_validate({"text": "x", "usage": {"input": 1000, "output": 10}})
    spec = ModelSpec("worker", "scripted:test", input_cost=1e-6, output_cost=1e-5)
    usage = (await ask(ScriptedModel([Rule(reply=answer)]), USER, spec=spec)).usage
    assert (usage.input, usage.output, usage.calls) == (1000, 10, 1)
    assert usage.cost == pytest.approx(0.0011)


async def test_usage_follows_the_length_of_the_texts_where_no_rule_says_it() -> None:
    model = ScriptedModel([rule("x" * 400)])
    usage = (await ask(model, message("user", "y" * 4000))).usage
    assert (usage.input, usage.output, usage.cost) == (1001, 101, None)


async def test_an_error_is_raised_with_its_text_and_wait() -> None:
    answer = Answer(text="too much of {last}", error=ModelErrorKind.RATE_LIMIT, retry_after=3)
    with pytest.raises(ModelError, match="too much of fun") as caught:
        await ask(ScriptedModel([Rule(reply=answer)]), message("user", "fun"))
    assert (caught.value.kind, caught.value.retry_after) == (ModelErrorKind.RATE_LIMIT, 3)


async def test_a_delayed_answer_can_be_cancelled() -> None:
    model = ScriptedModel([Rule(reply=Answer(text="late", delay=3600))])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await ask(model, USER)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_conversation_is_answered(text: str, earlier: list[str]) -> None:
    model = ScriptedModel([rule("{last}{1}", last="(a)?")])
    messages = [message("user", line) for line in earlier] + [message("user", text)]
    reply = asyncio.run(ask(model, *messages))
    assert reply.content == text + ("a" if text.startswith("a") else "")


RULES = """
rules:
  - when: {last: 'weather in (\\w+)', tools: delegate_task}
    reply:
      text: Let me ask.
      tool_calls:
        - name: delegate_task
          arguments: {goal: "Weather in {1}"}
  - reply: {text: "You said: {last}"}
"""


async def test_what_was_seen_before_the_last_message_is_found_and_numbered_after_it() -> None:
    model = ScriptedModel(
        [
            rule(
                "{2} has {1}, not {3}: {4}",
                last=r"(\d+) °C",
                seen=[r"in (\w+)\?", "and (sun|rain)"],
            )
        ]
    )
    assert (await ask(model, USER, CALLING, RESULT)).content == "Oslo has 21, not sun: {4}"


async def test_the_newest_message_that_has_it_is_the_one_that_was_seen() -> None:
    model = ScriptedModel([rule("{1}", seen="weather in (\\w+)"), rule("none")])
    later = message("user", "And the weather in Rome?")
    assert (await ask(model, USER, later, message("user", "Well?"))).content == "Rome"
    assert (await ask(model, message("user", "Well?"))).content == "none"


async def test_a_file_of_rules_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    reply = await ask(ScriptedModel.load(path), USER, tools=("delegate_task",))
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [
        ("delegate_task", '{"goal": "Weather in Oslo"}')
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("rules: [", "not YAML"),
        ("just text", "must be a mapping with a list named rules"),
        ("rules: {}", "must be a mapping with a list named rules"),
        ("rules: []\nrule: []", "'rule' is not known"),
        ("rules:\n- reply: {text: a}\n- when: {last: x}", "rule 2: reply: is missing"),
        ("rules:\n- reply: {txt: a}", "rule 1: reply.txt: there is no such key"),
        (
            "rules:\n- reply: {}\n  when: {last: '('}",
            "rule 1: when.last: .*not a regular",
        ),
        ("rules:\n- reply: {error: odd}", "rule 1: reply.error: must be 'auth'"),
        ("rules:\n- reply: {delay: -1}", "rule 1: reply.delay: "),
        ("rules:\n- reply: {}\n  times: 0", "rule 1: times: "),
        ("rules:\n- reply: {tool_calls: [{arguments: {}}]}", r"rule 1: reply.tool_calls.0.name: "),
        ("rules:\n- 7", "rule 1: "),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    with pytest.raises(ScriptError, match=complaint) as caught:
        ScriptedModel.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"gone\.yaml: No such file"):
        ScriptedModel.load(tmp_path / "gone.yaml")


async def test_a_file_is_loaded_once_for_all_who_use_it(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("rules:\n- {times: 1, reply: {text: first}}\n- reply: {text: later}")
    files = ScriptedFiles()
    specs = [ModelSpec(tier, f"scripted:{path}") for tier in ("parent", "worker", "worker")]
    replies = await asyncio.gather(*(files.complete(Request(spec, [USER])) for spec in specs))
    assert sorted(reply.content for reply in replies) == ["first", "later", "later"]


async def test_a_file_that_cannot_be_used_is_a_bad_request(tmp_path: Path) -> None:
    spec = ModelSpec("parent", f"scripted:{tmp_path / 'gone.yaml'}")
    with pytest.raises(ModelError, match=r"gone\.yaml") as caught:
        await ScriptedFiles().complete(Request(spec, [USER]))
    assert caught.value.kind is ModelErrorKind.BAD_REQUEST
