"""The models that are configured, each with the code that calls it."""

import asyncio
from dataclasses import replace

from agent.models.base import Model, ModelSpec
from agent.models.demo import DEMO, demo_model, demo_specs
from agent.models.fallback import Fallback
from agent.models.litellm.model import LitellmModel
from agent.models.litellm.prices import Listed, listed_models
from agent.models.media.pictures import Content, Seeing
from agent.models.registry import Models, RoutedModel
from agent.models.scripted import ScriptedFiles
from agent.models.spending.budgets import Budgeted, Budgets
from agent.models.traced import Traced
from agent.settings import TIERS, ModelConfig
from gateway.configuration.config import Config
from gateway.monitoring.models import ObservedCalls
from gateway.monitoring.observer import Observer


async def known_models(config: Config) -> Models:
    """The configured models, with the prices and windows of litellm's list where the configuration
    has none."""
    tiers, presets = model_specs(config)
    foreign = [spec for spec in (*tiers.values(), *presets.values()) if not _is_own(spec)]
    listed = await asyncio.to_thread(listed_models, [spec.model for spec in foreign])

    def windowed(specs: dict[str, ModelSpec]) -> dict[str, ModelSpec]:
        return {name: _windowed(spec, listed.get(spec.model)) for name, spec in specs.items()}

    prices = {model: each.prices for model, each in listed.items()}
    return Models(windowed(tiers), windowed(presets), prices)


def _windowed(spec: ModelSpec, listed: Listed | None) -> ModelSpec:
    if spec.context_window is not None or listed is None:
        return spec
    return replace(spec, context_window=listed.window)


def model_specs(config: Config) -> tuple[dict[str, ModelSpec], dict[str, ModelSpec]]:
    """Tiers and presets as configured; the demo model where there is no parent."""
    tiers = {
        name: _spec(name, given)
        for name in TIERS
        if (given := getattr(config.models, name)) is not None
    }
    presets = {name: _spec(name, given) for name, given in config.models.presets.items()}
    return {**demo_specs(), **tiers} if "parent" not in tiers else tiers, presets


def _spec(name: str, given: ModelConfig) -> ModelSpec:
    keys = tuple(key.get_secret_value() for key in given.api_keys)
    key = given.api_key.get_secret_value() if given.api_key is not None else None
    more = given.model_dump(exclude={"api_key", "api_keys"})
    return ModelSpec(name=name, api_key=keys[0] if keys else key, api_keys=keys, **more)


def guarded(
    model: Model, models: Models, budgets: Budgets, content: Content, observer: Observer
) -> Model:
    """Each model with the pictures that it sees, within the budgets, by its own price, and counted;
    then the fallbacks."""
    each = ObservedCalls(Traced(Budgeted(Seeing(model, content), budgets)), observer)
    return Fallback(each, models)


def routed_model(default: Model) -> RoutedModel:
    """Bough's own models by their names, every other by `default`."""
    return RoutedModel(default, {DEMO: demo_model(), "scripted": ScriptedFiles()})


def plain_model() -> Model:
    """Every model that can be configured, without patience for faults."""
    return routed_model(LitellmModel())


def needs_litellm(models: Models) -> bool:
    return not all(_is_own(spec) for spec in models.specs())


def _is_own(spec: ModelSpec) -> bool:
    return spec.model.partition(":")[0] in (DEMO, "scripted")
