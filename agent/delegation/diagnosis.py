"""The diagnosis of a child that timed out without a model call: what an operator needs to see.

Such a child is mostly a provider that cannot be reached, a key that is refused, or a tool schema
that is rejected. The file holds no secrets: of a key only whether there is one.
"""

import asyncio
import json
import logging
import time
from pathlib import Path

from agent.delegation.activity import Activity
from agent.delegation.core.machine import State
from agent.models.base import ModelSpec
from storage.records.delegations import Delegation

log = logging.getLogger(__name__)

MOST_FAILURES = 20


async def write_diagnosis(
    folder: str, delegation: Delegation, state: State, spec: ModelSpec, activity: Activity
) -> None:
    """Write subagent-timeout-SESSION-TIME.log into `folder`, readable for its owner only."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    path = Path(folder, f"subagent-timeout-{delegation.journal}-{stamp}.log")
    facts = {
        "delegation": delegation.id,
        "session": delegation.session,
        "goal": delegation.goal,
        "attempt": state.attempt,
        "step": type(state.step).__name__,
        "doing": activity.tool or "nothing was started",
        "model": spec.model,
        "configured_as": spec.name,
        "api_base": spec.api_base or "the provider's own",
        "key": "configured" if spec.api_key else "not configured; the environment's, if any",
        "toolsets": list(state.task.toolsets),
        "branch_table": state.table is not None,
        "failures": activity.failures[-MOST_FAILURES:],
        "hint": "check that the model can be reached and the key is right: bough doctor",
    }
    try:
        await asyncio.to_thread(_write, path, json.dumps(facts, ensure_ascii=False, indent=1))
    except OSError as error:
        log.error("the diagnosis %s cannot be written: %s", path, error)
    else:
        log.error("delegation %s timed out without a model call; see %s", delegation.id, path)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    path.write_text(text + "\n", encoding="utf-8")
