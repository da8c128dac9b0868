"""What the process writes about itself: to standard error, without secrets."""

import logging
import sys
from collections.abc import Collection

from storage.interchange.redaction import redactor

TALKATIVE = ("alembic", "asyncio", "httpcore", "markdown_it")
VERBOSE = (
    "--verbose logs what people write and what models answer, here on standard error. Keys and "
    "tokens are taken out; keep the log to yourself all the same."
)

log = logging.getLogger(__name__)


class WithoutSecrets(logging.Formatter):
    """A line as it is written, its traceback too, with every secret taken out.

    Whatever library logs it, in whatever form: a handler formats last.
    """

    def __init__(self, secrets: Collection[str] = ()) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self.redact = redactor(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self.redact(super().format(record))


def log_to_stderr(level: int, secrets: Collection[str] = ()) -> None:
    """Once in a process. `secrets`: those that are known before there is a configuration."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(WithoutSecrets(secrets))
    logging.basicConfig(level=level, handlers=[handler])
    for talkative in TALKATIVE:
        logging.getLogger(talkative).setLevel(logging.WARNING)
    if level <= logging.DEBUG:
        log.warning(VERBOSE)


def hide(secrets: Collection[str]) -> None:
    """Take these out of all that is logged from now on."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, WithoutSecrets):
            handler.setFormatter(WithoutSecrets(secrets))


def without_secrets(text: str) -> str:
    """A text that is printed, as a log would have it."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, WithoutSecrets):
            return handler.formatter.redact(text)
    return redactor(())(text)
