"""What is said in a recording, written down by a server with OpenAI's /audio/transcriptions."""

import asyncio
import json
import logging
import ssl
from typing import Protocol

import httpx

from agent.backoff import backoff
from agent.models.retry import read_retry_after
from agent.settings import TranscriptionConfig
from agent.text.untrusted import visible

log = logging.getLogger(__name__)

DEFAULT_BASE = "https://api.openai.com/v1"
LONGEST_TEXT = 60_000
"""Characters: more than an hour of talk."""
_MOST_BYTES = 2_000_000
"""Of an answer."""
_TRIES = 3
_CONNECT_SECONDS = 10.0
_LONGEST_PAUSE = 30.0


class NotHeard(Exception):
    """The text says why, for people, without secrets."""


class _Again(Exception):
    """Worth another try, after so many seconds where the server says so."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class Transcriber(Protocol):
    async def text_of(self, data: bytes, name: str) -> str:
        """What is said in a recording; NotHeard where that cannot be had."""
        ...


class Transcription:
    """`name` of a file tells the server its format by its suffix, so it is ours."""

    def __init__(self, config: TranscriptionConfig) -> None:
        self._config = config
        self._certificates: ssl.SSLContext | None = None
        """Read once: that takes 70 ms, in which nothing else could be done."""

    async def text_of(self, data: bytes, name: str) -> str:
        pauses, why = backoff(0.5, _LONGEST_PAUSE), ""
        for attempt in range(_TRIES):
            try:
                async with asyncio.timeout(self._config.timeout):
                    return await self._ask(data, name)
            except TimeoutError:
                raise NotHeard("the service that writes down voices took too long") from None
            except _Again as error:
                why, pause = str(error), next(pauses)
                if error.after is not None:
                    pause = min(max(pause, error.after), _LONGEST_PAUSE)
                log.warning("a recording is not written down yet: %s", why)
                if attempt < _TRIES - 1:
                    await asyncio.sleep(pause)
        raise NotHeard(why)

    async def _ask(self, data: bytes, name: str) -> str:
        key = self._config.api_key
        headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key is not None else {}
        url = (self._config.api_base or DEFAULT_BASE).rstrip("/") + "/audio/transcriptions"
        timeout = httpx.Timeout(self._config.timeout, connect=_CONNECT_SECONDS)
        if self._certificates is None:
            self._certificates = await asyncio.to_thread(httpx.create_ssl_context)
        fields = {"model": self._config.model, "response_format": "json"}
        try:
            async with (
                httpx.AsyncClient(
                    timeout=timeout, follow_redirects=False, verify=self._certificates
                ) as client,
                client.stream(
                    "POST", url, headers=headers, data=fields, files={"file": (name, data)}
                ) as response,
            ):
                answer = await _bounded(response)
        except httpx.TimeoutException:
            raise NotHeard("the service that writes down voices took too long") from None
        except httpx.HTTPError:
            raise _Again("the service that writes down voices cannot be reached") from None
        return _text(response, answer)


async def _bounded(response: httpx.Response) -> bytes:
    answer = bytearray()
    async for piece in response.aiter_bytes():
        answer += piece
        if len(answer) > _MOST_BYTES:
            raise NotHeard("the service that writes down voices gave an answer that is too long")
    return bytes(answer)


def _text(response: httpx.Response, answer: bytes) -> str:
    status = response.status_code
    if status == 429 or status >= 500:
        after = read_retry_after(response.headers)
        raise _Again(f"the service that writes down voices is busy (HTTP {status})", after)
    if status in (401, 403, 404):
        raise NotHeard(
            f"the service that writes down voices refuses us (HTTP {status}); the bot's owner can "
            "look at [models.transcription]"
        )
    if status != 200:
        raise NotHeard(f"the service that writes down voices cannot read it (HTTP {status})")
    try:
        text = json.loads(answer)["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise NotHeard("the service that writes down voices gave no text")
    return visible(text).strip()[:LONGEST_TEXT]
