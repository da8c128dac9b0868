"""Who may talk, who may decide, who owns the bot. Default: nobody. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.config import AccessConfig, EscalationConfig
from storage.records.questions import Question

LOCAL = "terminal:local"
"""Whoever sits at the terminal that runs the bot. They own it anyway."""


@dataclass(frozen=True, slots=True)
class Access:
    config: AccessConfig
    escalation: EscalationConfig

    def is_owner(self, identity: str) -> bool:
        return identity == LOCAL or _listed(identity, self.config.owners)

    def may_talk(self, identity: str) -> bool:
        return self.is_owner(identity) or _listed(identity, self.config.allow)

    def may_command(self, identity: str) -> bool:
        """Those who may decide, but not talk, may still ask what is open."""
        levels = (approver for level in self.escalation.levels for approver in level.approvers)
        return self.may_talk(identity) or _listed(identity, (*self._approvers, *levels))

    def may_decide(self, identity: str, question: Question) -> bool:
        """By today's configuration, at the moment of the press. A level that was reached adds its
        approvers; it takes nobody's right away."""
        reached = self.escalation.levels[: question.level]
        added = (approver for level in reached for approver in level.approvers)
        return identity == LOCAL or _listed(identity, (*self._approvers, *added))

    def has_approvers(self) -> bool:
        return bool(self._approvers or any(level.approvers for level in self.escalation.levels))

    @property
    def _approvers(self) -> tuple[str, ...]:
        return self.config.approvers or self.config.owners


def _listed(identity: str, identities: Iterable[str]) -> bool:
    platform = identity.partition(":")[0]
    return any(entry in (identity, f"{platform}:*") for entry in identities)
