"""What a turn is done with: answers, jobs of commands, what people see meanwhile."""

from agent.delegation.pending_calls import Results
from gateway.access.quota import Quota
from gateway.assembly.agents import Agents
from gateway.assembly.foundation import Foundation
from gateway.assembly.lanes import Lanes
from gateway.commands.jobs import JobContext
from gateway.commands.registry import jobs
from gateway.commands.tree.siblings import answer_items
from gateway.media.incoming import Incoming
from gateway.outbound.out_files import OutFiles
from gateway.running.observed_turns import observed
from gateway.status.agents_panel import Live
from gateway.status.signs_of_life import SignsOfLife
from gateway.streaming.live_answer import Streaming
from gateway.toolkits import transcriber_of
from gateway.turns.answer import AgentAnswer
from gateway.turns.policy.due_turns import DueTurns
from gateway.turns.policy.unasked import UnaskedTurns
from gateway.turns.posts import TurnPosts
from gateway.turns.runner import TurnRunner
from storage.blobs.choosing import blobs_of


def runner_of(base: Foundation, agents: Agents, lanes: Lanes, panel: Live) -> TurnRunner:
    store, composer = base.store, base.outbound.composer
    results = Results(store, agents.children)
    work = JobContext(
        store,
        agents.model_access.patient,
        agents.parent,
        agents.compacting,
        composer,
        base.config.tools,
    )
    answer = _answer(base, agents, lanes, results).run
    toolkits = agents.toolkits
    runner = TurnRunner(
        _due(base, agents, lanes),
        lanes.failures,
        results,
        SignsOfLife(
            store,
            base.outbound.notices,
            composer,
            panel,
            toolkits.terminal.seen_anywhere,
            toolkits.servers.progress,
        ),
        *observed(answer, jobs(work), base.monitor.observer),
        lanes.running,
    )
    lanes.local.start(runner.advance, lanes.scheduler.wake)
    return runner


def _due(base: Foundation, agents: Agents, lanes: Lanes) -> DueTurns:
    return DueTurns(
        base.store,
        lanes.policy,
        base.outbound.composer,
        base.outbound.notices,
        agents.toolkits.opening,
        _incoming(base, agents),
        UnaskedTurns(base.live.part(lambda now: Quota(now.limits)), base.outbound.composer),
        lanes.held,
        base.settings.received,
    )


def _answer(base: Foundation, agents: Agents, lanes: Lanes, results: Results) -> AgentAnswer:
    composer, settings = base.outbound.composer, base.settings
    return AgentAnswer(
        agents.model_access.patient,
        agents.ready_parent,
        results,
        base.questions,
        agents.compacting,
        lanes.policy,
        TurnPosts(composer, OutFiles(composer), answer_items, settings.thoughts_at),
        Streaming(base.store, base.outbound.notices, composer, settings.stream_at),
        settings.received,
    )


def _incoming(base: Foundation, agents: Agents) -> Incoming:
    return Incoming(
        base.store,
        blobs_of(base.config.storage.url, base.store),
        base.outbound.connections,
        base.outbound.composer,
        base.settings.toolsets_at,
        agents.toolkits.workspace,
        transcriber_of(base.config),
    )
