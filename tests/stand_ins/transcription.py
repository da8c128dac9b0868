"""A server with OpenAI's /audio/transcriptions: it takes multipart forms, checks the key, and says
what it was told to."""

from collections import deque
from dataclasses import dataclass
from typing import Self

from aiohttp import BodyPartReader, web

from tests.stand_ins.serving import listen


@dataclass(frozen=True, slots=True)
class Recording:
    """One request as it arrived."""

    model: str
    name: str
    data: bytes


class TranscriptionServer:
    """Listens on 127.0.0.1 while its `async with` block runs. `faults` are statuses that are
    answered first, from the left."""

    def __init__(self, text: str, *, api_key: str | None = None) -> None:
        self._text = text
        self._api_key = api_key
        self._runner: web.AppRunner | None = None
        self.url = ""
        self.requests: list[Recording] = []
        self.faults: deque[int] = deque()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=30_000_000)
        app.router.add_post("/v1/audio/transcriptions", self._transcribe)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        self.url = f"http://127.0.0.1:{await listen(self._runner)}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _transcribe(self, request: web.Request) -> web.Response:
        if self._api_key and request.headers.get("Authorization") != f"Bearer {self._api_key}":
            return web.json_response({"error": {"message": "no such key"}}, status=401)
        model, name, data = "", "", b""
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            match part.name:
                case "model":
                    model = await part.text()
                case "file":
                    name, data = part.filename or "", bytes(await part.read())
        self.requests.append(Recording(model, name, data))
        if self.faults:
            return web.json_response({"error": {"message": "busy"}}, status=self.faults.popleft())
        return web.json_response({"text": self._text})
