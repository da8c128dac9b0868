"""Streams as model servers write them, and a call of litellm that listens to one."""

import json
from typing import Any

import pytest

from agent.models.base import ModelError, ModelSpec, Reply, Request
from agent.models.litellm.model import LitellmModel
from storage.records.entries import Json, message
from tests.stand_ins.model import Events, Fault, ModelServer

USER = message("user", "go on")
MODEL = LitellmModel()
DONE = b"data: [DONE]\n\n"


def chunk(finish: str | None = None, **delta: Any) -> Json:
    choice = {"index": 0, "finish_reason": finish, "delta": delta}
    return {"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def sse(*events: Json, line_break: str = "\n", name: str = "data: ") -> bytes:
    end = 2 * line_break
    return "".join(f"{name}{json.dumps(event)}{end}" for event in events).encode()


STOP = sse(chunk("stop")) + DONE


def call(index: int | None = None, **more: Any) -> Json:
    at = {} if index is None else {"index": index}
    return chunk(tool_calls=[at | more])


def named(name: str, arguments: str = "") -> Json:
    return {"name": name, "arguments": arguments}


class Heard:
    def __init__(self) -> None:
        self.pieces: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.pieces)


async def ask(
    server: ModelServer, *faults: Fault, heard: Heard | None = None, **spec: Any
) -> Reply:
    server.faults.extend(faults)
    heard = heard or Heard()
    given = ModelSpec("parent", "openai/m", api_base=server.url, **spec)
    reply = await MODEL.complete(Request(given, [USER], heard=heard.pieces.append))
    assert reply.content.startswith(heard.text)
    return reply


async def broken(server: ModelServer, *faults: Fault, **spec: Any) -> ModelError:
    heard = Heard()
    with pytest.raises(ModelError) as caught:
        await ask(server, *faults, heard=heard, **spec)
    assert caught.value.partial == heard.text
    assert (caught.value.usage is not None) == bool(heard.text)
    return caught.value


def stream(*events: Json, then: bytes = STOP) -> Events:
    return Events([sse(*events) + then])
