"""What a table plainly means, though it is written otherwise, in the form that `parse` takes. Pure.

Two meanings are none: `tier: human` of a report stays a fault, and so does an action nobody knows.
"""

from collections.abc import Set
from dataclasses import dataclass

from agent.delegation.tables.model import REPORTS, ActionKind, EscalationTier, fold
from agent.text.mending import Mending, under
from agent.text.untrusted import quote

_KINDS = tuple(kind.value for kind in ActionKind)
_TIERS = tuple(tier.value for tier in EscalationTier)
_IDLE = {
    **dict.fromkeys(REPORTS, ("prompt",)),
    ActionKind.ESCALATE: ("format",),
    ActionKind.EXPAND: ("format",),
}
"""What an action has no use for."""
_TEXTS = ("tier", "prompt", "format", "label")


@dataclass(frozen=True, slots=True)
class Known:
    """The keys of a table, a condition and an action."""

    table: frozenset[str]
    condition: frozenset[str]
    action: frozenset[str]


@dataclass(frozen=True, slots=True)
class TableMending:
    known: Known
    mending: Mending

    def table(self, value: object) -> object:
        if not isinstance(value, dict):
            return value
        made = self.mending.keys(value, "", self.known.table)
        if "max_escalation_depth" in made:
            depth = self.mending.number(made["max_escalation_depth"], "max_escalation_depth")
            made["max_escalation_depth"] = depth
        if "default" in made:
            made["default"] = self._action(made["default"], "default")
        if "conditions" in made:
            made["conditions"] = self._conditions(made["conditions"])
        return made

    def _conditions(self, value: object) -> object:
        if isinstance(value, dict) and {"description", "condition"} & value.keys():
            self.mending.warn("conditions", "one condition is read as a list of it")
            value = [value]
        if not isinstance(value, list):
            return value
        return [self._condition(item, under("conditions", i)) for i, item in enumerate(value)]

    def _condition(self, value: object, place: str) -> object:
        if not isinstance(value, dict):
            return value
        made = self.mending.keys(value, place, self.known.condition)
        if "checks" in made:
            made["checks"] = self.mending.listed(made["checks"], under(place, "checks"))
        for key in ("branch", "default"):
            if key in made:
                made[key] = self._action(made[key], under(place, key))
        if "branches" in made:
            made["branches"] = self._branches(made["branches"], under(place, "branches"))
        return made

    def _branches(self, value: object, place: str) -> object:
        match value:
            case {"name": str(name), "action": str()} if fold(name) not in _KINDS:
                self.mending.warn(place, "one branch is read as a list of it")
                return self._branches([value], place)
            case dict():
                return {name: self._action(act, under(place, name)) for name, act in value.items()}
            case list():
                return [self._named(item, under(place, i)) for i, item in enumerate(value)]
            case _:
                return value

    def _named(self, value: object, place: str) -> object:
        return self._action(value, place, {"name"}) if isinstance(value, dict) else value

    def _action(self, value: object, place: str, more: Set[str] = frozenset()) -> object:
        """`more`: keys that may stand in it besides."""
        if not isinstance(value, dict):
            return self.mending.word(value, place, _KINDS)
        made = self.mending.keys(value, place, self.known.action | more)
        made = {k: v for k, v in made.items() if k not in _TEXTS or v != ""}
        for key, words in (("action", _KINDS), ("tier", _TIERS)):
            if key in made:
                made[key] = self.mending.word(made[key], under(place, key), words)
        kind = made.get("action")
        idle = _IDLE[ActionKind(kind)] if kind in _KINDS else ()
        if kind == ActionKind.EXPAND and made.get("tier") == EscalationTier.OVERSEER:
            idle = (*idle, "tier")
        for key in idle:
            if made.pop(key, None) is not None:
                self.mending.warn(under(place, key), f"has no effect on {quote(kind)}; ignored")
        return made
