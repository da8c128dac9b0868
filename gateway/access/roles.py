"""Who may talk, who may decide, who owns the bot: by the file, and by what was given in chats
beside it. Default: nobody."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from agent.tools.approval.answer import KIND as APPROVAL
from agent.tools.clarify import KIND as CLARIFY
from gateway.access.rights import GivenRights
from gateway.configuration.config import AccessConfig, Config, EscalationConfig
from gateway.configuration.current import Current
from storage.records.chats.people import Role
from storage.records.questions import Question

LOCAL = "terminal:local"
"""Whoever sits at the terminal that runs the bot. They own it anyway."""

FOR_WHO_ASKED = frozenset({CLARIFY})
"""Kinds of questions to the person who began the turn, where one did: they or an owner answer. All
others are for approvers."""


@dataclass(frozen=True, slots=True)
class Access:
    live: Current[Config]
    given: GivenRights = field(default_factory=GivenRights)

    @property
    def config(self) -> AccessConfig:
        return self.live.now.access

    @property
    def escalation(self) -> EscalationConfig:
        return self.live.now.escalation

    @property
    def call_approvers(self) -> tuple[str, ...]:
        """Who alone may let calls of tools run; none: whoever may decide."""
        return self.live.now.tools.approvers

    def is_owner(self, identity: str) -> bool:
        listed = identity == LOCAL or _listed(identity, self.config.owners)
        return listed or self.given.role(identity) is Role.OWNER

    def owners(self) -> tuple[str, ...]:
        """Identities, "telegram:*" among them where the file has it."""
        return tuple(dict.fromkeys((*self.config.owners, *self.given.holding(Role.OWNER))))

    def may_talk(self, identity: str) -> bool:
        return (
            self.is_owner(identity)
            or _listed(identity, self.config.allow)
            or self.given.role(identity) is not None
        )

    def someone_talks(self) -> bool:
        """Whether there is anybody who may talk, besides who sits at the terminal."""
        return bool(self.config.allow or self.config.owners or self.given.holding(*Role))

    def role(self, identity: str) -> Role | None:
        """The most that somebody is by the file; None where it does not let them talk."""
        if identity == LOCAL or _listed(identity, self.config.owners):
            return Role.OWNER
        if not _listed(identity, self.config.allow):
            return None
        return Role.APPROVER if _listed(identity, self.config.approvers) else Role.MEMBER

    def may_command(self, identity: str) -> bool:
        """Those who may decide, but not talk, may still ask what is open."""
        levels = (approver for level in self.escalation.levels for approver in level.approvers)
        deciders = (*self._approvers, *levels, *self.call_approvers)
        return self.may_talk(identity) or _listed(identity, deciders)

    def _decides(self, identity: str) -> bool:
        """By no level. An approver of a chat adds to the file's, and takes nobody's right away."""
        if identity == LOCAL or _listed(identity, self._approvers):
            return True
        role = self.given.role(identity)
        return role is Role.APPROVER or (role is Role.OWNER and not self.config.approvers)

    def may_decide(self, identity: str, question: Question) -> bool:
        """By today's configuration, at the moment of the press. A level that was reached adds its
        approvers; it takes nobody's right away. Where calls have approvers of their own, nobody
        else approves one, at no level. Where nobody knows who began the turn, whoever may talk
        answers what is for them: the place of a press or a reply is checked elsewhere."""
        if question.kind == APPROVAL and self.call_approvers:
            return self.may_approve(identity)
        if question.kind in FOR_WHO_ASKED:
            known = bool(_began(question))
            return self.concerns(identity, question) or (not known and self.may_talk(identity))
        reached = self.escalation.levels[: question.level]
        added = (approver for level in reached for approver in level.approvers)
        return self._decides(identity) or _listed(identity, added)

    def deciders(self, question: Question) -> tuple[str, ...]:
        """Identities of those who may decide a question now, but for who is meant by a platform's
        "*"."""
        if question.kind in FOR_WHO_ASKED:
            found: Iterable[str] = filter(None, [_began(question)])
        elif question.kind == APPROVAL and self.call_approvers:
            found = self.call_approvers
        else:
            roles = (Role.APPROVER,) if self.config.approvers else (Role.APPROVER, Role.OWNER)
            reached = self.escalation.levels[: question.level]
            added = (approver for level in reached for approver in level.approvers)
            found = (*self._approvers, *self.given.holding(*roles), *added)
        return tuple(dict.fromkeys(one for one in found if not one.endswith(":*")))

    def may_approve(self, identity: str) -> bool:
        """Whether somebody may let calls run, before any level is reached; and take that back."""
        if self.call_approvers:
            return identity == LOCAL or _listed(identity, self.call_approvers)
        return self._decides(identity)

    def lets_run(self, identity: str) -> bool:
        """Whether what somebody allowed to run still may: they decide calls now, at some level."""
        if self.call_approvers:
            return self.may_approve(identity)
        levels = (approver for level in self.escalation.levels for approver in level.approvers)
        return self._decides(identity) or _listed(identity, levels)

    def may_choose_dear(self, identity: str) -> bool:
        """Whether somebody may have a conversation answered by a model that costs more than its
        own."""
        trusted = self.is_owner(identity) or self.may_approve(identity)
        return trusted or _listed(identity, self.config.dear_models)

    def may_set(self, identity: str, *, private: bool) -> bool:
        """Whether somebody may choose what holds in a conversation: in private, whoever talks
        there; in a group, owners and approvers."""
        trusted = self.is_owner(identity) or self.may_approve(identity)
        return trusted or (private and self.may_command(identity))

    def someone_approves(self) -> bool:
        """Whether there is anybody who may let calls run, at some level."""
        return bool(self.call_approvers) or self.has_approvers()

    def concerns(self, identity: str, question: Question) -> bool:
        """Whether a question is for them, wherever it was posted."""
        if question.kind not in FOR_WHO_ASKED:
            return self.may_decide(identity, question)
        asked = identity == _began(question) and self.may_talk(identity)
        return asked or self.is_owner(identity)

    def has_approvers(self) -> bool:
        given = self.given.holding(Role.APPROVER, Role.OWNER)
        levels = any(level.approvers for level in self.escalation.levels)
        return bool(self._approvers or given or levels)

    @property
    def _approvers(self) -> tuple[str, ...]:
        return self.config.approvers or self.config.owners


def _began(question: Question) -> str:
    """Identity of the person whose turn asks; "" where nobody began it."""
    return str(question.subject.get("person") or "")


def _listed(identity: str, identities: Iterable[str]) -> bool:
    platform = identity.partition(":")[0]
    return any(entry in (identity, f"{platform}:*") for entry in identities)
