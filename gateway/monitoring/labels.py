"""What is counted by: a few words that stand here, whatever the parts say. So the numbers have a
bounded number of names, and nothing that people or models made up is one."""

from collections.abc import Collection

from adapters.platforms import PLATFORMS, TERMINAL
from agent.delegation.settlement import FINAL
from agent.models.base import ModelErrorKind
from agent.settings import TIERS
from agent.tools.base import MCP
from gateway.configuration.tool_names import TOOLS
from storage.records.inbox_outbox import InboxKind

OTHER = "other"
"""Whatever else."""

PLATFORM = (*sorted({*PLATFORMS, TERMINAL.name}), OTHER)
TURN = tuple(InboxKind)
TURN_OUTCOME = (
    "answered",
    "waiting",
    "done",
    "model_error",
    "budget",
    "limit",
    "interrupted",
    "superseded",
    "store",
    "failed",
)
TIER = (*TIERS, "preset")
CALL_OUTCOME = ("ok", *ModelErrorKind, "cancelled", "failed")
QUESTION = ("escalation", "clarify", "approval", OTHER)
CLOSED = ("decided", "expired", "withdrawn")
RETRY = ("unavailable", "misconfigured", "refused", "unreachable", "fault")
COMMAND = ("ok", "failed", "stopped", "lost")
DELEGATION = ("started", "waiting", *sorted(FINAL))
TOOL = (*sorted(TOOLS), "mcp", OTHER)
TOOL_OUTCOME = ("done", "error", "asked", "cancelled", "failed")


def one_of(known: Collection[str], name: str, instead: str = OTHER) -> str:
    return name if name in known else instead


def tool_label(tool: str, toolset: str | None) -> str:
    """The tools of a server have names that it made up."""
    if toolset is not None and toolset.startswith(MCP):
        return "mcp"
    return one_of(TOOL[:-2], tool)
