"""bough.toml, with every key also as BOUGH_SECTION__KEY in the environment.

Unknown keys and bad values are one clear message that names the key. Durations are "0s", "30s",
"10m", "12h", "2d", and seconds inside.
"""

import math
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from adapters.platforms import checked_address, checked_identity
from adapters.serving.listening import Listen
from adapters.settings import PlatformSettings
from agent.errors import ToolError
from agent.settings import (
    SERVER,
    TIERS,
    AgentConfig,
    BudgetsConfig,
    CompactionConfig,
    DelegationConfig,
    Dollars,
    Instructions,
    McpConfig,
    ModelsConfig,
    Section,
    Size,
    ToolsConfig,
    Toolsets,
    Url,
    WebConfig,
    Zone,
    several,
)
from agent.text.suggestion import did_you_mean
from agent.tools.files.workspace import Missing, WorkspaceError
from agent.tools.terminal.sandbox.place import workspaces
from agent.tools.terminal.sandbox.shown import is_writable, shown
from agent.tools.web.urls import allowed_hosts
from gateway.configuration.faults import PREFIX, explain, misspelled_variables, not_toml, unreadable
from gateway.configuration.secret_values import all_secrets
from gateway.configuration.tool_names import unknown_tools
from gateway.errors import ConfigError
from storage.interchange.redaction import SHORTEST_SECRET
from storage.lock import file_of

LIMIT_VARIABLE = "DELEGATION_MAX_CONCURRENT_CHILDREN"
"""The delegation page's own name for this one; it wins."""
DEFAULT_FILE = Path("bough.toml")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(value: object) -> float:
    """A duration as seconds; a number is seconds already."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError('is not a duration like "30s", "10m", "12h" or "2d"')
    return float(found[1]) * UNITS[found[2]]


def _place(value: str) -> str:
    Listen.parse(value)
    return value


FOREVER = "forever"


def _kept(value: object) -> float:
    return math.inf if value in (FOREVER, math.inf) else seconds(value)


Duration = Annotated[float, BeforeValidator(seconds)]
Kept = Annotated[float, BeforeValidator(_kept)]
"""How long something is kept: a duration, or "forever"."""
_DAY = 86_400.0
Identity = Annotated[str, AfterValidator(checked_identity)]
Address = Annotated[str, AfterValidator(checked_address)]
Identities = Annotated[tuple[Identity, ...], BeforeValidator(several)]
Addresses = Annotated[tuple[Address, ...], BeforeValidator(several)]


class Storage(Section):
    url: str = "sqlite:///bough.db"
    ballast: Size = 64 << 20
    """Of a file beside a SQLite database, which is given up when the disk is full."""

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        yield "url", "…"  # there may be a password in it


class AccessConfig(Section):
    allow: Identities = ()
    owners: Identities = ()
    approvers: Identities = ()
    dear_models: Identities = ()
    """Who may choose models that cost more than the conversation's own, beside owners and
    approvers."""
    pairing: bool = True


class LimitsConfig(Section):
    """Of one person, and of one conversation; None where there is no limit."""

    turns_per_minute: int | None = Field(default=None, ge=1)
    cost_per_day: Dollars | None = None


class ServerConfig(Section):
    listen: Annotated[str, AfterValidator(_place)] | None = None
    """Where operators ask how the gateway is; None: nowhere."""
    drain: Duration = 20.0
    """Seconds for what runs when the gateway is told to stop."""


class Level(Section):
    approvers: Identities = ()
    to: Addresses = ()
    after: Duration = 0.0


class EscalationConfig(Section):
    levels: tuple[Level, ...] = ()
    timeout: Duration = 7 * 86400.0
    on_timeout: Literal["rejected", "failed"] = "rejected"


Busy = Literal["interrupt", "queue", "steer"]
"""What talk does during a turn."""
Answer = Literal["mention", "all", "thread"]
"""What of a group's talk is answered: what names the bot, all, or all with a thread for each
question."""


class SessionConfig(CompactionConfig):
    busy: Busy = "interrupt"
    max_iterations: int = Field(default=50, ge=1)
    stream: bool = True
    show_thoughts: bool = False
    max_answer_messages: int = Field(default=20, ge=1)
    branch_summaries: Literal["off", "ask", "auto"] = "ask"
    max_depth: int = Field(default=1_000_000, ge=1)
    max_children: int = Field(default=1_000, ge=1)
    zone: Zone | None = None
    """None: that of `[tools] timezone`."""


class GatewayToolsConfig(ToolsConfig):
    approvers: Identities = ()
    message_targets: Addresses = ()


def _server_name(name: str) -> str:
    if not SERVER.fullmatch(name):
        raise ValueError(
            "a server's name has at most 32 small letters and digits, a letter first, "
            "and single - or _ between them"
        )
    return name


class LogConfig(Section):
    format: Literal["console", "json"] = "console"
    level: Literal["debug", "info", "warning", "error"] = "info"


class OtelConfig(Section):
    """Where traces go; nowhere without an endpoint."""

    endpoint: Url | None = None
    sample: float = Field(default=1.0, ge=0.0, le=1.0)


def _outlasts_platforms(value: float) -> float:
    if value < 2 * _DAY:
        raise ValueError(
            'is shorter than "2d": so long platforms may bring again what they brought, and that '
            "is known by these rows"
        )
    return value


class RetentionConfig(Section):
    """How long what is finished is kept; see gateway.retention."""

    messages: Kept = math.inf
    files: Kept = math.inf
    rows: Annotated[Kept, AfterValidator(_outlasts_platforms)] = 30 * _DAY
    menus: Kept = 30 * _DAY
    questions: Kept = 365 * _DAY
    work: Kept = 90 * _DAY
    ledger: Kept = 90 * _DAY
    audit: Kept = 365 * _DAY
    strangers: Kept = 30 * _DAY


class ChatRetention(Section):
    """The same of one conversation; None: as everywhere."""

    messages: Kept | None = None
    files: Kept | None = None


class ChatConfig(Section):
    """What is different in one conversation; None: as everywhere."""

    toolsets: Toolsets | None = None
    instructions: Instructions | None = None
    model: str | None = None
    busy: Busy | None = None
    stream: bool | None = None
    answer: Answer | None = None
    zone: Zone | None = None
    retention: ChatRetention = ChatRetention()


def _comes_from(value: str) -> str:
    """The address of a conversation that messages come from."""
    if ":@" in checked_address(value):
        raise ValueError(
            f"{value!r} is a name, and messages come from numbers: /settings and the log show them"
        )
    return value


class Config(PlatformSettings):
    storage: Storage = Storage()
    models: ModelsConfig = ModelsConfig()
    delegation: DelegationConfig = DelegationConfig()
    access: AccessConfig = AccessConfig()
    escalation: EscalationConfig = EscalationConfig()
    session: SessionConfig = SessionConfig()
    agent: AgentConfig = AgentConfig()
    tools: GatewayToolsConfig = GatewayToolsConfig()
    web: WebConfig = WebConfig()
    mcp: dict[Annotated[str, AfterValidator(_server_name)], McpConfig] = Field(default={})
    chats: dict[Annotated[str, AfterValidator(_comes_from)], ChatConfig] = Field(default={})
    budgets: BudgetsConfig = BudgetsConfig()
    limits: LimitsConfig = LimitsConfig()
    server: ServerConfig = ServerConfig()
    log: LogConfig = LogConfig()
    otel: OtelConfig = OtelConfig()
    retention: RetentionConfig = RetentionConfig()
    _file: Path = PrivateAttr(default=DEFAULT_FILE)
    _written: str = PrivateAttr(default="")

    @property
    def file(self) -> Path:
        """Where it was read, or would have been."""
        return self._file

    @property
    def written(self) -> str:
        """The text of that file; "" where there was none."""
        return self._written

    def written_as(self, other: "Config") -> Self:
        """The same values, as if the file of the other one said them."""
        same = self.model_copy()
        same._file, same._written = other.file, other.written
        return same

    @model_validator(mode="after")
    def _named_models_exist(self) -> Self:
        entries = self.models.configured()
        known = {*TIERS, *self.models.presets, *(entry.model for entry in entries.values())}
        named = [(f"models.{key}.fallback", n) for key, e in entries.items() for n in e.fallback]
        if self.session.summary_model is not None:
            named.append(("session.summary_model", self.session.summary_model))
        for address, chat in self.chats.items():
            if chat.model is not None:
                named.append((f'chats."{address}".model', chat.model))
        for key, name in named:
            if name not in known:
                names = ", ".join([*TIERS, *self.models.presets])
                text = f"{name!r} is not configured; tiers and presets are {names}"
                raise ValueError(f"{key}: {text}.{did_you_mean(name, known)}")
        return self

    @model_validator(mode="after")
    def _named_servers_exist(self) -> Self:
        named = [("tools.toolsets", self.tools.toolsets)]
        for address, chat in self.chats.items():
            named.append((f'chats."{address}".toolsets', chat.toolsets or ()))
        for key, toolsets in named:
            for server in (name.removeprefix("mcp:") for name in toolsets if ":" in name):
                if server not in self.mcp:
                    meant = did_you_mean(server, self.mcp, "mcp:{}")
                    raise ValueError(f"{key}: there is no [mcp.{server}].{meant}")
        return self

    @model_validator(mode="after")
    def _allowed_hosts_are_hosts(self) -> Self:
        try:
            allowed_hosts(self.web.allow)
        except ToolError as error:
            raise ValueError(f"web.allow: {error}") from None
        return self

    def all_toolsets(self) -> frozenset[str]:
        """Those that any conversation has."""
        own = (chat.toolsets for chat in self.chats.values() if chat.toolsets is not None)
        return frozenset(self.tools.toolsets).union(*own)


def load(path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration of `path` (./bough.toml where there is one), then the environment.

    ConfigError where the file cannot be read, or a key or value is wrong.
    """
    file = path if path is not None else DEFAULT_FILE
    written = _text_of(file, required=path is not None)
    data = _parsed(file, written)
    add_environment(data, environ)
    config = checked(data)
    if lines := list(unknown_tools(config.tools.rules, config.mcp)):
        raise ConfigError("\n".join(["The configuration has a fault.", *(f"  {x}" for x in lines)]))
    given = sorted(name for name, value in environ.items() if name.startswith(PREFIX) and value)
    right = {name.replace("__", "_") for name in given if "__" in name}  # set beside, as it should
    unset = [name for name in given if "__" not in name and name not in right]
    wrong = misspelled_variables(unset, Config)
    if lines := [one.text for one in wrong if one.certain]:
        raise ConfigError("\n".join(lines))
    for one in wrong:
        print(f"bough: {one.text}", file=sys.stderr)
    for text in config.unused():
        print(f"bough: {text}", file=sys.stderr)
    config._file, config._written = file.absolute(), written
    _refuse_shown(config)
    _refuse_secrets(config, environ)
    return config


def own_files(config: Config) -> tuple[list[Path], list[Path]]:
    """What commands may not change, and what they may not read."""
    secret = [config.file] if config.file.exists() else []
    if (database := file_of(config.storage.url)) is not None:
        secret.append(database)
    return [Path(__file__).parents[1], *secret], [*secret, Path.cwd()]


def _refuse_shown(config: Config) -> None:
    """What commands must not be shown, or search for programs. A path where nothing is keeps no
    process from starting that runs no commands: it is told by the doctor, and by each command."""
    in_workspace = workspaces(config.tools.workspace)
    for path in config.tools.read_only:
        try:
            shown([Path(path)], own_files(config)[1], in_workspace)
        except Missing:
            continue
        except WorkspaceError as error:
            raise ConfigError(f"tools.{error}.") from None
    for folder in config.tools.environment.get("PATH", "$PATH").split(":"):
        given = Path(folder)  # links below /proc are not for us to follow: they are another's there
        if folder != "$PATH" and (
            is_writable(given) or is_writable(where := given.resolve()) or in_workspace(where)
        ):
            raise ConfigError(
                f"tools.environment.PATH: {folder} is where an agent could put a program with the "
                "name of another. Write the path in the command: .venv/bin/python."
            )


_OWN = f"{PREFIX}TOOLS__ENVIRONMENT"


def _refuse_secrets(config: Config, environ: Mapping[str, str]) -> None:
    """Commands are given no secret that the gateway itself has."""
    tools = config.tools.model_copy(update={"environment": {}})
    besides = {name: value for name, value in environ.items() if not name.startswith(_OWN)}
    secrets = all_secrets(config.model_copy(update={"tools": tools}), besides)
    for name, value in config.tools.environment.items():
        if any(secret in value for secret in secrets if len(secret) >= SHORTEST_SECRET):
            raise ConfigError(
                f"tools.environment.{name}: has a secret of the gateway in it, which commands "
                "could tell anybody. Give them a key of their own, with few rights."
            )


def add_environment(data: dict[str, Any], environ: Mapping[str, str]) -> None:
    """Put what variables say over what a file says. ConfigError where a variable cannot be one."""
    for name, value in sorted(environ.items()):
        if name.startswith(PREFIX) and "__" in name and value:
            _put(data, _keys(name), _parse(value), name)
    if limit := environ.get(LIMIT_VARIABLE):
        if not re.fullmatch(r"\s*[+-]?\d+\s*", limit):
            raise ConfigError(f"{LIMIT_VARIABLE}: is not a whole number.")
        _put(data, ["delegation", "max_concurrent_children"], limit, LIMIT_VARIABLE)


def checked(data: Mapping[str, Any]) -> Config:
    """A configuration of what stands in a file. ConfigError where a key or value is wrong."""
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise ConfigError(explain(error, Config)) from None


def read_file(path: Path, *, required: bool) -> dict[str, Any]:
    """What stands in a file, unchecked; nothing where there is none and none is required."""
    return _parsed(path, _text_of(path, required=required))


def _text_of(path: Path, *, required: bool) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if required:
            raise ConfigError(f"There is no file {path}. Name another with --config.") from None
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(unreadable(path, error)) from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(not_toml(path, error)) from None


def _keys(name: str) -> list[str]:
    """The parts of a variable's name; small, but what names a variable of an MCP server or of a
    command itself."""
    parts = name.removeprefix(PREFIX).split("__")
    keys = [part.lower() for part in parts]
    if keys[0] == "mcp" and keys[2:3] == ["env"] and len(keys) > 3:
        return [*keys[:3], "__".join(parts[3:])]
    if keys[:2] == ["tools", "environment"] and len(keys) > 2:
        return [*keys[:2], "__".join(parts[2:])]
    return keys


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
