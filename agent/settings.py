"""The agent's own part of the configuration: models, delegation, tools, budgets."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)

TIERS = ("parent", "worker", "overseer", "judge")


def base_url(value: str) -> str:
    if not re.match(r"https?://[^/\s]+", value):
        raise ValueError("must be a URL that starts with http:// or https://")
    return value


def several(value: object) -> object:
    """One text stands for a list; commas part it, as an environment variable needs them."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def sendable(value: SecretStr) -> SecretStr:
    """A key goes into an HTTP header, which takes no other characters. A placeholder ("sk-…") that
    was left standing would fail there, in words that name no key."""
    secret = value.get_secret_value()
    if not (secret.isascii() and secret.isprintable()):
        raise ValueError(
            "has a character that no key or token has, such as … or a line break: "
            "put the real one there"
        )
    return value


def _without_login(value: str) -> str:
    """No call with one ever got through: the key's header and the login's are the same."""
    if re.match(r"[^/]*//[^/?#]*@", value):
        raise ValueError(
            "has a user name or password in it, with which no model can be called: take out all "
            "between // and @, and put the key into api_key"
        )
    return value


Url = Annotated[str, AfterValidator(base_url), AfterValidator(_without_login)]


Key = Annotated[SecretStr, AfterValidator(sendable)]


Token = Annotated[Key, Field(min_length=1)]


Dollars = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelConfig(Section):
    model: str = Field(min_length=1)
    api_base: Url | None = None
    api_key: Key | None = None
    api_keys: Annotated[tuple[Token, ...], BeforeValidator(several)] = ()
    api: str | None = None
    reasoning_effort: str | None = None
    context_window: int | None = Field(default=None, gt=0)
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    input_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    output_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cached_input_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    fallback: Annotated[tuple[str, ...], BeforeValidator(several)] = ()

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Self:
        if self.api_key is not None and self.api_keys:
            raise ValueError("give api_key or api_keys, not both")
        if self.cached_input_cost is not None and self.input_cost is None:
            raise ValueError("cached_input_cost needs input_cost: give both")
        return self


class ModelsConfig(Section):
    parent: ModelConfig | None = None
    worker: ModelConfig | None = None
    overseer: ModelConfig | None = None
    judge: ModelConfig | None = None
    presets: dict[str, ModelConfig] = {}

    def configured(self) -> dict[str, ModelConfig]:
        """Every entry by its key below [models]: "parent", "presets.cheap"…"""
        tiers = {name: found for name in TIERS if (found := getattr(self, name)) is not None}
        return tiers | {f"presets.{name}": preset for name, preset in self.presets.items()}


class DelegationConfig(Section):
    max_concurrent_children: Annotated[int, AfterValidator(lambda limit: max(limit, 1))] = 3
    """Never under 1, whatever is written: delegation is not switched off by a zero."""
    max_calls_per_reply: int = Field(default=16, ge=1)
    max_per_turn: int = Field(default=32, ge=1)
    max_iterations: int = Field(default=50, ge=1)
    max_escalation_depth: int = Field(default=2, ge=0)
    max_spawn_depth: int = Field(default=1, ge=1)
    orchestrator_enabled: bool = True
    child_timeout_seconds: float = 0.0
    stall_seconds: float = Field(default=900.0, ge=0)
    handoff_budget: float = Field(default=0.25, gt=0, le=1)
    handoff_auto_tokens: int = Field(default=4_000, ge=0)
    escalation_model: str | None = None
    allow_dearer: bool = False
    require_default: bool = False


def _workspace(value: str) -> str:
    resolve_template(value, 1)
    return value


class ToolsConfig(Section):
    toolsets: Annotated[tuple[Literal["file"], ...], BeforeValidator(several)] = ()
    workspace: Annotated[str, AfterValidator(_workspace)] = "workspaces/{session}"


class BudgetsConfig(Section):
    """Dollars for a day in UTC; None where there is no limit."""

    conversation_day: Dollars | None = None
    person_day: Dollars | None = None
    day: Dollars | None = None


class CompactionConfig(Section):
    compaction_threshold: float = Field(default=0.8, gt=0, le=1)
    keep_recent_tokens: int = Field(default=20_000, ge=1)
    summary_model: str | None = None
    """Name of the model that writes compactions and branch summaries; None: the parent's own."""


def resolve_template(template: str, session: int) -> Path:
    """The folder that `[tools] workspace` names for a session. Raises ValueError for any field
    but {session}."""
    rest = template.replace("{session}", "")
    if not template.strip() or "\0" in template:
        raise ValueError("must name a folder")
    if "{" in rest or "}" in rest:
        raise ValueError(f"{template!r}: the only field is {{session}}")
    return Path(template.replace("{session}", str(session)))
