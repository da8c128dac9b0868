"""Lines of the log: for people or as JSON, with trace and fields, never with a secret."""

import io
import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from gateway.logs import Shape, WithoutSecrets
from storage.interchange.redaction import REDACTED
from storage.traces import traced

TRACE = "0af7651916cd43dd8448eb211c80319c"
SECRET = 'hu7n"ter\\2ü'


def written(shape: Shape, say: Callable[[logging.Logger], None]) -> str:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(WithoutSecrets([SECRET], shape))
    logger = logging.Logger("some.package")
    logger.addHandler(handler)
    say(logger)
    return out.getvalue()


def as_json(say: Callable[[logging.Logger], None]) -> dict[str, Any]:
    line = written(Shape("json", "worker", "host:7"), say)
    assert line.count("\n") == 1
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_line_for_people_is_time_level_logger_and_what_is_said() -> None:
    line = written(Shape(), lambda log: log.warning("%d files", 3))
    time, _, rest = line.rstrip().partition(" WARNING ")
    assert datetime.strptime(time, "%Y-%m-%d %H:%M:%S,%f")
    assert rest == "some.package: 3 files"


def test_fields_and_the_trace_stand_behind_it() -> None:
    def say(log: logging.Logger) -> None:
        with traced(TRACE):
            log.info("delivered", extra={"address": "telegram:1", "why": "two words\n"})

    line = written(Shape(), say)
    assert line.endswith(
        f'some.package: delivered address=telegram:1 why="two words\\n" trace={TRACE}\n'
    )


def test_json_says_when_in_utc_who_and_of_which_trace() -> None:
    def say(log: logging.Logger) -> None:
        with traced(TRACE):
            log.info("turn %s", "ends", extra={"session": 3, "deep": {"a": [1, 2.5, None, True]}})

    line = as_json(say)
    assert datetime.fromisoformat(line.pop("timestamp")).utcoffset() == timedelta(0)
    assert line == {
        "level": "info",
        "logger": "some.package",
        "event": "turn ends",
        "role": "worker",
        "process": "host:7",
        "session": 3,
        "deep": {"a": [1, 2.5, None, True]},
        "trace": TRACE,
    }


def test_a_field_takes_the_place_of_nothing_that_a_line_says() -> None:
    line = as_json(lambda log: log.info("said", extra={"event": "x", "level": "y", "role": "z"}))
    assert (line["event"], line["level"], line["role"]) == ("said", "info", "worker")
    assert line["role_"] == "z"


def test_what_json_cannot_say_is_text() -> None:
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    line = as_json(lambda log: log.info("x", extra={"a": float("nan"), "b": {1}, "c": deep}))
    assert (line["a"], line["b"]) == ("nan", "{1}")


@pytest.mark.parametrize("shape", [Shape(), Shape("json")])
def test_no_secret_is_in_words_fields_keys_or_tracebacks(shape: Shape) -> None:
    def say(log: logging.Logger) -> None:
        fields = {"a": SECRET, "b": {SECRET: [SECRET, repr(SECRET)]}, "c": json.dumps(SECRET)}
        try:
            raise KeyError(SECRET)
        except KeyError:
            log.exception("with %s and %r", SECRET, SECRET, extra=fields, stack_info=True)
        log.info("x", extra={"api_key": "never-seen-before-1"})

    shown = written(shape, say)
    assert "Traceback" in shown and REDACTED in shown
    assert "hu7n" not in shown and "never-seen-before" not in shown


def test_a_line_stays_json_whatever_looks_like_a_secret_in_it() -> None:
    line = as_json(lambda log: log.info("-----BEGIN PRIVATE KEY-----abc", extra={"x": 1}))
    assert (line["event"], line["x"]) == (REDACTED, 1)


def test_a_secret_that_is_made_of_signs_of_json_ends_no_line() -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(WithoutSecrets(['"event": "fi'], Shape("json")))
    logger = logging.Logger("x")
    logger.addHandler(handler)
    logger.error("fine")
    assert json.loads(out.getvalue()) == {"level": "error", "event": REDACTED}
