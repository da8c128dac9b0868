"""A streamed call: the text is told as it comes, and the answer put together at the end.

What speaks OpenAI's protocol is read here, byte by byte: litellm's reader loses events that hold a
line separator of Unicode, takes "[DONE]" within a text for the end, and does not see that a stream
was cut between two events. Other protocols are litellm's to read.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from agent.models.base import ModelErrorKind, ModelSpec
from agent.models.heard import Listener
from agent.models.litellm.chunks import Gathered, think
from agent.models.litellm.errors import model_error
from agent.models.litellm.mending import check
from agent.models.litellm.reading import in_text
from agent.models.litellm.sse import Events, NoEvent
from agent.models.litellm.usage import in_one_piece
from agent.models.thinking import ThinkingSplitter
from storage.json_text import clean
from storage.records.entries import Json

AFTER_THE_END = 5.0
"""Seconds in which the usage may follow an answer that is complete."""

_READ_HERE = frozenset(
    {
        "CometAPIChatCompletionStreamingHandler",
        "DatabricksChatResponseIterator",
        "OVHCloudChatCompletionStreamingHandler",
        "OpenAIChatCompletionStreamingHandler",
        "SnowflakeStreamingHandler",
        "GroqChatCompletionStreamingHandler",
        "MistralChatResponseIterator",
        "OpenRouterChatCompletionStreamingHandler",
    }
)
"""litellm's readers of OpenAI's protocol. Where a provider differs, `Gathered` knows it."""


class Alive(Protocol):
    def __call__(self, ended: bool = False) -> None:
        """Something came; what is `ended` need not come any further."""
        ...


@asynccontextmanager
async def watched(spec: ModelSpec) -> AsyncIterator[Alive]:
    """Give up where nothing comes for the model's `stall_seconds`; what is given is called for
    each piece that does. Raises ModelError."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(spec.stall_seconds) as quiet:

            def alive(ended: bool = False) -> None:
                quiet.reschedule(None if ended else loop.time() + spec.stall_seconds)

            yield alive
    except TimeoutError:
        if not quiet.expired():
            raise
        text = f"it said nothing for {spec.stall_seconds:g} s"
        raise model_error(spec, ModelErrorKind.UNAVAILABLE, text) from None


async def streamed(litellm: Any, spec: ModelSpec, arguments: Json, listener: Listener) -> Any:
    """The answer as litellm gives one that was not streamed. Raises whatever litellm does."""
    async with watched(spec) as alive:
        stream = await litellm.acompletion(**arguments, stream=True)
        if not hasattr(stream, "completion_stream"):
            return in_text(stream)  # a provider that has no streams
        if stream.completion_stream is None:
            await stream.fetch_stream()  # Gemini's: litellm opens it when it is first read
        reader = stream.completion_stream
        response = getattr(reader, "http_response", None)
        if response is not None and _is_read_here(reader, response):
            try:
                gathered = await _read_here(spec, response, listener, alive)
            finally:
                await response.aclose()
            return _as_response(litellm, gathered)
        try:
            return await _read_there(litellm, spec, stream, arguments, listener, alive)
        finally:
            await stream.aclose()


def _is_read_here(reader: Any, response: Any) -> bool:
    """Snowflake speaks Anthropic's protocol too, at an address of its own."""
    names = {kind.__name__ for kind in type(reader).__mro__}
    return bool(names & _READ_HERE) and not str(response.url).endswith("/messages")


async def _read_here(spec: ModelSpec, response: Any, listener: Listener, alive: Alive) -> Gathered:
    events, gathered = Events(), Gathered(listener)
    try:
        await _read_events(spec, response, events, gathered, alive)
    except NoEvent as error:
        raise model_error(spec, ModelErrorKind.BAD_REPLY, str(error)) from None
    if not gathered.said and not events.any:
        text = "it answered, but not with anything that can be read as a reply"
        raise model_error(spec, ModelErrorKind.BAD_REPLY, text)
    return gathered


async def _read_events(
    spec: ModelSpec, response: Any, events: Events, gathered: Gathered, alive: Alive
) -> None:
    import httpx

    def take(chunk: Json) -> None:
        check(chunk)
        gathered.add(chunk)
        alive(ended=bool(gathered.finish))

    try:
        async with asyncio.timeout(None) as rest:
            async for data in response.aiter_bytes():
                for chunk in events.feed(data):
                    take(chunk)
                if events.done:
                    break
                if gathered.finish and rest.when() is None:
                    rest.reschedule(asyncio.get_running_loop().time() + AFTER_THE_END)
            for chunk in events.end():
                take(chunk)
    except (httpx.TransportError, httpx.StreamError):
        if not gathered.finish:
            raise
    except TimeoutError:
        if not rest.expired():
            raise
    if events.any and not (gathered.finish or events.done):
        text = "the connection was cut in the middle of the answer"
        raise model_error(spec, ModelErrorKind.UNAVAILABLE, text)


def _as_response(litellm: Any, gathered: Gathered) -> Any:
    """What litellm makes of the same answer in one piece."""
    response = in_one_piece(litellm, gathered.completion())
    if gathered.text and response.choices:
        # litellm would take out of the text what looks like thinking; but it has been heard.
        message = response.choices[0].message
        if message.content != gathered.text:
            message.content, message.reasoning_content = gathered.text, gathered.thoughts or None
    return response


def _ended(stream: Any) -> bool:
    """Whether the provider said why it stopped; of Gemini litellm keeps that aside."""
    return bool(stream.received_finish_reason or stream.intermittent_finish_reason)


async def _read_there(
    litellm: Any, spec: ModelSpec, stream: Any, arguments: Json, listener: Listener, alive: Alive
) -> Any:
    chunks: list[Any] = []
    text: list[str] = []
    thoughts: list[Any] = []

    def tell(said: str) -> None:
        text.append(said)
        listener(said)

    splitter = ThinkingSplitter(tell)
    try:
        async with asyncio.timeout(None) as rest:
            async for chunk in stream:
                chunks.append(chunk)
                for choice in chunk.choices[:1]:
                    think(thoughts, getattr(choice.delta, "thinking_blocks", None) or [])
                    if isinstance(content := choice.delta.content, str) and content:
                        splitter.feed(clean(content))
                ended = _ended(stream)
                alive(ended=ended)
                if ended and rest.when() is None:
                    rest.reschedule(asyncio.get_running_loop().time() + AFTER_THE_END)
    except TimeoutError:
        if not rest.expired():
            raise
    if chunks and not _ended(stream):
        broken = "the connection was cut in the middle of the answer"
        raise model_error(spec, ModelErrorKind.UNAVAILABLE, broken)
    whole = litellm.stream_chunk_builder(chunks, messages=arguments["messages"])
    if whole is None:
        raise model_error(spec, ModelErrorKind.BAD_REPLY, "it answered without any choice")
    choice = whole.choices[0]
    splitter.end(cut=choice.finish_reason == "length")
    message = choice.message
    message.content = "".join(text) or None
    if splitter.thoughts and not getattr(message, "reasoning_content", None):
        message.reasoning_content = splitter.thoughts
    if thoughts:
        message.thinking_blocks = thoughts  # litellm puts each together twice
    return whole
