"""Which model does what: tiers and presets by name, and which code answers for a model's name."""

from collections.abc import Mapping
from dataclasses import replace

from agent.models.base import UNKNOWN_PRICES, Model, ModelSpec, Prices, Reply, Request

FALLBACK: Mapping[str, tuple[str, ...]] = {
    "parent": (),
    "worker": ("parent",),
    "overseer": ("parent",),
    "judge": ("worker", "overseer", "parent"),
}
"""Tier → what stands in where it is not configured, first one first."""


RANKS: Mapping[str, int] = {"judge": 0, "worker": 0, "overseer": 1, "parent": 2}


class Models:
    """The configured models.

    A tier that is not configured is another one's model under the tier's own name, so that usage,
    logs and scripted rules still tell the tiers apart.
    """

    def __init__(
        self,
        tiers: Mapping[str, ModelSpec],
        presets: Mapping[str, ModelSpec] | None = None,
        listed: Mapping[str, Prices] | None = None,
    ) -> None:
        """`listed`: prices of models that have none in the configuration, by their model strings.
        ValueError without a parent or with an unknown tier."""
        if "parent" not in tiers:
            raise ValueError("no model for the tier parent")
        if unknown := sorted(set(tiers) - set(FALLBACK)):
            raise ValueError(f"{unknown[0]!r} is not a tier; tiers are {', '.join(FALLBACK)}")
        self._presets = {name: replace(spec, name=name) for name, spec in (presets or {}).items()}
        self._tiers = {name: _resolve(name, tiers) for name in FALLBACK}
        self._listed = dict(listed or {})

    def tier(self, name: str) -> ModelSpec:
        """KeyError where it is not a tier."""
        return self._tiers[name]

    def find(self, name: str) -> ModelSpec | None:
        """What a person or a model means by `name`: a tier, else a preset, else the model string
        of a configured entry (tiers from the top down, then presets as configured), else the last
        part of such a string, where only one ends like that."""
        meant = self.meant(name)
        return meant[0] if len({spec.model for spec in meant}) == 1 else None

    def of_task(self, name: str) -> ModelSpec:
        """The model that a task was given; the worker's where the configuration lost it since."""
        return self.find(name) or self.tier("worker")

    def meant(self, name: str) -> tuple[ModelSpec, ...]:
        """All entries that `name` may mean. They have one model string, or it is ambiguous."""
        if found := self._tiers.get(name) or self._presets.get(name):
            return (found,)
        whole = tuple(spec for spec in self.specs() if spec.model == name)
        return whole or tuple(spec for spec in self.specs() if spec.model.endswith(f"/{name}"))

    def prices(self, spec: ModelSpec) -> Prices:
        """As configured; where neither price is, as listed."""
        if spec.input_cost is None and spec.output_cost is None:
            return self._listed.get(spec.model, UNKNOWN_PRICES)
        return Prices(spec.input_cost, spec.output_cost)

    def rank(self, spec: ModelSpec) -> int:
        """How high a model stands: worker 0, overseer 1, parent 2. A preset ranks with the lowest
        tier that costs at least as much for a token of output; with the parent where a price is
        not known."""
        if spec.name in RANKS:
            return RANKS[spec.name]
        paid = self.prices(spec).output
        if paid is None:
            return RANKS["parent"]
        for tier in ("worker", "overseer"):
            cost = self.prices(self._tiers[tier]).output
            if cost is not None and paid <= cost:
                return RANKS[tier]
        return RANKS["parent"]

    def specs(self) -> tuple[ModelSpec, ...]:
        """Everything that may be called: the tiers and the presets."""
        return (*self._tiers.values(), *self._presets.values())

    def fallbacks(self, spec: ModelSpec) -> tuple[ModelSpec, ...]:
        """The models that answer where `spec`'s fails, in order; those that are the same model
        are left out. KeyError for a name that is not configured."""
        chain = {place(spec): spec}
        for name in spec.fallback:
            found = self.find(name)
            if found is None:
                raise KeyError(name)
            chain.setdefault(place(found), found)
        return tuple(chain.values())[1:]

    def names(self) -> tuple[str, ...]:
        """The tiers and presets, for messages that say what could have been named."""
        return tuple({**self._tiers, **self._presets})


def place(spec: ModelSpec) -> tuple[object, ...]:
    """What makes two entries the same model: calling the one is calling the other."""
    return spec.model, spec.api_base, spec.api_key, spec.api_keys


def _resolve(tier: str, tiers: Mapping[str, ModelSpec]) -> ModelSpec:
    source = next(name for name in (tier, *FALLBACK[tier]) if name in tiers)
    return replace(tiers[source], name=tier)


class RoutedModel:
    """A model that hands each request to the one its spec names.

    `named` maps a whole model name ("demo") or what stands before its first colon ("scripted") to
    the model for it; every other name goes to `default`.
    """

    def __init__(self, default: Model, named: Mapping[str, Model]) -> None:
        self._default = default
        self._named = dict(named)

    async def complete(self, request: Request) -> Reply:
        return await self._route(request.spec.model).complete(request)

    def _route(self, name: str) -> Model:
        prefix, colon, _ = name.partition(":")
        if name in self._named:
            return self._named[name]
        return self._named.get(prefix, self._default) if colon else self._default
