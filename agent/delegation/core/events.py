"""What happens in a delegation, and what is done next: the vocabulary of its state machine.

Events are stored in the delegation's journal as they happen; steps are what the machine asks for.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from agent.delegation.core.judging.overseer import HumanRequest, Resolution
from agent.delegation.core.judging.verdict import Verdict
from agent.delegation.handoff.model import Hydrated
from agent.delegation.tables.model import BranchTable
from storage.records.entries import Draft, Entry, Json
from storage.records.questions import Choice
from storage.records.record_entries import DelegationEvent, held_in, record_draft


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
    reasoning_effort: str | None = None
    toolsets: tuple[str, ...] = ()
    role: Literal["leaf", "orchestrator"] = "leaf"
    depth: int = 1
    """Of the child: 1 for a child of the parent agent, 2 for a child of that."""
    acceptance_criteria: str = ""
    retry_on_fail: int = 0
    """How often the child is sent back with the judge's feedback."""
    judge_sees_tools: bool = False
    handed: Hydrated | None = None
    """What the parent hands over: read, and cut to the child's budget, when the call was taken."""
    background: bool = False
    home: int = 0
    """The chat's session, whose workspace the child works in."""


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
    tail: str = ""
    """End of the worker's raw tool output."""
    stop: str = ""
    """Why the text ends before its end, as in `agent.models.base.Reply`."""
    kind: Literal["narrated"] = "narrated"


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The worker or overseer reached its iteration limit."""

    limit: int
    tail: str = ""
    """End of the worker's raw tool output."""
    kind: Literal["exhausted"] = "exhausted"


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """The model of whoever was at work could not be called."""

    error: str
    kind: Literal["model_failed"] = "model_failed"


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The child was at work for longer than the configured cap."""

    seconds: float
    kind: Literal["timed_out"] = "timed_out"


@dataclass(frozen=True, slots=True)
class Stalled:
    """No model call and no tool was started for so long."""

    seconds: float
    kind: Literal["stalled"] = "stalled"


@dataclass(frozen=True, slots=True)
class CutShort:
    """The worker could not go on, and this is what it has."""

    reason: Literal[
        "max_iterations", "context_window", "timeout", "stalled", "model_error", "repeated_call"
    ]
    text: str
    """The same in words."""
    found: str
    """Its last words, or what its session shows; never empty."""
    tail: str = ""
    """End of the worker's raw tool output."""
    ended: bool = False
    """Its conversation cannot be taken up again."""
    kind: Literal["cut_short"] = "cut_short"


@dataclass(frozen=True, slots=True)
class Judged:
    """An independent model held the outcome against the acceptance criteria."""

    verdict: Verdict
    reasoning: str
    kind: Literal["judged"] = "judged"


@dataclass(frozen=True, slots=True)
class Extended:
    """The overseer wrote further conditions, already checked against the table."""

    conditions: Any
    reason: str
    kind: Literal["extended"] = "extended"
    fresh: bool = True
    """A new worker runs with the table; else the one that reported goes on."""


@dataclass(frozen=True, slots=True)
class CheckRequested:
    """The overseer wants the worker that reported to check something, and to report again."""

    check: str
    kind: Literal["check_requested"] = "check_requested"


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
    words: str = ""
    """What they wrote, where they answered in words."""
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
    | TimedOut
    | Stalled
    | CutShort
    | Judged
    | Extended
    | CheckRequested
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


def event_draft(event: Event) -> Draft:
    """An event as an entry of a delegation's journal."""
    return record_draft(DelegationEvent(event_to_json(event)))


def events_of(path: Iterable[Entry]) -> list[Event]:
    """The events of a journal."""
    held = (held_in(entry, DelegationEvent) for entry in path)
    return [event_from_json(event.data) for event in held if event is not None]


# Steps: what is to be done next.


@dataclass(frozen=True, slots=True)
class RunWorker:
    attempt: int
    """From 1; each attempt is a fresh agent."""
    told: tuple[str, ...] = ()
    """What this agent was sent back with so far: a correction, a judge's feedback, further
    conditions."""


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
    asked: str = ""
    """The same for a person: what the worker saw is marked as such."""
    raw_tail: str = ""
    expand: bool = False
    """The table asks the overseer for sub-branches here."""
    plainly: str = ""
    """The reason in words for people, where the reason itself is written for models."""

    @property
    def for_people(self) -> str:
        return self.condition or self.plainly or self.reason


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
    status: Literal["completed", "partial", "failed", "interrupted", "timeout", "rejected"]
    summary: str
    exit_reason: str
    resolved_by: Literal["worker", "overseer", "human"] | None = None
    condition: str | None = None
    branch: str | None = None
    evidence: str | None = None
    confidence: float | None = None
    envelope: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None
    """{verdict, reasoning, output}, where the task has acceptance criteria."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunJudge:
    """Hold an outcome against the criteria before it counts."""

    outcome: Finish


Step = RunWorker | RunOverseer | RunJudge | AskHuman | AwaitHuman | Finish
