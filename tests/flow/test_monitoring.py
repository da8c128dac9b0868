"""Operators ask a running gateway how it is: what it counts, whether it lives, whether it is
ready."""

import asyncio
import socket
from pathlib import Path

import aiohttp
import pytest

from adapters.base import Misconfigured
from adapters.serving.listening import Listen
from agent.tools.think import ThinkTool
from gateway.monitoring.server import MonitoringServer
from gateway.running.platforms.platform_supervisor import REFUSED
from storage.records.entries import Json
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import PATIENCE, SpyModel, gateway
from tests.flow.monitoring import SERVER, Answer, Ask, Numbers, asking, asking_at, scraped
from tests.flow.telegram_gateway import (
    ANN,
    KEY,
    OWNER,
    STRANGER,
    TOKEN,
    call,
    delegate,
    report,
    says,
    telegram_gateway,
)
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer

ECHO = [{"reply": {"text": "you said: {last}"}}]
TABLE = [
    {"condition": "Fine", "branches": {"ok": "report"}},
    {
        "condition": "Gone",
        "branches": {"match": {"action": "escalate", "tier": "human", "prompt": "Dead?"}},
    },
    {"default": "escalate"},
]
RULES: list[Json] = [
    delegate(TABLE),
    report(2, "match"),
    call("parent", ThinkTool.name, {"thought": "hm"}, last="^think$"),
    says("parent", "talk: {last}"),
]


async def until(ask: Ask, name: str, labels: tuple[str, ...], value: float) -> Numbers:
    """The numbers, once one of them is so large."""
    async with asyncio.timeout(PATIENCE):
        while (found := await scraped(ask)).get((name, labels), 0) < value:
            await asyncio.sleep(0.02)
    return found


async def test_a_scrape_says_what_the_gateway_did(tmp_path: Path) -> None:
    async with (
        telegram_gateway(tmp_path, RULES, server=SERVER) as g,
        asking(g.app) as ask,
    ):
        before = await scraped(ask)
        assert before["bough_ready", ("telegram",)] == 1
        assert ("bough_turns_total", ("message", "answered")) not in before
        g.telegram.fail_next("sendMessage", 1, "429", seconds=1)
        g.say("hello")
        await g.hears("talk: hello")
        g.say("think")
        await g.hears("talk: ")
        g.say("let me in", chat=STRANGER)
        await g.hears("I do not know you", chat=STRANGER)
        await g.settled()
        found = await until(ask, "bough_deliveries_total", ("sent", "telegram"), 3)
        assert found["bough_turns_total", ("message", "answered")] == 2
        assert found["bough_turn_wait_seconds_count", ("message",)] == 2
        assert found["bough_turns_running", ()] == 0
        assert found["bough_model_calls_total", ("ok", "parent")] == 3
        assert found["bough_model_input_tokens_total", ("parent",)] > 0
        assert found["bough_model_cost_dollars_total", ("parent",)] > 0
        assert found["bough_tool_calls_total", ("done", "think")] == 1
        assert found["bough_throttled_total", ("telegram",)] == 1
        assert found["bough_strangers_refused_total", ("telegram",)] == 1
        assert found["bough_store_up", ()] == 1
        assert found["bough_outbox_pending", ("telegram",)] == 0


async def test_a_question_is_counted_while_it_is_open_and_when_it_is_decided(
    tmp_path: Path,
) -> None:
    async with (
        telegram_gateway(tmp_path, RULES, server=SERVER) as g,
        asking(g.app) as ask,
    ):
        g.say("go")
        question = await g.hears("Dead?")
        await g.settled()
        found = await until(ask, "bough_questions_open", ("escalation",), 1)
        assert found["bough_questions_asked_total", ("escalation",)] == 1
        assert found["bough_questions_oldest_age_seconds", ("escalation",)] > 0
        assert found["bough_turns_total", ("message", "waiting")] == 1
        assert found["bough_delegations_total", ("waiting",)] == 1
        g.press(question, "Stop")
        await g.hears("talk: ")
        await g.settled()
        closed = ("escalation", "decided")
        found = await until(ask, "bough_questions_closed_total", closed, 1)
        assert found["bough_turns_total", ("resume", "answered")] == 1
        assert sum(v for (n, _), v in found.items() if n == "bough_delegations_total") == 3
        async with asyncio.timeout(PATIENCE):
            while (await scraped(ask))["bough_questions_open", ("escalation",)]:
                await asyncio.sleep(0.05)


async def test_what_models_are_and_are_not_asked_is_counted_by_what_came_of_it(
    tmp_path: Path,
) -> None:
    async with (
        telegram_gateway(tmp_path, RULES, server=SERVER, budgets={"day": 1e-9}) as g,
        asking(g.app) as ask,
    ):
        g.say("hello")
        await g.hears("budget")
        await g.settled()
        found = await scraped(ask)
        assert found["bough_model_calls_total", ("budget", "parent")] == 1
        assert found["bough_turns_total", ("message", "budget")] == 1
        assert ("bough_model_failed_attempts_total", ("budget", "parent")) not in found


async def test_a_turn_that_is_stopped_is_counted_as_such(store: Store) -> None:
    slow = [{"reply": {"text": "late", "delay": 60}}]
    async with gateway(slow, store=store, config={"server": SERVER}) as g, asking(g.app) as ask:
        await g.chat.say("hello")
        await g.model.called("parent")
        assert (await scraped(ask))["bough_turns_running", ()] == 1
        assert (await scraped(ask))["bough_model_calls_running", ()] == 1
        await g.chat.say("/stop")
        await g.settled()
        found = await until(ask, "bough_turns_total", ("message", "interrupted"), 1)
        assert found["bough_model_calls_total", ("cancelled", "parent")] == 1
        assert found["bough_turns_running", ()] == 0
        assert found["bough_model_calls_running", ()] == 0


async def test_nothing_that_people_or_models_say_and_nothing_of_who_they_are_is_shown(
    tmp_path: Path,
) -> None:
    odd = call("parent", "no_such_tool_xyz", {"secret": "tulip"}, last="^odd")
    async with (
        telegram_gateway(tmp_path, [odd, *RULES], server=SERVER) as g,
        asking(g.app) as ask,
    ):
        g.say("odd daffodil")
        await g.hears("talk: ")
        g.say("rose", chat=STRANGER)
        g.say("go", chat=ANN)
        await g.hears("Dead?", chat=ANN)
        await g.settled()
        pages = [await ask(path) for path in ("/metrics", "/readyz", "/healthz", "/other")]
        shown = "\n".join(f"{page.text} {page.headers}" for page in pages)
        for secret in ("tulip", "daffodil", "rose", "Olga", "Dead?", "xyz", TOKEN, KEY):
            assert secret not in shown
        for person in (OWNER, ANN, STRANGER):
            assert f'{person}"' not in shown and f":{person}" not in shown


async def test_three_paths_are_answered_to_who_reads_and_no_other(store: Store) -> None:
    async with gateway(ECHO, store=store, config={"server": SERVER}) as g, asking(g.app) as ask:
        for path in ("/metrics", "/healthz", "/readyz"):
            read, head = await ask(path), await ask(path, "HEAD")
            assert (read.status, head.status) == (200, 200)
            assert read.text and not head.text
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                refused = await ask(path, method)
                assert refused.status == 405
                assert refused.headers["Allow"] == "GET, HEAD"
        for path in ("/", "/metrics/", "/metrics/../healthz/x", "/favicon.ico"):
            assert (await ask(path)).status == 404
        assert (await ask("/metrics?name=x")).status == 200


async def test_a_port_that_is_taken_is_said_with_what_to_do(tmp_path: Path, store: Store) -> None:
    async with gateway(ECHO, store=store, config={"server": SERVER}) as g, asking(g.app):
        port = g.app.monitor.port  # type: ignore[attr-defined]
        second = await SqlStore.open(f"sqlite:///{tmp_path}/second.db")
        with pytest.raises(Misconfigured) as refused:
            async with asyncio.timeout(PATIENCE):
                await _run_beside(second, port)
    assert f"port {port}" in str(refused.value)
    assert "change [server] listen, or end the program that is there" in str(refused.value)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6 here")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_who_listens_at_all_addresses_of_ipv6_serves_ipv4_too(host: str) -> None:
    server = MonitoringServer(Listen.parse("[::]:0"), {})
    await server.open()
    try:
        reader, writer = await asyncio.open_connection(host, server.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 404")
        writer.close()
    finally:
        await server.close()


async def _run_beside(store: Store, port: int) -> None:
    from adapters.recording import RecordingAdapter
    from gateway.app import bootstrap
    from gateway.configuration.config import Config

    config = Config.model_validate({"server": {"listen": f"127.0.0.1:{port}"}})
    chat = RecordingAdapter(name="telegram")
    app = await bootstrap(config, adapters=[chat], store=store, model=SpyModel(ECHO))
    await app.run()


async def test_who_ends_lives_and_is_not_ready(store: Store) -> None:
    async with gateway(ECHO, store=store, config={"server": SERVER}) as g, asking(g.app) as ask:
        assert (await ask("/readyz")).json["ready"]
        g.app.monitor.drain()
        told = await ask("/readyz")
        assert told.status == 503
        assert told.json["not_ready"] == {"running": "the process ends"}
        assert (await ask("/healthz")).status == 200
        assert (await scraped(ask))["bough_ready", ("running",)] == 0


async def test_a_task_that_dies_while_the_others_go_on_is_no_life(store: Store) -> None:
    async with gateway(ECHO, store=store, config={"server": SERVER}) as g, asking(g.app) as ask:
        assert (await ask("/healthz")).json == {"alive": True}
        (delivery,) = [task for task in asyncio.all_tasks() if task.get_name() == "delivery"]
        delivery.cancel()
        await asyncio.wait([delivery])
        told = await ask("/healthz")
        assert told.status == 503
        assert told.json == {"alive": False, "ended": ["delivery"]}


async def test_a_platform_that_is_away_makes_it_unready_until_it_is_back(tmp_path: Path) -> None:
    port = free_port()
    server = {"listen": f"127.0.0.1:{port}"}
    async with (
        telegram_gateway(tmp_path, RULES, server=server, started=False) as g,
        asking_at(port) as ask,
    ):
        g.telegram.fail_next("getMe", 2, kind="502")
        starting = asyncio.create_task(g.start())
        async with asyncio.timeout(PATIENCE):
            while (told := await _said(ask)) is None or "telegram" not in told.json["not_ready"]:
                await asyncio.sleep(0.01)
            assert told.status == 503
            assert (await ask("/healthz")).status == 200
            await starting
            while (await ask("/readyz")).status != 200:
                await asyncio.sleep(0.05)


async def test_a_platform_that_refuses_what_is_configured_is_called_so(tmp_path: Path) -> None:
    async with (
        telegram_gateway(tmp_path, RULES, server=SERVER) as g,
        asking(g.app) as ask,
    ):
        g.telegram.fail_next("getMe", 1, kind="400", description="Bad Request: logged out")
        g.telegram.fail_next("getUpdates", 1, kind="400", description="Bad Request: logged out")
        g.say("hello")
        async with asyncio.timeout(PATIENCE):
            while "telegram" not in (told := (await ask("/readyz")).json)["not_ready"]:
                await asyncio.sleep(0.01)
            assert told["not_ready"]["telegram"] == REFUSED
            assert (await ask("/healthz")).status == 200
            while not (await ask("/readyz")).json["ready"]:
                await asyncio.sleep(0.05)
        await g.hears("talk: hello")


async def _said(ask: Ask) -> Answer | None:
    """None while nobody listens."""
    try:
        return await ask("/readyz")
    except aiohttp.ClientConnectionError:
        return None


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_database_that_goes_away_makes_it_unready_and_not_dead_until_it_is_back(
    store: Store, postgres_server: PostgresServer
) -> None:
    async with gateway(ECHO, store=store, config={"server": SERVER}) as g, asking(g.app) as ask:
        await g.chat.say("before")
        await g.hears("you said: before")
        await g.settled()
        assert (await ask("/readyz")).status == 200
        postgres_server.stop()
        try:
            async with asyncio.timeout(PATIENCE):
                while (told := await ask("/readyz")).status == 200:
                    await asyncio.sleep(0.05)
            assert list(told.json["not_ready"]) == ["database"]
            assert (await ask("/healthz")).status == 200
            found = await scraped(ask)
            async with asyncio.timeout(PATIENCE):
                while found["bough_store_up", ()]:
                    found = await scraped(ask)
            assert ("bough_inbox_open", ("telegram",)) not in found
            assert found["bough_turns_total", ("message", "answered")] == 1
        finally:
            postgres_server.start()
        async with asyncio.timeout(PATIENCE):
            while (await ask("/readyz")).status != 200:
                await asyncio.sleep(0.05)
        await until(ask, "bough_store_up", (), 1)
        await g.chat.say("after")
        await g.hears("you said: after")


async def test_without_a_place_to_listen_nothing_listens_and_nothing_is_imported(
    store: Store,
) -> None:
    from gateway.monitoring.monitor import Unmonitored

    async with gateway(ECHO, store=store) as g:
        assert isinstance(g.app.monitor, Unmonitored)
