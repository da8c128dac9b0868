"""Run `search` as a process that ends when its time is over, or nobody waits for it."""

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from agent.tools.files.search import Hit, Query, Summary
from agent.tools.files.workspace import WorkspaceError

_ANSWER_LIMIT = 1_048_576
"""Bytes of one line of the program's output, far more than it writes."""


@dataclass(slots=True)
class Found:
    hits: list[Hit] = field(default_factory=list)
    summary: Summary | None = None
    """None where the time was over before the search was."""


async def search(query: Query, seconds: float) -> Found:
    """What a search finds in `seconds`. Raises WorkspaceError for a bad pattern or path."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-W", "ignore", "-m", "agent.tools.files.search"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_ANSWER_LIMIT,
        start_new_session=True,  # Ctrl-C is for the gateway alone
    )
    assert process.stdin is not None and process.stdout is not None
    found = Found()
    try:
        async with asyncio.timeout(seconds):
            process.stdin.write(json.dumps(asdict(query)).encode())
            process.stdin.close()
            error = await _collect(process.stdout, found)
    except TimeoutError:
        return found
    finally:
        # A process that has closed its output is left to end: to signal it could take its exit
        # status away from asyncio, which then warns.
        if not process.stdout.at_eof():
            with suppress(ProcessLookupError):
                process.kill()
        await process.wait()
    if error is None and found.summary is None:
        error = f"the search broke off (exit status {process.returncode})"
    if error is not None:
        raise WorkspaceError(error)
    return found


async def _collect(output: asyncio.StreamReader, found: Found) -> str | None:
    """Everything up to the end of the output; gives the error that it tells of."""
    error: str | None = None
    async for line in output:
        match json.loads(line):
            case {"hit": hit}:
                found.hits.append(Hit(**hit))
            case {"summary": summary}:
                found.summary = Summary(**summary)
            case {"error": text}:
                error = str(text)
    return error
