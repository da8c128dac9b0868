"""From a tier, preset or model name to its spec, and from a spec to the model behind it."""

import pytest

from agent.models.base import Model, ModelSpec, Prices, Reply, Request
from agent.models.litellm.prices import listed_models
from agent.models.registry import Models, RoutedModel
from agent.models.scripted import Answer, Rule, ScriptedModel
from storage.records.entries import message

PARENT = ModelSpec("parent", "big", api_key="k1", input_cost=3e-6)
WORKER = ModelSpec("worker", "small", api_key="k2")
OVERSEER = ModelSpec("overseer", "medium")
JUDGE = ModelSpec("judge", "strict")


def test_each_configured_tier_has_its_own_model() -> None:
    specs = {spec.name: spec for spec in (PARENT, WORKER, OVERSEER, JUDGE)}
    models = Models(specs)
    assert {name: models.tier(name) for name in specs} == specs


@pytest.mark.parametrize("tier", ["worker", "overseer", "judge"])
def test_a_missing_tier_is_the_parents_model_under_its_own_name(tier: str) -> None:
    spec = Models({"parent": PARENT}).tier(tier)
    assert (spec.name, spec.model, spec.api_key, spec.input_cost) == (tier, "big", "k1", 3e-6)


def test_a_missing_judge_is_the_lowest_tier_there_is() -> None:
    with_both = Models({"parent": PARENT, "overseer": OVERSEER, "worker": WORKER})
    assert with_both.tier("judge").model == "small"
    assert Models({"parent": PARENT, "overseer": OVERSEER}).tier("judge").model == "medium"


def test_a_worker_does_not_fall_back_to_the_overseer() -> None:
    assert Models({"parent": PARENT, "overseer": OVERSEER}).tier("worker").model == "big"


def test_a_name_is_a_tier_then_a_preset_then_a_model_string() -> None:
    cheap = ModelSpec("anything", "tiny", api_base="http://localhost/v1")
    shadowed = ModelSpec("worker", "never")
    models = Models({"parent": PARENT, "worker": WORKER}, {"cheap": cheap, "worker": shadowed})
    assert models.find("worker") == WORKER
    found = models.find("cheap")
    assert found is not None
    assert (found.name, found.model, found.api_base) == ("cheap", "tiny", "http://localhost/v1")
    assert models.find("tiny") == found
    assert models.find("small") == WORKER
    assert models.find("big") == PARENT


@pytest.mark.parametrize("name", ["", "gpt-9", "PARENT", "smal"])
def test_a_name_that_is_not_configured_is_not_found(name: str) -> None:
    assert Models({"parent": PARENT, "worker": WORKER}).find(name) is None


def test_a_name_may_be_the_last_part_of_one_model_string() -> None:
    models = Models(
        {"parent": ModelSpec("", "anthropic/claude"), "worker": ModelSpec("", "openai/gpt")},
        {"far": ModelSpec("", "openrouter/openai/gpt"), "near": ModelSpec("", "ollama/local")},
    )
    found = {name: models.find(name) for name in ("claude", "local", "openai/gpt", "gpt", "laude")}
    assert {name: spec.name for name, spec in found.items() if spec} == {
        "claude": "parent",
        "local": "near",
        "openai/gpt": "worker",
    }
    assert [spec.name for spec in models.meant("gpt")] == ["worker", "judge", "far"]


def test_listed_prices_hold_where_none_is_configured() -> None:
    models = Models(
        {"parent": ModelSpec("", "big"), "worker": ModelSpec("", "small", output_cost=1e-6)},
        {"cheap": ModelSpec("", "tiny")},
        {"big": Prices(1e-5, 1e-5), "small": Prices(1.0, 1.0), "tiny": Prices(1e-7, 1e-7)},
    )
    specs = {spec.name: spec for spec in models.specs()}
    assert models.prices(specs["parent"]) == Prices(1e-5, 1e-5)
    assert models.prices(specs["worker"]) == Prices(None, 1e-6)
    assert models.rank(specs["cheap"]) == models.rank(specs["worker"])


@pytest.mark.parametrize(
    ("ours", "theirs", "dearer"),
    [
        (Prices(1, 1), Prices(1, 1), False),
        (Prices(2, 1), Prices(1, 1), True),
        (Prices(1, 2), Prices(1, 1), True),
        (Prices(1, 1), Prices(2, 1), False),
        (Prices(9, None), Prices(None, 1), False),
        (Prices(9, 9), Prices(), False),
        (Prices(), Prices(1, 1), False),
    ],
)
def test_only_what_is_known_of_both_is_compared(ours: Prices, theirs: Prices, dearer: bool) -> None:
    assert ours.dearer_than(theirs) is dearer


def test_litellms_list_has_prices_and_windows_by_the_name_with_and_without_provider() -> None:
    names = ["anthropic/claude-sonnet-4-6", "claude-sonnet-4-6", "gemini/gemini-2.5-flash"]
    strangers = ["openai/claude-sonnet-4-6", "small", "ollama_chat/qwen3", "x/"]
    listed = listed_models([*names, *strangers])
    assert set(listed) == set(names)
    assert listed[names[0]] == listed[names[1]]
    assert listed[names[0]].prices == Prices(3e-6, 15e-6)
    assert (listed[names[2]].window or 0) > 1_000_000


def test_names_lists_tiers_and_presets_once() -> None:
    models = Models({"parent": PARENT}, {"cheap": WORKER, "judge": JUDGE})
    assert models.names() == ("parent", "worker", "overseer", "judge", "cheap")


def test_a_parent_is_needed() -> None:
    with pytest.raises(ValueError, match="parent"):
        Models({"worker": WORKER})


def test_an_unknown_tier_is_refused() -> None:
    with pytest.raises(ValueError, match="'boss' is not a tier"):
        Models({"parent": PARENT, "boss": WORKER})


def answering(text: str) -> Model:
    return ScriptedModel([Rule(reply=Answer(text=text))])


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("demo", "the demo"),
        ("scripted:rules.yaml", "a script"),
        ("scripted:a:b", "a script"),
        ("scripted", "a script"),
        ("demo:latest", "the demo"),
        ("llama3:8b", "the default"),
        ("demonstration", "the default"),
        ("openai/demo", "the default"),
        ("", "the default"),
    ],
)
async def test_a_request_goes_to_the_model_its_spec_names(name: str, answer: str) -> None:
    routed = RoutedModel(
        answering("the default"), {"demo": answering("the demo"), "scripted": answering("a script")}
    )
    reply: Reply = await routed.complete(
        Request(ModelSpec("parent", name), [message("user", "who is there?")])
    )
    assert reply.content == answer
