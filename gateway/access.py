"""Who may talk, who may decide, who owns the bot. Default: nobody. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.config import AccessConfig, EscalationConfig
from storage.questions import Question

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

    def may_decide(self, identity: str, question: Question) -> bool:
        """By today's configuration, at the moment of the press: whoever a level that was reached
        names, or everybody's approvers where it names nobody, as before the first level."""
        if identity == LOCAL:
            return True
        levels = self.escalation.levels
        lists = [level.approvers or self._approvers for level in levels[: question.level]]
        if not levels or levels[0].after > 0:
            lists.append(self._approvers)
        return any(_listed(identity, people) for people in lists)

    def has_approvers(self) -> bool:
        return bool(self._approvers or any(level.approvers for level in self.escalation.levels))

    @property
    def _approvers(self) -> tuple[str, ...]:
        return self.config.approvers or self.config.owners


def _listed(identity: str, identities: Iterable[str]) -> bool:
    platform = identity.partition(":")[0]
    return any(entry in (identity, f"{platform}:*") for entry in identities)
