"""What happens in a delegation, and what is done next: the vocabulary of its state machine.

Events are stored in the delegation's journal as they happen; steps are what the machine asks for.
"""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from agent.overseer import HumanRequest, Resolution
from agent.table import BranchTable
from storage.entries import Json
from storage.questions import Choice


@dataclass(frozen=True, slots=True)
class Task:
    """What was delegated, settled once and for all when the call was taken."""

    goal: str
    context: str
    worker: str
    """Name of the model's configuration: a tier or preset."""
    overseer: str
    max_iterations: int
    max_depth: int
    """Overseer cycles before a person is asked; 0: straight to the person."""
    table: BranchTable | None = None
    warnings: tuple[str, ...] = ()


# Events: what happened, as stored.


@dataclass(frozen=True, slots=True)
class Started:
    task: Task
    kind: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class Reported:
    """The worker called report_outcome."""

    arguments: dict[str, Any]
    tail: str
    """End of the worker's raw tool output."""
    fault: str = ""
    """Why the arguments could not be read; then they are empty."""
    kind: Literal["reported"] = "reported"


@dataclass(frozen=True, slots=True)
class Narrated:
    """The worker ended in text."""

    text: str
    kind: Literal["narrated"] = "narrated"


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The worker or overseer reached its iteration limit."""

    limit: int
    kind: Literal["exhausted"] = "exhausted"


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """The model of whoever was at work could not be called."""

    error: str
    kind: Literal["model_failed"] = "model_failed"


@dataclass(frozen=True, slots=True)
class Extended:
    """The overseer wrote further conditions, already checked against the table."""

    conditions: Any
    reason: str
    kind: Literal["extended"] = "extended"


@dataclass(frozen=True, slots=True)
class Resolved:
    resolution: Resolution
    kind: Literal["resolved"] = "resolved"


@dataclass(frozen=True, slots=True)
class HumanRequested:
    request: HumanRequest
    kind: Literal["human_requested"] = "human_requested"


@dataclass(frozen=True, slots=True)
class GaveUp:
    """The overseer ended without a decision."""

    text: str
    kind: Literal["gave_up"] = "gave_up"


@dataclass(frozen=True, slots=True)
class Asked:
    question: int
    kind: Literal["asked"] = "asked"


@dataclass(frozen=True, slots=True)
class Answered:
    """A person chose."""

    choice: str
    name: str
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, slots=True)
class Expired:
    """Nobody decided in time; the outcome is the configured one."""

    outcome: Literal["rejected", "failed"]
    kind: Literal["expired"] = "expired"


@dataclass(frozen=True, slots=True)
class Interrupted:
    kind: Literal["interrupted"] = "interrupted"


Event = (
    Started
    | Reported
    | Narrated
    | Exhausted
    | ModelFailed
    | Extended
    | Resolved
    | HumanRequested
    | GaveUp
    | Asked
    | Answered
    | Expired
    | Interrupted
)

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


def event_to_json(event: Event) -> Json:
    stored: Json = _EVENT.dump_python(event, mode="json")
    return stored


def event_from_json(stored: Json) -> Event:
    return _EVENT.validate_python(stored)


# Steps: what is to be done next.


@dataclass(frozen=True, slots=True)
class RunWorker:
    attempt: int
    """From 1; each attempt is a fresh agent."""
    correction: str = ""
    """Not empty: the attempt goes on after this correction."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What an escalation is about: expected against observed, nothing else."""

    reason: str
    observed: str
    evidence: str
    condition: str = ""
    branch: str = ""
    prompt: str = ""
    """The table's own words for this branch, filled in."""
    raw_tail: str = ""
    expand: bool = False
    """The table asks the overseer for sub-branches here."""


@dataclass(frozen=True, slots=True)
class RunOverseer:
    cycle: int
    delta: Delta


@dataclass(frozen=True, slots=True)
class AskHuman:
    text: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class AwaitHuman:
    question: int


@dataclass(frozen=True, slots=True)
class Finish:
    status: Literal["completed", "failed", "interrupted", "timeout", "rejected"]
    summary: str
    exit_reason: str
    resolved_by: Literal["worker", "overseer", "human"] | None = None
    condition: str | None = None
    branch: str | None = None
    evidence: str | None = None
    confidence: float | None = None
    envelope: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()


Step = RunWorker | RunOverseer | AskHuman | AwaitHuman | Finish
