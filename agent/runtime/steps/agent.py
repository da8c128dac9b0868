"""Who runs a loop, and where."""

from dataclasses import dataclass

from agent.models.base import ModelSpec
from agent.models.metering import Account
from agent.runtime.journal import Journal
from agent.tools.base import Tools
from storage.records.entries import Json


@dataclass(frozen=True, slots=True)
class FinalTool:
    """A tool whose call ends the run; whoever runs the loop reads the call and answers it."""

    name: str
    description: str
    parameters: Json


@dataclass(frozen=True, slots=True)
class Agent:
    """Who runs the loop: a model with its instructions and tools."""

    tier: str
    spec: ModelSpec
    system: str
    tools: Tools
    max_iterations: int
    """Model calls until the loop gives up, counted from the last thing that came from outside."""
    final_tools: tuple[FinalTool, ...] = ()
    max_calls: int = 16
    """Tool calls of one reply that are run; the model is told that the others were not."""
    must_call: bool = False
    """Each of its replies is to call a tool."""
    waits_for_all: bool = False
    """While a call waits for a person the model is not called: nobody could tell it later."""
    company: str = ""
    """What it is told besides, where it is not one person alone who speaks."""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """An agent at work in a session."""

    agent: Agent
    journal: Journal
    account: Account
    """Who pays, and for whom it is done."""
