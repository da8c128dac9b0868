"""A turn through litellm, the model's own time taken out, beside one with the scripted model."""

from statistics import median

from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import scratch
from tests.benchmarks.wire import RULES, Model, Telegram, alternate, bough, config

WARM_UP = 10
ROUNDS = 60
CHAT = 1001


async def run() -> list[Figure]:
    with scratch() as folder, scratch() as other:
        rules = folder / "model.yaml"
        rules.write_text(RULES, encoding="utf-8")
        async with (
            Model(rules) as model,
            Telegram("1000:litellm") as by_litellm,
            Telegram("2000:scripted") as scripted,
        ):
            remote = {"model": "openai/any", "api_base": model.url, "api_key": "none"}

            async def turn() -> float:
                before = model.spent
                seconds = await by_litellm.turn(CHAT, "How are you?")
                return seconds - (model.spent - before)

            async with (
                bough(by_litellm, config(folder, by_litellm, **remote)),
                bough(scripted, config(other, scripted)),
            ):
                ours, plain = await alternate(
                    [turn, lambda: scripted.turn(CHAT, "How are you?")],
                    warm_up=WARM_UP,
                    rounds=ROUNDS,
                )
    value, peer = 1e3 * median(ours), 1e3 * median(plain)
    return [Figure("turn p50 with litellm", value, "ms", peer=peer, peer_name="scripted model")]
