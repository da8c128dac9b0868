"""What is missing before a provider can be asked is said at once, and nothing blocks the loop."""

import pytest

from agent.models.base import ModelError, ModelErrorKind, ModelSpec, Request
from agent.models.litellm.model import LitellmModel
from storage.records.entries import message
from tests.stand_ins.wires import Whole, WireServer
from tests.support.provider_wires import WIRES, Said

MODEL = LitellmModel()
USER = message("user", "hi")
VARIABLES = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"),
    *("ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_AI_API_BASE"),
    *("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
)
MISSING = {
    "bedrock/anthropic.claude-3-haiku-20240307-v1:0": "no AWS credentials",
    "sagemaker/some": "no AWS credentials",
    "vertex_ai/gemini-2.5-flash": "pip install google-auth",
    "azure_ai/some": "api_base is required",
    "fireworks_ai/some": "FIREWORKS_API_KEY",
    "anthropic/claude-sonnet-4-5": "ANTHROPIC_API_KEY",
    "gemini/gemini-2.5-flash": "GEMINI_API_KEY",
    "azure/gpt-5": "AZURE_OPENAI_API_KEY",
    "github_copilot/gpt-5": "access token",
    "chatgpt/gpt-5": "no login",
    "no_such_provider/gpt": "provider/model",
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("model", "words"), MISSING.items())
async def test_what_is_missing_is_named(
    model: str, words: str, streamed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("GITHUB_COPILOT_TOKEN_DIR", "CHATGPT_TOKEN_DIR", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path))
    heard: list[str] = []
    spec = ModelSpec("parent", model)
    with pytest.raises(ModelError, match=words) as caught:
        await MODEL.complete(Request(spec, [USER], heard=heard.append if streamed else None))
    assert caught.value.kind is ModelErrorKind.AUTH


@pytest.mark.parametrize("model", ["MiniMax-M2", "anthropic/MiniMax-M2", "minimax/MiniMax-M2"])
async def test_an_address_that_ends_in_anthropic_speaks_anthropics_protocol(model: str) -> None:
    claude = next(wire for wire in WIRES if wire.name == "anthropic")
    async with WireServer() as server:
        server.answers.append(Whole(claude.whole(Said("Yes."))))
        base = f"{server.url}/anthropic"
        spec = ModelSpec("parent", model, api_base=base, api_key="sk-test-123456")
        reply = await MODEL.complete(Request(spec, [USER]))
    assert reply.content == "Yes."
    assert [asked.path for asked in server.asked] == ["/anthropic/v1/messages"]


async def test_no_tokenizer_is_fetched_to_count_a_llamas_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its server counts nothing; litellm would ask Hugging Face's site for a tokenizer."""
    fetched: list[object] = []
    tokenizers = pytest.importorskip("tokenizers")
    monkeypatch.setattr(tokenizers.Tokenizer, "from_pretrained", fetched.append, raising=False)
    openai = WIRES[0]
    async with WireServer() as server:
        for model in ("openai/meta-llama-3-8b-instruct", "openai/llama-2-70b"):
            whole = openai.whole(Said("Yes."))
            server.answers.append(Whole({key: whole[key] for key in whole if key != "usage"}))
            spec = ModelSpec("parent", model, api_base=f"{server.url}/v1")
            reply = await MODEL.complete(Request(spec, [USER]))
            assert reply.usage.input > 0
    assert fetched == []
