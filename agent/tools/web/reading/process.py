"""Read a page in a process that ends when its time is over, or nobody waits for it.

Parsers of what strangers wrote run for ever on some of it, or take all memory: beside the gateway
that costs a page, in it everybody's conversations.
"""

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import asdict
from enum import StrEnum

from agent.errors import ToolError
from agent.text.untrusted import quote
from agent.tools.web.reading.serving import LONGEST_TEXT, Page, Text

_ANSWER_LIMIT = 6 * LONGEST_TEXT + 100_000
"""Bytes: JSON writes a character in at most six."""
PATIENCE = 5.0
"""Seconds more than a page may take, for the process to begin and end."""


class Reader(StrEnum):
    """The module that is run."""

    HTML = "agent.tools.web.reading.html_page"
    PDF = "agent.tools.web.reading.pdf_text"


async def read(reader: Reader, data: bytes, page: Page) -> Text:
    """The page's text. ToolError where it cannot be read, in time or at all."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        # Isolated, and with an empty environment: it has no secrets to lose.
        *("-I", "-W", "ignore", "-m", reader),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        limit=2**20,
        start_new_session=True,  # Ctrl-C is for the gateway alone
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        async with asyncio.timeout(page.seconds + PATIENCE):
            with suppress(ConnectionError):  # it ended early, which its answer says
                process.stdin.write(json.dumps(asdict(page)).encode() + b"\n")
                process.stdin.write(data)
                await process.stdin.drain()
            process.stdin.close()
            answer = await _answer(process.stdout)
    except TimeoutError:
        raise ToolError("the page was fetched, but takes too long to read") from None
    finally:
        # As in agent.tools.files.search_process: a process that has closed its output ends by
        # itself, and to signal it could take its exit status away from asyncio.
        if not process.stdout.at_eof():
            with suppress(ProcessLookupError):
                process.kill()
            while await process.stdout.read(2**20):
                pass  # what is left must be taken out, or the end is not seen
        await process.wait()
    return _text(answer)


async def _answer(output: asyncio.StreamReader) -> bytes:
    pieces, size = [], 0
    while piece := await output.read(2**20):
        pieces.append(piece)
        size += len(piece)
        if size > _ANSWER_LIMIT:
            break
    return b"".join(pieces)


def _text(answer: bytes) -> Text:
    try:
        read = json.loads(answer)
    except ValueError:  # it was ended by its limits, in the middle of a word or before
        read = None
    match read:
        case {"text": str(text), "title": str(title), "note": str(note)}:
            return Text(text, title, note)
        case {"error": str(error)}:
            raise ToolError(f"the page was fetched, but cannot be read: {quote(error, 200)}")
        case _:
            raise ToolError("the page was fetched, but reading it took too much time or memory")
