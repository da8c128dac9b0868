"""A whole gateway's traces, as a collector gets them."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.configuration.config import OtelConfig
from gateway.errors import ConfigError
from gateway.tracing.choosing import collecting
from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.delegating import ANSWER, ASKING, asked, delegates, reports, says
from tests.stand_ins.collector import collector

TABLE = [{"condition": "There", "branches": {"seen": {"action": "report"}}}]
TALK = [says("so be it", tier="parent")]
SECRETS = ("secret-words", "secret-goal", "secret-evidence")


async def test_one_trace_goes_from_update_to_delivery(store: Store) -> None:
    async with collector() as there:
        sent = collecting(OtelConfig(endpoint=there.url))
        async with sent, gateway(TALK, store=store) as g:
            await g.chat.say("hello secret-words")
            await g.hears("so be it")
            await g.settled()
    (update,), (turn,), (deliver,) = map(there.named, ("update telegram", "turn", "deliver"))
    (call,) = [span for span in there.spans if span.name.startswith("chat ")]
    assert {span.trace for span in there.spans} == {update.trace}
    assert update.parent == "" and update.id == update.trace[:16]
    assert turn.parent == deliver.parent == update.id
    assert call.parent == turn.id
    assert call.attributes["gen_ai.operation.name"] == "chat"
    assert call.attributes["gen_ai.usage.input_tokens"] > 0
    assert call.attributes["gen_ai.request.model"] == call.attributes["gen_ai.response.model"]
    assert there.resources[0]["service.name"] == "bough"
    assert b"secret-words" not in there.raw


async def test_tools_and_children_stand_in_the_turn_and_say_nothing_of_what_was_said(
    store: Store,
) -> None:
    rules = [
        delegates({"goal": "secret-goal", "branch_table": TABLE}),
        reports("There", "seen", "secret-evidence"),
        ANSWER,
    ]
    async with collector() as there:
        async with collecting(OtelConfig(endpoint=there.url)), gateway(rules, store=store) as g:
            await g.chat.say("go")
            await g.hears("result")
            await g.settled()
    (turn,), (tool,) = there.named("turn"), there.named("execute_tool delegate_task")
    (child,) = there.named("invoke_agent worker")
    assert (tool.parent, child.parent) == (turn.id, tool.id)
    calls = [span for span in there.spans if span.name.startswith("chat ")]
    assert {turn.id, child.id} == {span.parent for span in calls}
    assert not any(secret.encode() in there.raw for secret in SECRETS)


async def test_a_resumed_turn_is_linked_to_the_one_that_asked(store: Store) -> None:
    rules = [
        delegates({"goal": "look", "branch_table": ASKING}),
        reports("Gone", "match"),
        says("done", tier="overseer"),
        ANSWER,
    ]
    async with collector() as there:
        async with collecting(OtelConfig(endpoint=there.url)), gateway(rules, store=store) as g:
            await g.chat.say("go")
            question = await asked(g, "Lost?")
            await g.settled()
            await g.chat.press(question, "It is there")
            await g.settled()
    first, *_, last = there.named("turn")
    assert last.attributes["bough.kind"] == "resume"
    assert last.links == (first.trace,) != (last.trace,)


async def test_a_collector_that_fails_disturbs_nobody(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async with collector() as there:
        there.status = 400
        sent = collecting(OtelConfig(endpoint=there.url))
        async with sent, gateway(TALK, store=store) as g:
            await g.chat.say("hello")
            await g.hears("so be it")
            await g.settled()
    assert there.asked
    assert caplog.text.count("traces cannot be sent") == 1


async def test_without_a_collector_the_end_is_still_reached(store: Store) -> None:
    nowhere = OtelConfig(endpoint="http://127.0.0.1:9")
    async with collecting(nowhere), gateway(TALK, store=store) as g:
        await g.chat.say("hello")
        await g.hears("so be it")


async def test_a_trace_that_is_not_sampled_is_not_sent(store: Store) -> None:
    async with collector() as there:
        config = OtelConfig(endpoint=there.url, sample=0.0)
        async with collecting(config), gateway(TALK, store=store) as g:
            await g.chat.say("hello")
            await g.hears("so be it")
            await g.settled()
    assert there.spans == []


async def test_the_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("opentelemetry", "gateway.trac"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry.context", None)
    monkeypatch.delitem(sys.modules, "gateway.tracing.otel", raising=False)
    with pytest.raises(ConfigError, match=r"bough\[otel\]"):
        async with collecting(OtelConfig(endpoint="http://localhost:4318")):
            await asyncio.sleep(0)


def test_nothing_of_it_is_imported_where_nobody_collects(tmp_path: Path) -> None:
    program = "import gateway.cli.main, sys; print([m for m in sys.modules if 'telemetry' in m])"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"
