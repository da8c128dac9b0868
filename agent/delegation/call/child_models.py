"""Which models a child may be given: none above its parent's tier, none dearer than its parent."""

from dataclasses import dataclass

from agent.delegation.call.caller import Caller, Limits
from agent.errors import ToolError
from agent.models.base import UNKNOWN_PRICES, ModelSpec, Prices
from agent.models.registry import RANKS, Models, place
from agent.text.suggestion import did_you_mean
from agent.text.untrusted import quote

DEFAULT_WORKER = "worker"
"""The tier of a child where its parent names no model."""
_ORDER = ("worker", "overseer", "parent", "judge")


@dataclass(frozen=True, slots=True)
class ChildModels:
    models: Models
    limits: Limits
    caller: Caller

    def choices(self) -> tuple[ModelSpec, ...]:
        """What may be asked for: the default first, each model once."""
        tiers = [self.models.tier(name) for name in _ORDER]
        presets = [spec for spec in self.models.specs() if spec.name not in _ORDER]
        found: dict[tuple[object, ...], ModelSpec] = {}
        for spec in (*tiers, *presets):
            if self._ranks(spec) and not self._is_dearer(spec):
                found.setdefault((place(spec), spec.reasoning_effort), spec)
        return tuple(found.values())

    def has_default(self) -> bool:
        """Whether the tier that is used where none is named may be."""
        return not self._is_dearer(self.models.tier(DEFAULT_WORKER))

    def worker(self, name: str | None) -> str:
        """The configured name of a task's model. ToolError where it may not be asked for: a child
        never climbs, only the runtime does."""
        meant = self._meant(DEFAULT_WORKER if name is None else name)
        asked = f"model: {quote(name, 200)}" if name is not None else "model: the default, worker,"
        below = [spec for spec in meant if self._ranks(spec)]
        if not below:
            raise ToolError(f"{asked} is above your own tier; ask for yours or lower")
        for spec in below:
            if not self._is_dearer(spec):
                return spec.name
        paid, own = dollars_of(self.models.prices(below[0])), dollars_of(self.caller.prices)
        known = [s.name for s in self.choices() if self.models.prices(s) != UNKNOWN_PRICES]
        names = ", ".join(known) or "none"
        raise ToolError(
            f"{asked} is dearer than your own model ({paid} against {own} dollars for a million "
            f"tokens in/out), and delegation.allow_dearer is false. Not dearer: {names}"
        )

    def _meant(self, name: str) -> tuple[ModelSpec, ...]:
        """Several entries may have one model string."""
        meant = self.models.meant(name)
        strings = sorted({spec.model for spec in meant})
        if not strings:
            known = ", ".join(self.models.names())
            likely = did_you_mean(name, self.models.names())
            text = f"model: {quote(name, 200)} is not configured; known are {known}"
            raise ToolError(f"{text}.{likely}" if likely else text)
        if len(strings) > 1:
            several = ", ".join(strings)
            raise ToolError(f"model: {quote(name, 200)} may be {several}; give the whole name")
        return meant

    def overseer(self, asked: str | None, warnings: list[str]) -> str:
        """The model that a table (`asked`) or the configuration names. A table may climb no higher
        than its author stands, or than the runtime climbs by itself."""
        name = asked or self.limits.escalation_model
        if name is None:
            return "overseer"
        spec = self.models.find(name)
        highest = max(self.caller.rank, RANKS["overseer"])
        if spec is None:
            wrong = "is not configured" if not self.models.meant(name) else "may be several models"
        elif asked and self.models.rank(spec) > highest:
            wrong = "is above your own tier"
        else:
            return spec.name
        used = "the overseer tier is used"
        warnings.append(f"escalation_model {quote(name, 200)} {wrong}; {used}")
        return "overseer"

    def _ranks(self, spec: ModelSpec) -> bool:
        return self.models.rank(spec) <= self.caller.rank

    def _is_dearer(self, spec: ModelSpec) -> bool:
        if self.limits.allow_dearer:
            return False
        return self.models.prices(spec).dearer_than(self.caller.prices)


def dollars_of(prices: Prices) -> str:
    """Input and output price of a million tokens."""
    each = (prices.input, prices.output)
    return "/".join("?" if paid is None else f"{paid * 1e6:.4g}" for paid in each)
