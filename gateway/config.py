"""bough.toml, with every key also as BOUGH_SECTION__KEY in the environment.

Unknown keys and bad values are one clear message that names the key. Durations are "0s", "30s",
"10m", "12h", "2d", and seconds inside.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

from adapters.events import Conversation
from agent.tools.workspace import resolve_template
from gateway.errors import ConfigError

PREFIX = "BOUGH_"
LIMIT_VARIABLE = "DELEGATION_MAX_CONCURRENT_CHILDREN"
"""The delegation page's own name for this one; it wins."""
DEFAULT_FILE = Path("bough.toml")
PLATFORMS = ("telegram", "discord", "terminal")
TIERS = ("parent", "worker", "overseer", "judge")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(value: object) -> float:
    """A duration as seconds; a number is seconds already."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError('is not a duration like "30s", "10m", "12h" or "2d"')
    return float(found[1]) * UNITS[found[2]]


def _identity(value: str) -> str:
    platform, _, who = value.partition(":")
    if platform not in PLATFORMS or not who:
        raise ValueError(
            f'{value!r} is not a person like "telegram:1001", "discord:42", "telegram:*"'
        )
    if platform != "terminal" and not re.fullmatch(r"[0-9]+|\*", who):
        raise ValueError(f"{value!r} is not a number; write to the bot, and it says who you are")
    return value


def _address(value: str) -> str:
    conversation = Conversation.parse(value)
    if conversation.platform not in PLATFORMS:
        raise ValueError(f"{value!r}: the platform must be one of {', '.join(PLATFORMS)}")
    if conversation.platform == "discord" and not re.fullmatch(r"discord:(user:)?[0-9]+", value):
        raise ValueError(
            f'{value!r} is not "discord:CHANNEL" (a thread is a channel) or "discord:user:ID", by '
            'number: "Copy ID" in Discord, once "Developer Mode" is on in its settings'
        )
    return value


def _base_url(value: str) -> str:
    if not re.match(r"https?://[^/\s]+", value):
        raise ValueError("must be a URL that starts with http:// or https://")
    return value


def _several(value: object) -> object:
    """One text stands for a list; commas part it, as an environment variable needs them."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


Duration = Annotated[float, BeforeValidator(seconds)]
Identity = Annotated[str, AfterValidator(_identity)]
Address = Annotated[str, AfterValidator(_address)]
Url = Annotated[str, AfterValidator(_base_url)]
Identities = Annotated[tuple[Identity, ...], BeforeValidator(_several)]
Addresses = Annotated[tuple[Address, ...], BeforeValidator(_several)]


Token = Annotated[SecretStr, Field(min_length=1)]
Dollars = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Storage(Section):
    url: str = "sqlite:///bough.db"


class Telegram(Section):
    token: Token
    base_url: Url = "https://api.telegram.org/bot"
    base_file_url: Url = "https://api.telegram.org/file/bot"
    mode: Literal["polling"] = "polling"


class Discord(Section):
    token: Token
    api_base: Url = "https://discord.com/api/v10"
    gateway_url: str | None = None


class ModelConfig(Section):
    model: str = Field(min_length=1)
    api_base: Url | None = None
    api_key: SecretStr | None = None
    api_keys: Annotated[tuple[Token, ...], BeforeValidator(_several)] = ()
    api: str | None = None
    reasoning_effort: str | None = None
    context_window: int | None = Field(default=None, gt=0)
    input_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    output_cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    fallback: Annotated[tuple[str, ...], BeforeValidator(_several)] = ()

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Self:
        if self.api_key is not None and self.api_keys:
            raise ValueError("give api_key or api_keys, not both")
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
    escalation_model: str | None = None
    require_default: bool = False


class AccessConfig(Section):
    allow: Identities = ()
    owners: Identities = ()
    approvers: Identities = ()


class Level(Section):
    approvers: Identities = ()
    to: Addresses = ()
    after: Duration = 0.0


class EscalationConfig(Section):
    levels: tuple[Level, ...] = ()
    timeout: Duration = 7 * 86400.0
    on_timeout: Literal["rejected", "failed"] = "rejected"


class SessionConfig(Section):
    busy: Literal["interrupt", "queue", "steer"] = "interrupt"
    max_iterations: int = Field(default=50, ge=1)
    show_thoughts: bool = False
    max_answer_messages: int = Field(default=20, ge=1)
    compaction_threshold: float = Field(default=0.8, gt=0, le=1)
    keep_recent_tokens: int = Field(default=20_000, ge=1)
    branch_summaries: Literal["off", "ask", "auto"] = "ask"
    max_depth: int = Field(default=1_000_000, ge=1)
    max_children: int = Field(default=1_000, ge=1)


def _workspace(value: str) -> str:
    resolve_template(value, 1)
    return value


class ToolsConfig(Section):
    toolsets: Annotated[tuple[Literal["file"], ...], BeforeValidator(_several)] = ()
    workspace: Annotated[str, AfterValidator(_workspace)] = "workspaces/{session}"


class BudgetsConfig(Section):
    """Dollars for a day in UTC; None where there is no limit."""

    conversation_day: Dollars | None = None
    person_day: Dollars | None = None
    day: Dollars | None = None


class Config(Section):
    storage: Storage = Storage()
    telegram: Telegram | None = None
    discord: Discord | None = None
    models: ModelsConfig = ModelsConfig()
    delegation: DelegationConfig = DelegationConfig()
    access: AccessConfig = AccessConfig()
    escalation: EscalationConfig = EscalationConfig()
    session: SessionConfig = SessionConfig()
    tools: ToolsConfig = ToolsConfig()
    budgets: BudgetsConfig = BudgetsConfig()

    @model_validator(mode="after")
    def _fallbacks_exist(self) -> Self:
        entries = self.models.configured()
        known = {*TIERS, *self.models.presets, *(entry.model for entry in entries.values())}
        for key, entry in entries.items():
            for name in entry.fallback:
                if name not in known:
                    names = ", ".join([*TIERS, *self.models.presets])
                    text = f"{name!r} is not configured; tiers and presets are {names}"
                    raise ValueError(f"models.{key}.fallback: {text}")
        return self


def load(path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration of `path` (./bough.toml where there is one), then the environment.

    ConfigError where the file cannot be read, or a key or value is wrong.
    """
    data = _read(path if path is not None else DEFAULT_FILE, required=path is not None)
    for name, value in sorted(environ.items()):
        if name.startswith(PREFIX) and "__" in name and value:
            _put(data, name.removeprefix(PREFIX).lower().split("__"), _parse(value), name)
    if limit := environ.get(LIMIT_VARIABLE):
        if not re.fullmatch(r"\s*[+-]?\d+\s*", limit):
            raise ConfigError(f"{LIMIT_VARIABLE}: is not a whole number.")
        _put(data, ["delegation", "max_concurrent_children"], limit, LIMIT_VARIABLE)
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_explain(error)) from None


def _read(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise ConfigError(f"There is no file {path}. Name another with --config.") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None


def _put(data: dict[str, Any], keys: list[str], value: object, name: str) -> None:
    *sections, last = keys
    for section in sections:
        data = data.setdefault(section, {})
        if not isinstance(data, dict):
            raise ConfigError(f"{name}: {section!r} is a value, not a section.")
    data[last] = value


def _parse(value: str) -> object:
    """A list or table in TOML's notation, else the text as it is."""
    if not value.startswith(("[", "{")):
        return value
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def _explain(error: ValidationError) -> str:
    lines = []
    for fault in error.errors(include_input=False, include_url=False):
        key = ".".join(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            lines.append(f"{key}: there is no such key. The README lists them all.")
        elif fault["type"] == "missing":
            lines.append(f"{key}: is missing.")
        else:
            text = f"{fault['msg'].removeprefix('Value error, ')}."
            lines.append(f"{key}: {text}" if key else text)
    return "The configuration has a fault.\n" + "\n".join(f"  {line}" for line in lines)
