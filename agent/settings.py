"""The agent's own part of the configuration: models, delegation, tools, budgets."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self
from zoneinfo import available_timezones

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)

from agent.text.suggestion import did_you_mean

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


SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
NO_SIZE = "none"


def size(value: object) -> int | None:
    """A size as bytes; a number is bytes already. None for "none"."""
    if value is None or value == NO_SIZE:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    known = "|".join(SIZES)
    found = re.fullmatch(rf"(\d+(?:\.\d+)?)\s*({known})", value) if isinstance(value, str) else None
    if found is None or not float(found[1]):
        raise ValueError('is not a size like "500MB" or "2GB", or "none"')
    return int(float(found[1]) * SIZES[found[2]])


Size = Annotated[int | None, BeforeValidator(size)]
"""Bytes; None: "none"."""


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
    stall_seconds: float = Field(default=300.0, gt=0, allow_inf_nan=False)
    sees: bool | None = None

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Self:
        if self.api_key is not None and self.api_keys:
            raise ValueError("give api_key or api_keys, not both")
        if self.cached_input_cost is not None and self.input_cost is None:
            raise ValueError("cached_input_cost needs input_cost: give both")
        return self


class TranscriptionConfig(Section):
    """What writes down voices: any server with OpenAI's /audio/transcriptions."""

    model: str = Field(min_length=1)
    api_base: Url | None = None
    api_key: Key | None = None
    timeout: float = Field(default=120.0, gt=0, allow_inf_nan=False)


class ModelsConfig(Section):
    parent: ModelConfig | None = None
    worker: ModelConfig | None = None
    overseer: ModelConfig | None = None
    judge: ModelConfig | None = None
    presets: dict[str, ModelConfig] = {}
    transcription: TranscriptionConfig | None = None

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


TOOLSETS = ("file_read", "file", "terminal", "web", "code", "memory", "message", "schedule")
SERVER = re.compile(r"(?=.{1,32}\Z)[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")
"""The name of an MCP server. `__` is what its tools' names have between it and their own, so it
stands in none: then no tool of one server has the name of another's."""
_SERVER_TOOLSET = re.compile(f"mcp:{SERVER.pattern}")


def _toolset(name: str) -> str:
    if name in TOOLSETS or _SERVER_TOOLSET.fullmatch(name):
        return name
    known = ", ".join([*TOOLSETS, "mcp:NAME"])
    meant = did_you_mean(name, [*TOOLSETS, "mcp:NAME"])
    raise ValueError(f"there is no toolset {name!r}; toolsets are {known}.{meant}")


Toolsets = Annotated[tuple[Annotated[str, AfterValidator(_toolset)], ...], BeforeValidator(several)]


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return value


class ToolRule(Section):
    """What becomes of calls of a tool without asking, or that people are asked."""

    tool: str = Field(min_length=1)
    """Its name; * and ? stand for any characters."""
    match: Annotated[str, AfterValidator(_pattern)] | None = None
    """None: every call."""
    decision: Literal["allow", "ask", "deny"]


def _zone(value: str) -> str:
    if value not in available_timezones():
        raise ValueError(f"there is no time zone {value!r}; names are like Europe/Berlin or UTC")
    return value


Zone = Annotated[str, AfterValidator(_zone)]
"""A time zone by its name."""


def _whole_path(value: str) -> str:
    """A path without links and steps back that could be misread; whether it may be shown is looked
    at with the rest of the configuration: see agent.tools.terminal.sandbox.shown."""
    if not value.startswith("/") or value.startswith("//"):
        raise ValueError(f"{value!r} is no whole path: begin with /, ~ is not read here")
    if ".." in value.split("/") or not value.isprintable():
        raise ValueError(f"{value!r} has .. or characters in it that cannot be seen")
    return value


VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
SHELLS_OWN = re.compile(
    r"(LD|BASH|GLIBC|MALLOC)_.*|BASHOPTS|BASH|ENV|SHELLOPTS|SHLVL|PS4|IFS|PROMPT_COMMAND|PWD|OLDPWD|TMOUT|_"
    r"|GCONV_PATH|LOCPATH|NLSPATH"
)
"""Variables that would change a command's own shell before it has its limits."""
MOST_VARIABLES = 100
MOST_VARIABLE_BYTES = 16_384
"""Of names and values."""


def _environment(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not VARIABLE.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a variable: letters, digits and _ are")
        if SHELLS_OWN.fullmatch(name):
            raise ValueError(
                f"{name} cannot be set: it would change the shell before its limits hold. A "
                "command can set it for the program that needs it"
            )
        if not value.isprintable():
            raise ValueError(
                f"{name} has characters in it that cannot be seen, such as a line break"
            )
    if (
        len(given) > MOST_VARIABLES
        or sum(map(len, (*given, *given.values()))) > MOST_VARIABLE_BYTES
    ):
        raise ValueError(
            f"is too much: at most {MOST_VARIABLES} variables, with {MOST_VARIABLE_BYTES:,} "
            "characters together"
        )
    for folder in given.get("PATH", "$PATH").split(":"):
        if folder != "$PATH":
            _whole_path(folder)
    return given


class ToolsConfig(Section):
    toolsets: Toolsets = ()
    workspace: Annotated[str, AfterValidator(_workspace)] = "workspaces/{session}"
    sandbox: Literal["bubblewrap", "none"] = "bubblewrap"
    network: bool = False
    read_only: Annotated[
        tuple[Annotated[str, AfterValidator(_whole_path)], ...], BeforeValidator(several)
    ] = ()
    """Files and folders of the machine that commands are shown, besides the system's."""
    environment: Annotated[dict[str, str], AfterValidator(_environment)] = {}
    """Variables that commands find; PATH stands before the usual one."""
    workspace_quota: Size = 10 << 30
    rules: tuple[ToolRule, ...] = ()
    timezone: Zone = "UTC"
    """Of people who never said theirs."""


class WebConfig(Section):
    search: Literal["searxng", "brave", "tavily"] | None = None
    search_url: Url | None = None
    search_key: Key | None = None
    allow: Annotated[tuple[str, ...], BeforeValidator(several)] = ()
    """Hosts, "name" or "name:port", that may be reached though their addresses are private."""


class McpConfig(Section):
    """One MCP server: a program that is started, or a URL."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = {}
    url: Url | None = None
    headers: dict[str, Key] = {}
    tools: Annotated[tuple[str, ...], BeforeValidator(several)] | None = None
    """Those of its tools that are offered; None: all."""
    trusted: bool = False
    """Whether what it says of its own tools is believed."""
    timeout: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    """Seconds for one call, counted anew with each sign of progress."""
    start_timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds until it has to answer the greeting: some commands fetch their program first."""

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("give command or url, one of them")
        if self.url is not None and (self.args or self.env):
            raise ValueError("args and env belong to a command, not to a url")
        if self.command is not None and self.headers:
            raise ValueError("headers belong to a url, not to a command")
        return self


MOST_INSTRUCTIONS = 20_000
"""Characters: they are sent with every call of the parent's model."""
_IN_FILE = "file:"


def _instructions(value: str) -> str:
    """The text, or what stands in the file that it names."""
    text = _text_in(Path(value.removeprefix(_IN_FILE))) if value.startswith(_IN_FILE) else value
    text = text.strip()
    if not text:
        raise ValueError("says nothing: write what the bot is to keep to, or take the key out")
    if "\0" in text:
        raise ValueError("has a NUL character in it, which no model takes: write plain text")
    if len(text) > MOST_INSTRUCTIONS:
        raise ValueError(f"is longer than {MOST_INSTRUCTIONS:,} characters: shorten it")
    return text


def _text_in(path: Path) -> str:
    try:
        with path.open(encoding="utf-8-sig") as file:
            return file.read(2 * MOST_INSTRUCTIONS)
    except FileNotFoundError:
        text = f"there is no file {str(path)!r} (looked for from {str(Path.cwd())!r})"
        raise ValueError(text) from None
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is no text in UTF-8: save it as such") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "that is no name of a file"
        raise ValueError(f"{str(path)!r} cannot be read: {why}") from None


Instructions = Annotated[str, AfterValidator(_instructions)]


class AgentConfig(Section):
    instructions: Instructions | None = None
    """What the parent is told besides, as text; "file:PATH" is read when this is made."""


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
