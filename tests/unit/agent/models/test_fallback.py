"""Other models where one fails; how they and their keys are configured."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.models.base import Model, ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.fallback import ANOTHER_MODEL, Fallback, KeyRotation
from agent.models.registry import Models
from agent.models.retry import Retrying
from agent.models.scripted import Answer, Rule, ScriptedModel
from gateway.configuration.config import Config, load
from gateway.errors import ConfigError
from gateway.models import model_specs
from storage.records.entries import message

GOOD, BAD = "sk-the-good-key", "sk-the-bad-key"
MESSAGES = [message("system", "be kind"), message("user", "hello")]


async def no_sleep(_: float) -> None:
    pass


class Named:
    """A model for each model string; keeps the requests."""

    def __init__(self, **answers: str | ModelErrorKind) -> None:
        self._models: dict[str, Model] = {
            name: ScriptedModel([Rule(reply=_answer(name, answer))])
            for name, answer in answers.items()
        }
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return await self._models[request.spec.model].complete(request)

    @property
    def asked(self) -> list[str]:
        return [request.spec.model for request in self.requests]


def _answer(name: str, answer: str | ModelErrorKind) -> Answer:
    if isinstance(answer, ModelErrorKind):
        return Answer(error=answer, text=f"{name} failed", begins=f"{name} says", retry_after=3)
    return Answer(text=answer)


def three(*fallback: str) -> Models:
    parent = ModelSpec("parent", "first", input_cost=1.0, output_cost=1.0, fallback=fallback)
    second = ModelSpec("second", "second", input_cost=2.0, output_cost=2.0)
    return Models({"parent": parent}, {"two": second, "three": ModelSpec("three", "third")})


def ask(models: Models, messages: Sequence[Any] = MESSAGES) -> Request:
    return Request(models.tier("parent"), messages)


@pytest.mark.parametrize("kind", sorted(ANOTHER_MODEL))
async def test_a_fallback_answers_at_its_own_price(kind: ModelErrorKind) -> None:
    inner, models = Named(first=kind, second="second here"), three("two", "three")
    reply = await Fallback(inner, models).complete(ask(models))
    assert (reply.content, reply.model) == ("second here", "second")
    assert inner.asked == ["first", "second"]
    assert reply.usage.cost == 2.0 * (reply.usage.input + reply.usage.output)


@pytest.mark.parametrize("kind", sorted(set(ModelErrorKind) - ANOTHER_MODEL))
async def test_a_fault_of_the_request_itself_goes_to_no_other_model(kind: ModelErrorKind) -> None:
    inner, models = Named(first=kind, second="never"), three("two")
    with pytest.raises(ModelError) as caught:
        await Fallback(inner, models).complete(ask(models))
    assert caught.value.kind is kind
    assert inner.asked == ["first"]


async def test_the_model_that_was_asked_is_not_named_where_it_answers_itself() -> None:
    inner, models = Named(first="me"), three("two")
    assert (await Fallback(inner, models).complete(ask(models))).model == ""


async def test_fallbacks_are_asked_in_order_and_the_log_names_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing = ModelErrorKind.UNAVAILABLE
    inner, models = Named(first=failing, second=failing, third="third here"), three("three", "two")
    assert (await Fallback(inner, models).complete(ask(models))).content == "third here"
    assert inner.asked == ["first", "third"]
    assert "three (third) is asked instead" in caplog.text


async def test_where_all_fail_each_is_told_and_what_may_pass_counts() -> None:
    inner = Named(
        first=ModelErrorKind.AUTH, second=ModelErrorKind.RATE_LIMIT, third=ModelErrorKind.AUTH
    )
    models = three("two", "three")
    with pytest.raises(ModelError) as caught:
        await Fallback(inner, models).complete(ask(models))
    assert str(caught.value) == "first failed; second failed; third failed"
    assert (caught.value.kind, caught.value.retry_after) == (ModelErrorKind.RATE_LIMIT, 3)


async def test_a_fallback_to_the_very_same_model_is_none() -> None:
    inner, models = Named(first=ModelErrorKind.UNAVAILABLE), three("worker", "parent")
    with pytest.raises(ModelError):
        await Fallback(inner, models).complete(ask(models))
    assert inner.asked == ["first"]


async def test_the_retries_of_a_model_are_spent_before_its_fallback_is_asked() -> None:
    inner, models = Named(first=ModelErrorKind.UNAVAILABLE, second="here"), three("two")
    patient = Retrying(inner, patience=20.0, sleep=no_sleep)
    await Fallback(patient, models).complete(ask(models))
    *first, last = inner.asked
    assert (set(first), last) == ({"first"}, "second")
    assert len(first) >= 3


async def test_a_fallback_gets_nothing_that_only_the_first_model_understands() -> None:
    thought = message("assistant", "hm", thinking_blocks=[{"signature": "x"}])
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    called = message(
        "assistant", None, tool_calls=[{**call, "provider_specific_fields": {"signature": "y"}}]
    )
    messages = [*MESSAGES, thought, called]
    inner, models = Named(first=ModelErrorKind.UNAVAILABLE, second="here"), three("two")
    await Fallback(inner, models).complete(ask(models, messages))
    own, others = inner.requests
    assert list(own.messages) == messages
    plain = [message("assistant", "hm"), message("assistant", None, tool_calls=[call])]
    assert list(others.messages) == [*MESSAGES, *plain]


# Configuration


def written(folder: Path, text: str) -> Path:
    path = folder / "bough.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["worker", "cheap", "tiny", "big"])
def test_a_fallback_may_be_a_tier_a_preset_or_a_configured_model(tmp_path: Path, name: str) -> None:
    text = (
        f"[models.parent]\nmodel = 'big'\nfallback = ['{name}']\n"
        "[models.presets.cheap]\nmodel = 'tiny'"
    )
    tiers, _ = model_specs(load(written(tmp_path, text), {}))
    assert tiers["parent"].fallback == (name,)


@pytest.mark.parametrize(
    ("place", "key"), [("parent", "parent"), ("presets.cheap", "presets.cheap")]
)
def test_an_unknown_fallback_is_a_fault_that_names_the_key(
    tmp_path: Path, place: str, key: str
) -> None:
    text = f"[models.{place}]\nmodel = 'x'\nfallback = ['nobody']"
    with pytest.raises(ConfigError, match=rf"models\.{key}\.fallback: 'nobody' is not configured"):
        load(written(tmp_path, text), {})


def test_keys_and_fallbacks_come_from_the_environment_too(tmp_path: Path) -> None:
    environ = {
        "BOUGH_MODELS__PARENT__MODEL": "x",
        "BOUGH_MODELS__PARENT__API_KEYS": f"{GOOD}, {BAD}",
        "BOUGH_MODELS__PARENT__FALLBACK": "worker",
    }
    tiers, _ = model_specs(load(written(tmp_path, ""), environ))
    assert tiers["parent"].api_keys == (GOOD, BAD)
    assert tiers["parent"].api_key == GOOD
    assert tiers["parent"].fallback == ("worker",)


def test_keys_are_never_shown(tmp_path: Path) -> None:
    text = f"[models.parent]\nmodel = 'x'\napi_keys = ['{GOOD}', '{BAD}']"
    config = load(written(tmp_path, text), {})
    tiers, _ = model_specs(config)
    for shown in (repr(config), str(config), repr(tiers), config.model_dump_json()):
        assert GOOD not in shown
        assert BAD not in shown


def test_one_key_and_several_exclude_each_other(tmp_path: Path) -> None:
    text = f"[models.parent]\nmodel = 'x'\napi_key = '{GOOD}'\napi_keys = ['{BAD}']"
    with pytest.raises(ConfigError, match=r"models\.parent: give api_key or api_keys") as caught:
        load(written(tmp_path, text), {})
    assert GOOD not in str(caught.value)


def test_one_key_alone_is_still_one_key() -> None:
    config = Config.model_validate({"models": {"parent": {"model": "x", "api_key": GOOD}}})
    tiers, _ = model_specs(config)
    assert (tiers["parent"].api_key, tiers["parent"].api_keys) == (GOOD, ())


@pytest.mark.parametrize("kind", sorted(ANOTHER_MODEL))
async def test_no_other_model_is_asked_once_something_was_heard(kind: ModelErrorKind) -> None:
    named = Named(first=kind, second="fine")
    heard: list[str] = []
    request = replace(ask(three("two")), heard=heard.append)
    with pytest.raises(ModelError) as caught:
        await Fallback(named, three("two")).complete(request)
    assert named.asked == ["first"]
    assert (caught.value.partial, caught.value.model) == ("first says", "")
    assert "".join(heard) == "first says"


async def test_whose_answer_broke_off_is_said_where_it_was_not_the_first() -> None:
    class Two(Named):
        async def complete(self, request: Request) -> Reply:
            heard = request.heard if request.spec.model == "second" else None
            return await super().complete(replace(request, heard=heard))

    named = Two(first=ModelErrorKind.UNAVAILABLE, second=ModelErrorKind.UNAVAILABLE)
    request = replace(ask(three("two", "three")), heard=lambda _: None)
    with pytest.raises(ModelError) as caught:
        await Fallback(named, three("two", "three")).complete(request)
    assert named.asked == ["first", "second"]
    assert (caught.value.partial, caught.value.model) == ("second says", "second")


@pytest.mark.parametrize("kind", [ModelErrorKind.AUTH, ModelErrorKind.RATE_LIMIT])
async def test_no_other_key_is_taken_once_something_was_heard(kind: ModelErrorKind) -> None:
    named = Named(first=kind)
    spec = ModelSpec("parent", "first", api_key=BAD, api_keys=(BAD, GOOD))
    with pytest.raises(ModelError):
        await KeyRotation(named).complete(Request(spec, MESSAGES, heard=lambda _: None))
    assert len(named.requests) == 1
