import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import SecretStr

from agent.models.media.transcription import LONGEST_TEXT, NotHeard, Transcription
from agent.settings import TranscriptionConfig
from tests.stand_ins.transcription import TranscriptionServer

KEY = "sk-of-the-listener"


def listener(url: str, timeout: float = 30.0) -> Transcription:
    return Transcription(
        TranscriptionConfig(
            model="whisper-1", api_base=url, api_key=SecretStr(KEY), timeout=timeout
        )
    )


@asynccontextmanager
async def answering(answer: Callable[[], web.StreamResponse]) -> AsyncIterator[str]:
    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        return answer()

    app = web.Application()
    app.router.add_post("/audio/transcriptions", handle)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


async def test_what_is_said_is_written_down() -> None:
    async with TranscriptionServer(" hello\n", api_key=KEY) as server:
        assert await listener(server.url).text_of(b"OggS", "voice.ogg") == "hello"
    assert [(one.model, one.name) for one in server.requests] == [("whisper-1", "voice.ogg")]


async def test_a_busy_server_is_asked_again_but_not_for_ever() -> None:
    async with TranscriptionServer("hello", api_key=KEY) as server:
        server.faults.extend([503, 429])
        assert await listener(server.url).text_of(b"OggS", "voice.ogg") == "hello"
        server.faults.extend([500] * 9)
        with pytest.raises(NotHeard, match=r"is busy \(HTTP 500\)"):
            await listener(server.url).text_of(b"OggS", "voice.ogg")
    assert len(server.requests) == 6


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 302])
async def test_a_refusal_is_said_once_without_the_key(status: int) -> None:
    async with TranscriptionServer("hello", api_key=KEY) as server:
        server.faults.append(status)
        with pytest.raises(NotHeard, match=f"HTTP {status}") as raised:
            await listener(server.url).text_of(b"OggS", "voice.ogg")
    assert KEY not in str(raised.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "said", ["", "no JSON", "[]", "{}", '{"text": null}', '{"text": 3}', "[" * 5_000]
)
async def test_garbage_is_no_text(said: str) -> None:
    async with answering(lambda: web.Response(text=said)) as url:
        with pytest.raises(NotHeard, match="gave no text"):
            await listener(url).text_of(b"OggS", "voice.ogg")


async def test_an_answer_is_bounded() -> None:
    async with answering(lambda: web.json_response({"text": "x" * 100_000})) as url:
        assert len(await listener(url).text_of(b"OggS", "voice.ogg")) == LONGEST_TEXT
    async with answering(lambda: web.json_response({"text": "x" * 3_000_000})) as url:
        with pytest.raises(NotHeard, match="too long"):
            await listener(url).text_of(b"OggS", "voice.ogg")


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gone.wait()
        writer.close()

    gone = asyncio.Event()
    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        with pytest.raises(NotHeard, match="took too long"):
            await listener(f"http://127.0.0.1:{port}", timeout=0.2).text_of(b"OggS", "voice.ogg")
    finally:
        gone.set()
        server.close()
        await server.wait_closed()


async def test_a_server_that_is_not_there_is_said_to_be_away() -> None:
    with pytest.raises(NotHeard, match="cannot be reached"):
        await listener("http://127.0.0.1:9").text_of(b"OggS", "voice.ogg")
