"""What of a configuration that was read anew holds at once, what at the next start. Pure.

At once holds what parts look at each time they need it. The rest was used when they were made:
connections, models, tools.
"""

import tomllib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from adapters.platforms import same_bot
from agent.settings import TIERS
from gateway.configuration.config import ChatConfig, Config

WHOLE = ("access", "escalation", "budgets", "limits", "agent", "log", "retention")
"""Sections of which every key holds at once."""
SESSION_WAITS = ("summary_model", "max_answer_messages")
TOOLS_TAKEN = ("approvers", "rules")
SERVER_TAKEN = ("drain",)
GUARDS = ("access", "escalation", "budgets", "limits", "chats", "tools.approvers", "tools.rules")
"""What keeps people and models within limits: a file that was cut short must not take it away."""


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
    return holds.written_as(given), sorted(differing(holds, given))


def objection(before: Config, given: Config) -> str:
    """Why a file cannot be meant to replace the one before, and what to do, for people; "" where
    it can."""
    if before.written and not tomllib.loads(given.written):
        return "It sets nothing. Put its sections back."
    if not same_bot(before, given):
        return (
            "Its token is another bot's. Put the right file there; to change the bot, stop it and "
            "start it again."
        )
    if _place(before.storage.url) != _place(given.storage.url):
        return "It names another database. Put the right one there, or start the bot again."
    if lost := _cut_off(before, given):
        return (
            f"It looks cut short, and {', '.join(lost)} would change. Write the whole file; if it "
            "is whole, end it with a comment on a line of its own."
        )
    return ""


def _cut_off(before: Config, given: Config) -> list[str]:
    """The guards that differ in what may be a part of a file: its text is how the one before
    began, or ends within a line where that one did not."""
    old, new = before.written, given.written
    begins = new != old and old.startswith(new.rstrip())
    within = old.endswith("\n") and not new.endswith("\n")
    if not old or not (begins or within):
        return []
    keys = sorted(differing(before, given))
    return [key for key in keys if any(f"{key}.".startswith(f"{guard}.") for guard in GUARDS)]


def _place(url: str) -> tuple[str | None, str]:
    """Where a database is, whoever signs in there."""
    try:
        parts = urlsplit(url)
    except ValueError:  # the next start says what is wrong with it
        return None, url
    return parts.hostname, parts.path


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
