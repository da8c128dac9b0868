"""Run agent.file_search as a process that ends when its time is over, or nobody waits for it."""

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from agent.file_search import Hit, Query, Summary
from agent.workspace import WorkspaceError

_ANSWER_LIMIT = 1_048_576
"""Bytes of one line of the program's output, far more than it writes."""


@dataclass(slots=True)
class Found:
    hits: list[Hit] = field(default_factory=list)
    summary: Summary | None = None
    """None where the search did not come to its end."""


async def search(query: Query, seconds: float) -> Found:
    """What a search finds in `seconds`. Raises WorkspaceError for a bad pattern or path."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "agent.file_search"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_ANSWER_LIMIT,
        start_new_session=True,  # Ctrl-C is for the gateway alone
    )
    found = Found()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await _converse(process, query, found)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return found


async def _converse(process: asyncio.subprocess.Process, query: Query, found: Found) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(asdict(query)).encode())
    process.stdin.close()
    async for line in process.stdout:
        match json.loads(line):
            case {"hit": hit}:
                found.hits.append(Hit(**hit))
            case {"summary": summary}:
                found.summary = Summary(**summary)
            case {"error": text}:
                raise WorkspaceError(text)
