"""Other keys and another server where one fails, through litellm and over HTTP."""

import logging
from collections.abc import AsyncIterator

import pytest

from agent.models.base import ModelError, ModelErrorKind, ModelSpec, Request
from agent.models.fallback import Fallback, KeyRotation
from agent.models.litellm.model import LitellmModel
from agent.models.registry import Models
from agent.models.retry import Retrying
from agent.models.scripted import Answer, Rule
from storage.records.entries import message
from tests.stand_ins.model import ModelServer, Status

GOOD, BAD, WORSE = "sk-the-good-key", "sk-the-bad-key", "sk-the-worse-key"
MESSAGES = [message("system", "be kind"), message("user", "hello")]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer([Rule(reply=Answer(text="hello"))]) as server:
        yield server


@pytest.fixture
async def strict() -> AsyncIterator[ModelServer]:
    """Takes only the good key; refusals do not reach its requests."""
    async with ModelServer([Rule(reply=Answer(text="hello"))], api_key=GOOD) as server:
        yield server


def keyed(server: ModelServer, *keys: str) -> Request:
    spec = ModelSpec("parent", "m", api_base=server.url, api_key=keys[0], api_keys=keys)
    return Request(spec, MESSAGES)


def used(server: ModelServer) -> list[str]:
    return [r.headers["Authorization"].removeprefix("Bearer ") for r in server.requests]


async def test_a_refused_key_is_followed_by_the_next_and_the_working_one_stays(
    strict: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    model = KeyRotation(LitellmModel())
    with caplog.at_level(logging.WARNING):
        assert (await model.complete(keyed(strict, BAD, GOOD))).content == "hello"
    assert "key 1 of 2" in caplog.text
    caplog.clear()
    assert (await model.complete(keyed(strict, BAD, GOOD))).content == "hello"
    assert "key 1 of 2" not in caplog.text
    assert used(strict) == [GOOD, GOOD]


async def test_a_busy_key_is_followed_by_the_next_before_anything_is_waited_for(
    server: ModelServer,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    server.faults.append(Status(429, {"Retry-After": "30"}))
    model = Retrying(KeyRotation(LitellmModel()), sleep=sleep)
    await model.complete(keyed(server, BAD, GOOD))
    assert used(server) == [BAD, GOOD]
    assert waits == []


async def test_each_key_is_tried_once_and_a_busy_one_is_worth_waiting_for(
    server: ModelServer,
) -> None:
    server.faults.extend([Status(429, {"Retry-After": "7"}), Status(401), Status(401)])
    with pytest.raises(ModelError) as caught:
        await KeyRotation(LitellmModel()).complete(keyed(server, BAD, GOOD, WORSE))
    assert used(server) == [BAD, GOOD, WORSE]
    assert (caught.value.kind, caught.value.retry_after) == (ModelErrorKind.RATE_LIMIT, 7)


async def test_where_every_key_is_refused_that_is_said_without_a_key(
    strict: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ModelError) as caught, caplog.at_level(logging.DEBUG):
        await KeyRotation(LitellmModel()).complete(keyed(strict, BAD, WORSE))
    assert caught.value.kind is ModelErrorKind.AUTH
    for key in (BAD, WORSE):
        assert key not in str(caught.value)
        assert key not in caplog.text


@pytest.mark.parametrize("status", [400, 500])
async def test_what_is_not_a_keys_fault_is_raised_at_once(server: ModelServer, status: int) -> None:
    server.faults.append(Status(status))
    with pytest.raises(ModelError):
        await KeyRotation(LitellmModel()).complete(keyed(server, BAD, GOOD))
    assert used(server) == [BAD]


async def test_a_server_that_is_down_is_replaced_by_another(server: ModelServer) -> None:
    async with ModelServer([Rule(reply=Answer(text="the spare one"))]) as spare:
        server.faults.append(Status(503))
        models = Models(
            {"parent": ModelSpec("parent", "m", api_base=server.url, fallback=("spare",))},
            {"spare": ModelSpec("spare", "s", api_base=spare.url)},
        )
        request = Request(models.tier("parent"), MESSAGES)
        reply = await Fallback(LitellmModel(), models).complete(request)
    assert (reply.content, reply.model) == ("the spare one", "s")


# Configuration
