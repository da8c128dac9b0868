"""What litellm sends to providers of each kind: caught by a server that takes any path."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from agent.models.base import ModelError, ModelSpec, Request
from agent.models.litellm.model import LitellmModel
from storage.records.entries import Json, message
from tests.stand_ins.serving import listen

PROVIDERS = {
    "openai": "openai/gpt-5-mini",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "mistral": "mistral/mistral-large-latest",
    "ollama": "ollama_chat/qwen3",
}
"""Provider → a model of it that takes tools."""


@dataclass
class Catcher:
    """Refuses every request and keeps its body."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    bodies: list[Json] = field(default_factory=list)

    async def refuse(self, request: web.Request) -> web.Response:
        self.paths.append(request.path)
        self.bodies.append(await request.json() if request.can_read_body else {})
        return web.json_response({"error": {"message": "caught"}}, status=400)


@asynccontextmanager
async def catching() -> AsyncIterator[Catcher]:
    catcher = Catcher()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", catcher.refuse)
    runner = web.AppRunner(app)
    try:
        catcher.url = f"http://127.0.0.1:{await listen(runner)}"
        yield catcher
    finally:
        await runner.cleanup()


async def sent(
    provider: str, tools: Sequence[Json], tool_choice: str = "", effort: str | None = None
) -> Json:
    """The body of a request for a model of the provider, with these tools."""
    async with catching() as catcher:
        spec = ModelSpec(
            "worker",
            PROVIDERS[provider],
            api_base=catcher.url,
            api_key="sk-test",
            reasoning_effort=effort,
        )
        request = Request(spec, [message("user", "go")], tools, tool_choice=tool_choice)
        try:
            await LitellmModel().complete(request)
        except ModelError:
            return catcher.bodies[-1]
    raise AssertionError("the request was not refused")


def parameters_in(provider: str, body: Json) -> Json:
    """The schema of the only tool's arguments, wherever the provider has it."""
    (tool,) = body["tools"]
    match provider:
        case "anthropic":
            found: Json = tool["input_schema"]
        case "gemini":
            (declared,) = tool["function_declarations"]
            found = declared["parameters"]
        case _:
            found = tool["function"]["parameters"]
    return found
