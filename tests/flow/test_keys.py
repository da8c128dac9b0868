"""Several keys and spare models, as `bough run` uses them: through litellm, over HTTP."""

import logging
from pathlib import Path

import pytest

from agent.models.scripted import Answer, Rule
from tests.flow.telegram_gateway import KEY, OWNER, says, telegram_gateway
from tests.stand_ins.model import ModelServer, Status

REFUSED = "sk-a-key-that-was-taken-back"
ECHO = [says("parent", "you said: {last}")]


async def test_a_refused_key_is_not_noticed_in_the_chat(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with telegram_gateway(tmp_path, ECHO, started=False) as g:
        parent = g.config["models"]["parent"]
        del parent["api_key"]
        parent["api_keys"] = [REFUSED, KEY]
        await g.start()
        g.say("one")
        await g.hears("you said: one")
        g.say("two")
        await g.hears("you said: two")
        assert len(g.texts()) == 2
    assert caplog.text.count("key 1 of 2") == 1
    assert REFUSED not in caplog.text
    assert KEY not in caplog.text


async def test_a_spare_model_answers_for_one_that_is_down_and_is_paid_as_itself(
    tmp_path: Path,
) -> None:
    async with (
        ModelServer([Rule(reply=Answer(text="the spare one"))]) as spare,
        telegram_gateway(tmp_path, ECHO, started=False) as g,
    ):
        g.config["models"]["parent"]["fallback"] = ["spare"]
        g.config["models"]["presets"] = {
            "spare": {"model": "openai/spare", "api_base": spare.url, "output_cost": 1.0}
        }
        await g.start()
        g.models.faults.append(Status(402, message="no credit left"))
        g.say("one")
        await g.hears("the spare one")
        g.say("two")
        await g.hears("you said: two")
        assert [request.model for request in spare.requests] == ["spare"]
        address = f"telegram:{OWNER}"
        by_model = dict(
            await g.read(lambda tx: tx.ledger.grouped("model", since=0, address=address))
        )
        assert by_model["openai/spare"].cost == by_model["openai/spare"].output
        assert by_model["openai/parent"].calls == 1
