"""A delegation as people list it: a projection of its journal, kept for /agents."""

from dataclasses import dataclass

from storage.records.entries import Usage


@dataclass(frozen=True, slots=True)
class Delegation:
    id: int
    session: int
    """The session whose model delegated."""
    call_id: str
    """Id of the tool call that delegated."""
    call_entry: int
    """The assistant entry that holds that call."""
    index: int
    """Position of the task in its call, from 0."""
    journal: int
    """The subagent session that holds its events."""
    root: int
    """The session whose lane carries it on: the chat's, or, in the background, its own journal."""
    top: int | None
    """The delegation that the outermost parent made, where this is one of a child's; else None."""
    background: bool
    person: str
    """Identity of whose turn delegated."""
    address: str
    """The conversation that asked, and that gets the answer."""
    goal: str
    state: str
    """"running", "waiting", or how it ended: completed, partial, failed, interrupted, timeout,
    rejected."""
    tier: str
    """Who works on it now or ended it: worker, overseer, human."""
    model: str
    usage: Usage
    result: str
    """The result as JSON text once it has one, else ""."""
    created: float
    updated: float


@dataclass(frozen=True, slots=True)
class DelegationDraft:
    session: int
    call_id: str
    call_entry: int
    index: int
    journal: int
    root: int
    address: str
    goal: str
    model: str
    person: str = ""
    top: int | None = None
    background: bool = False
