"""What the process writes about itself: to standard error, as lines for people or as JSON, without
secrets.

Everything goes through the standard library's logging, what other libraries log too; structlog
brings it into shape. A line says of which trace it is, where it is of one.
"""

import json
import logging
import math
import os
import re
import socket
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level
from structlog.typing import EventDict, Processor, WrappedLogger

from storage.interchange.redaction import REDACTED, redactor
from storage.traces import current_trace

Format = Literal["console", "json"]

ECHOING = ("procrastinate", "psycopg.pool")
"""What they warn of when their database is away, we say in a line of our own."""
TALKATIVE = ("alembic", "asyncio", "httpcore", "markdown_it")
VERBOSE = (
    "The level debug logs what people write and what models answer, here on standard error. Keys "
    "and tokens are taken out; keep the log to yourself all the same."
)
_PLAIN = re.compile(r"[ !#-\[\]-~]*")
"""What JSON has no other signs for."""
_TO_THE_END = "PRIVATE KEY"
"""What such a key may be cut off of: there all that follows it in a text is taken out."""
DEEPEST = 8
"""Levels of lists and tables in a field; what is below is shown as text."""

log = logging.getLogger(__name__)


def _process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


@dataclass(frozen=True, slots=True)
class Shape:
    """How lines are written."""

    format: Format = "console"
    role: str = "all"
    """What this process does of the gateway's work."""
    process: str = field(default_factory=_process)
    """Host and process id."""


class WithoutSecrets(ProcessorFormatter):
    """A line as it is written, its traceback and fields too, with every secret taken out.

    Whatever library logs it, in whatever form: a handler formats last, and there secrets are taken
    out last. Each field, and for JSON each text, is looked through before, too: what was escaped
    twice is not known any more.
    """

    def __init__(self, secrets: Collection[str] = (), shape: Shape | None = None) -> None:
        self.shape = shape if shape is not None else Shape()
        self.secrets = frozenset(secrets)
        self.redact = redactor(secrets)
        self._clock = logging.Formatter()
        ending: list[Processor] = [self._as_json if self._is_json else self._for_people]
        super().__init__(
            processors=ending,
            foreign_pre_chain=[add_log_level, _add_fields],
        )

    @property
    def _is_json(self) -> bool:
        return self.shape.format == "json"

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        clean = self.redact(line)
        if self._is_json and clean != line and not _is_object(clean):
            # What was taken out were signs of JSON's own, too.
            return json.dumps({"level": record.levelname.lower(), "event": REDACTED})
        return clean

    def _for_people(self, _: WrappedLogger, __: str, event: EventDict) -> str:
        record, shown = event["_record"], _shown(event)
        time = self._clock.formatTime(record)
        fields = self._without(event["fields"], DEEPEST)
        said = "".join(f" {name}={_short(value)}" for name, value in fields.items())
        line = f"{time} {record.levelname} {record.name}: {shown['event']}{said}"
        more = (shown[name] for name in ("exception", "stack") if name in shown)
        return "\n".join((line, *more))

    def _as_json(self, _: WrappedLogger, __: str, event: EventDict) -> str:
        record, shown, fields = event["_record"], _shown(event), event["fields"]
        whole = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": event["level"],
            "logger": record.name,
            **shown,
            "role": self.shape.role,
            "process": self.shape.process,
        }
        # What a line says anyway is not to be said by a field.
        whole |= {f"{name}_" if name in whole else name: value for name, value in fields.items()}
        return json.dumps(self._without(whole, DEEPEST))

    def _without(self, value: object, depth: int) -> Any:
        """As it stands in JSON, without secrets."""
        match value:
            case None | bool() | int():
                return value
            case float() if math.isfinite(value):
                return value
            case dict() if depth:
                pairs = value.items()
                return {self._clean(str(key)): self._without(one, depth - 1) for key, one in pairs}
            case list() | tuple() if depth:
                return [self._without(one, depth - 1) for one in value]
            case _:
                return self._clean(str(value))

    def _clean(self, text: str) -> str:
        """What stands in JSON as it is, is looked through with the line."""
        plain = _PLAIN.fullmatch(text) is not None and _TO_THE_END not in text
        return text if plain else self.redact(text)


_extra = ExtraAdder()


def _add_fields(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """By themselves, so that none of them takes the place of what a line says anyway."""
    fields = {**_extra(logger, name, {"_record": event["_record"]})}
    del fields["_record"]
    if trace := current_trace():
        fields["trace"] = trace
    return {**event, "fields": fields}


def _shown(event: EventDict) -> dict[str, str]:
    """What every kind of line shows of what is said. Of a traceback no values of variables."""
    shown = {"event": str(event["event"])}
    if (fault := event.get("exc_info")) and isinstance(fault, tuple) and fault[0] is not None:
        shown["exception"] = logging.Formatter().formatException(fault)
    if stack := event.get("stack_info"):
        shown["stack"] = str(stack)
    return shown


def _short(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text else json.dumps(text)


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def log_to_stderr(level: int, secrets: Collection[str] = ()) -> None:
    """Once in a process. `secrets`: those that are known before there is a configuration."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(WithoutSecrets(secrets))
    logging.basicConfig(level=level, handlers=[handler])
    for talkative in TALKATIVE:
        logging.getLogger(talkative).setLevel(logging.WARNING)
    for echoing in ECHOING:
        logging.getLogger(echoing).setLevel(logging.ERROR)
    if level <= logging.DEBUG:
        log.warning(VERBOSE)


def set_level(level: int) -> None:
    """Log from this level on; who logs everything is told once what that means."""
    root = logging.getLogger()
    if level <= logging.DEBUG < root.level:
        log.warning(VERBOSE)
    root.setLevel(level)


def shape_log(secrets: Collection[str], shape: Shape) -> None:
    """Write lines so from now on, and take these out of all of them."""
    for handler in logging.getLogger().handlers:
        if isinstance(formatter := handler.formatter, WithoutSecrets):
            # A key that was replaced in the file is still the one that is used, until a restart.
            handler.setFormatter(WithoutSecrets(formatter.secrets.union(secrets), shape))


def hide(secrets: Collection[str]) -> None:
    """Take these out of all that is logged from now on."""
    for handler in logging.getLogger().handlers:
        if isinstance(formatter := handler.formatter, WithoutSecrets):
            handler.setFormatter(WithoutSecrets(formatter.secrets.union(secrets), formatter.shape))


def without_secrets(text: str) -> str:
    """A text that is printed, as a log would have it."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, WithoutSecrets):
            return handler.formatter.redact(text)
    return redactor(())(text)
