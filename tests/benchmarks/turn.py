"""What a turn costs beside a bare echo bot, both through the wire, both in their own process."""

import sys
from statistics import median, quantiles

from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import running, scratch
from tests.benchmarks.wire import Telegram, alternate, bough, config

WARM_UP = 30
ROUNDS = 200
CHAT = 1001
BAR_MS = 10.0
BAR_TIMES_ECHO = 2.5


async def run() -> list[Figure]:
    with scratch() as folder:
        async with Telegram("1000:bough") as for_bough, Telegram("2000:echo") as for_echo:
            echo_bot = sys.executable, "-m", "tests.benchmarks.echo_bot"
            echo = *echo_bot, for_echo.base_url, for_echo.token
            async with bough(for_bough, config(folder, for_bough)), running(*echo):
                await for_echo.polled()
                ours, echos = await alternate(
                    [
                        lambda: for_bough.turn(CHAT, "How are you?"),
                        lambda: for_echo.turn(CHAT, "How are you?"),
                    ],
                    warm_up=WARM_UP,
                    rounds=ROUNDS,
                )
    return [_p50(ours, echos), _p95(ours, echos)]


def _p50(ours: list[float], echos: list[float]) -> Figure:
    value, peer = 1e3 * median(ours), 1e3 * median(echos)
    bar = max(BAR_MS, BAR_TIMES_ECHO * peer)
    return Figure("turn p50", value, "ms", bar=bar, peer=peer, peer_name="echo bot")


def _p95(ours: list[float], echos: list[float]) -> Figure:
    value, peer = (1e3 * quantiles(times, n=20)[-1] for times in (ours, echos))
    return Figure("turn p95", value, "ms", peer=peer, peer_name="echo bot")
