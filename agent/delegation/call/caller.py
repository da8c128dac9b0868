"""Who delegates, and within which limits."""

from dataclasses import dataclass

from agent.models.base import UNKNOWN_PRICES, Prices
from agent.tools.base import is_parent_only, with_parts


@dataclass(frozen=True, slots=True)
class Limits:
    """The [delegation] section, as far as a call is checked against it."""

    max_concurrent_children: int = 3
    max_per_turn: int = 32
    """Delegations of one turn, over all its calls."""
    max_iterations: int = 50
    max_escalation_depth: int = 2
    max_spawn_depth: int = 1
    orchestrator_enabled: bool = True
    escalation_model: str | None = None
    require_default: bool = False
    allow_dearer: bool = False
    """A child's model may cost more than its parent's."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who delegates: how high its model ranks, how deep it stands, what it may use itself."""

    rank: int
    depth: int
    toolsets: frozenset[str]
    home: int | None = None
    """The chat's session, where a child delegates; else the session that calls."""
    prices: Prices = UNKNOWN_PRICES
    """Of its own model."""

    @property
    def given(self) -> tuple[str, ...]:
        """The toolsets that its children get where it names none, sorted: its own but for those
        that no child gets."""
        return tuple(sorted(name for name in self.toolsets if not is_parent_only(name)))

    @property
    def may_give(self) -> tuple[str, ...]:
        """The toolsets that it may name for children, sorted: parts of its own among them."""
        return tuple(sorted(map(str, with_parts(self.given))))

    def may_orchestrate(self, limits: Limits) -> bool:
        """Whether its children may delegate in turn."""
        return limits.orchestrator_enabled and self.depth + 1 < limits.max_spawn_depth
