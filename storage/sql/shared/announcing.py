"""What a commit says to other processes, in its own transaction: jobs for the sessions that
something is due in, and one notice of all that it changed."""

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, text

from storage.news import Committed
from storage.records.entries import Json
from storage.sql.prepared import Prepared
from storage.sql.shared.jobs import defer
from storage.sql.writer import Job

CHANNEL = "bough"
LONGEST = 7_500
"""Bytes of a notice: PostgreSQL takes fewer than 8,000."""

_NOTIFY = Prepared(text("SELECT pg_notify(:channel, :text)"))


class Announcer:
    def __init__(self, process: str) -> None:
        """`process`: who says it, so that nobody hears what they said themselves."""
        self._process = process

    def __call__(self, connection: Connection, group: Sequence[Job[Any]]) -> None:
        """Say what the jobs of a group leave to others, and note in their results for which
        sessions somebody is on the way. DBAPIError."""
        told = [job for job in group if job.error is None and _news(job).concerns_others]
        left = [_for_others(_news(job)) for job in told]
        sessions = frozenset[int]().union(*(one.sessions for one in left))
        queued = defer(connection, sorted(sessions))
        for job in told:
            committed, ours = _news(job), _taken(_news(job))
            on_the_way = (committed.sessions & queued) | ours
            job.result = _value(job), replace(committed, queued=on_the_way)
        news = [one for one in left if one.concerns_others]
        for part in parts(self._process, _together(news)) if news else ():
            _NOTIFY.later(connection, {"channel": CHANNEL, "text": part})


def _taken(news: Committed) -> frozenset[int]:
    return frozenset(taken.session for taken in news.taken)


def _for_others(news: Committed) -> Committed:
    """Without the sessions that this process sees to by itself."""
    return replace(news, sessions=news.sessions - _taken(news)) if news.taken else news


def _value(job: Job[Any]) -> Any:
    assert job.result is not None
    return job.result[0]


def _news(job: Job[Any]) -> Committed:
    assert job.result is not None
    news: Committed = job.result[1]
    return news


def _together(news: Sequence[Committed]) -> Json:
    return {
        "sessions": sorted(frozenset[int]().union(*(one.sessions for one in news))),
        "outbox": any(one.outbox for one in news),
        "schedules": any(one.schedules for one in news),
        "questions": any(one.questions for one in news),
        "forgetting": any(one.forgetting for one in news),
        "settings": any(one.rights or one.choices or one.settings for one in news),
        "signals": [[each.topic, each.message] for one in news for each in one.signals],
    }


def parts(process: str, said: Json) -> Iterator[str]:
    """A notice as it is sent, in parts where it is too long for one."""
    whole = json.dumps(said, separators=(",", ":"))  # ASCII, so characters are bytes
    pieces = [whole[at : at + LONGEST // 2] for at in range(0, len(whole), LONGEST // 2)]
    if len(whole) <= LONGEST - 200:
        pieces = [whole]
    notice = secrets.token_hex(8)
    for number, piece in enumerate(pieces):
        # Quotes within a piece are escaped, which makes it at most twice as long.
        yield json.dumps([process, notice, number, len(pieces), piece], separators=(",", ":"))
