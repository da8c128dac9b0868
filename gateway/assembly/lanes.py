"""The lanes of sessions: where turns run, alone or shared with other processes."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.assembly.agents import Agents
from gateway.assembly.foundation import Foundation
from gateway.processes.shares import bucket_of
from gateway.turns.cancellation import TurnAt, turn_on_record
from gateway.turns.control import SessionControl
from gateway.turns.failures import Failures
from gateway.turns.policy.busy_policy import BusyPolicy
from gateway.turns.policy.interruptions import Interruptions
from gateway.turns.scheduler import InProcessScheduler, SessionScheduler
from gateway.turns.shared_scheduler import SharedScheduler, is_held
from gateway.turns.turn import Turn
from storage.store import Transaction


@dataclass(frozen=True, slots=True)
class Lanes:
    local: InProcessScheduler
    """What runs turns in this process."""
    scheduler: SessionScheduler
    """What has them run, wherever that is."""
    policy: BusyPolicy
    failures: Failures
    control: SessionControl
    interruptions: Interruptions
    held: Callable[[Transaction, int], bool]
    """Whether somebody in another process keeps turns of a session from running."""
    running: dict[int, Turn] = field(default_factory=dict)
    """The turns that run now in this process, by session."""


def lanes_of(base: Foundation, agents: Agents) -> Lanes:
    store, running = base.store, dict[int, Turn]()
    local = InProcessScheduler()
    scheduler: SessionScheduler = local
    turn_at: TurnAt = lambda _tx, session: running.get(session)  # noqa: E731
    held: Callable[[Transaction, int], bool] = lambda _tx, _session: False  # noqa: E731
    if store.jobs is not None:
        duties = base.membership.duties
        is_near: Callable[[str], bool] = lambda to: duties.has(bucket_of(to))  # noqa: E731
        scheduler = SharedScheduler(local, store, store.jobs, base.switchboard, is_near)
        turn_at, held = turn_on_record, is_held
    session = base.live.part(lambda now: now.session)
    policy = BusyPolicy(base.access, session, base.settings.busy_at)
    return Lanes(
        local,
        scheduler,
        policy,
        Failures(store, base.outbound.composer),
        SessionControl(
            store,
            scheduler,
            base.questions,
            policy,
            running,
            turn_at,
            agents.toolkits.end_commands,
        ),
        Interruptions(store, policy, running, local.cut),
        held,
        running,
    )
