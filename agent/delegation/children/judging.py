"""A judge at work: what it is shown of a delegation, and what it may look at itself."""

from agent.delegation.children.child import account_of
from agent.delegation.children.transcript import tool_calls_text, worker_paths
from agent.delegation.core.events import Finish, Judged, Task
from agent.delegation.core.judging.judge import judge
from agent.delegation.core.looking import Looking
from agent.delegation.core.machine import judged_output
from agent.models.base import Model, ModelSpec, ToolCall
from agent.models.metering import MeteredModel
from agent.runtime.steps.tool_runs import NOBODY
from agent.tools.base import Done, Tools, looking, run_call, schemas
from storage.records.delegations import Delegation
from storage.store import Store

JUDGING_SECONDS = 20.0
LOOKING_SECONDS = 120.0
"""For one judgement, where the judge may look at files first."""


async def run_judge(
    store: Store,
    model: Model,
    spec: ModelSpec,
    delegation: Delegation,
    task: Task,
    outcome: Finish,
    tools: Tools,
) -> Judged:
    """Hold an outcome against the criteria. Fails closed: trouble is INCONCLUSIVE. `tools` are the
    worker's; where the task says so, the judge is shown what they were called with, and has those
    of them that only read."""
    account, sees = account_of(delegation, "judge"), task.judge_sees_tools
    judgement = await judge(
        MeteredModel(model, store, account),
        spec,
        objective=task.goal,
        context=task.context,
        criteria=task.acceptance_criteria,
        output=judged_output(outcome),
        tool_calls=await _tool_calls(store, delegation) if sees else None,
        looking=_looking(delegation, looking(tools)) if sees else None,
        purpose=account.purpose,
        seconds=LOOKING_SECONDS if sees else JUDGING_SECONDS,
    )
    return Judged(judgement.verdict, judgement.reasoning)


def _looking(delegation: Delegation, tools: Tools) -> Looking | None:
    async def run(call: ToolCall) -> str:
        outcome = await run_call(
            tools,
            call,
            session=delegation.journal,
            entry=0,
            address=delegation.address,
            person=delegation.person,
        )
        return outcome.text if isinstance(outcome, Done) else NOBODY

    return Looking(schemas(tools), run) if tools else None


async def _tool_calls(store: Store, delegation: Delegation) -> str:
    paths = await store.read(lambda tx: worker_paths(tx, delegation.journal))
    return tool_calls_text(paths[-1]) if paths else ""
