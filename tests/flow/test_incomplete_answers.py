"""Answers that the model ends before their end, and thinking that it writes into them."""

import json
from pathlib import Path

import pytest

from storage.records.entries import Json
from tests.flow.on_telegram import handled
from tests.flow.telegram_gateway import telegram_gateway
from tests.stand_ins.model import Body, Events, ModelServer
from tests.support.model_streams import DONE, chunk, sse


def models(server: ModelServer) -> Json:
    return {"parent": {"model": "openai/some-model", "api_base": server.url, "api_key": "sk-test"}}


@pytest.mark.parametrize(
    ("reason", "mark"),
    [("length", "it reached the model's limit"), ("content_filter", "filter withheld the rest")],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_ends_early_says_so_in_the_chat_and_in_the_tree(
    tmp_path: Path, reason: str, mark: str, stream: bool
) -> None:
    async with ModelServer() as server:
        said = {"role": "assistant", "content": "Once upon a **time"}
        choice = {"index": 0, "finish_reason": reason, "message": said}
        whole = Body(json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}))
        pieces = [sse(chunk(content=said["content"]), chunk(reason)), DONE]
        server.faults.append(Events(pieces) if stream else whole)
        session = {"stream": stream}
        async with telegram_gateway(tmp_path, [], models=models(server), session=session) as g:
            g.say("tell me")
            await g.hears(mark)
            await handled(g)
            assert g.texts()[-1].startswith("Once upon a time")
            g.say("/tree")
            await g.hears("(cut off)")


@pytest.mark.parametrize("shown", [True, False])
async def test_thinking_in_the_text_is_shown_only_where_it_is_asked_for(
    tmp_path: Path, shown: bool
) -> None:
    async with ModelServer() as server:
        pieces = [sse(chunk(content="<thi"), chunk(content="nk>Let me see.</think>\n\nYes.")), b""]
        server.faults.append(Events([*pieces, sse(chunk("stop")), DONE]))
        session = {"show_thoughts": shown}
        async with telegram_gateway(tmp_path, [], models=models(server), session=session) as g:
            g.say("is it?")
            await g.hears("Yes.")
            await handled(g)
            assert g.texts() == (["💭 Let me see.", "Yes."] if shown else ["Yes."])
