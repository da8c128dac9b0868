"""What of a configuration that was read anew holds at once, what at the next start. Pure.

At once holds what parts look at each time they need it. The rest was used when they were made:
connections, models, tools.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from agent.settings import TIERS
from gateway.configuration.config import ChatConfig, Config

WHOLE = ("access", "escalation", "budgets", "limits", "agent", "log", "retention")
"""Sections of which every key holds at once."""
SESSION_WAITS = ("summary_model", "max_answer_messages")
TOOLS_TAKEN = ("approvers", "rules")
SERVER_TAKEN = ("drain",)


def taken_over(running: Config, given: Config) -> tuple[Config, list[str]]:
    """The configuration that holds from now on, and the keys of `given` that wait for the next
    start. `running`: the one that holds now."""
    session = {name: getattr(running.session, name) for name in SESSION_WAITS}
    tools = {name: getattr(given.tools, name) for name in TOOLS_TAKEN}
    server = {name: getattr(given.server, name) for name in SERVER_TAKEN}
    chats = {
        address: _chat(running, running.chats.get(address, ChatConfig()), chat)
        for address, chat in given.chats.items()
    }
    holds = running.model_copy(
        update={
            **{name: getattr(given, name) for name in WHOLE},
            "session": given.session.model_copy(update=session),
            "tools": running.tools.model_copy(update=tools),
            "server": running.server.model_copy(update=server),
            "chats": chats,
        }
    )
    return holds, sorted(differing(holds, given))


def _chat(running: Config, before: ChatConfig, given: ChatConfig) -> ChatConfig:
    """One conversation's: with models and toolsets only that there are since the start. Toolsets
    that are taken away are gone at once."""
    toolsets, model = given.toolsets, given.model
    if toolsets is not None:
        toolsets = tuple(one for one in toolsets if one in running.all_toolsets())
    if model is not None and model not in _models(running):
        model = before.model
    return given.model_copy(update={"toolsets": toolsets, "model": model})


def _models(config: Config) -> set[str]:
    named = {entry.model for entry in config.models.configured().values()}
    return {*TIERS, *config.models.presets, *named}


def differing(one: BaseModel, other: BaseModel, above: str = "") -> Iterator[str]:
    """The keys whose values differ, the values unseen."""
    for name in type(one).model_fields:
        yield from _below(getattr(one, name), getattr(other, name), f"{above}{name}")


def _below(one: Any, other: Any, key: str) -> Iterator[str]:
    match one, other:
        case BaseModel(), BaseModel():
            yield from differing(one, other, f"{key}.")
        case dict(), dict():
            for name in one.keys() | other.keys():
                shown = f'"{name}"' if ":" in name else name
                if name in one and name in other:
                    yield from _below(one[name], other[name], f"{key}.{shown}")
                else:
                    yield f"{key}.{shown}"
        case _ if one != other:
            yield key
