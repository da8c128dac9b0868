"""python -m benchmarks [NAME…] [--json FILE]
   python -m benchmarks soak [TURNS]

A bar that is missed is shown as MISSED; the exit status is 0 all the same, because how fast
something is depends on the machine.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.benchmarks import (
    append,
    commands,
    context_read,
    delegation,
    detours,
    growth,
    handoff,
    interchange,
    interrupt,
    litellm_turn,
    media,
    memory,
    monitoring,
    navigation,
    pacing,
    postgres,
    schedule,
    search,
    startup,
    streaming,
    streaming_model,
    throughput,
    turn,
)
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.load import capacity, holdups, many_processes, questions, rates, size, soak

BENCHMARKS: dict[str, Callable[[], Coroutine[Any, Any, list[Figure]]]] = {
    "turn": turn.run,
    "media": media.run,
    "streaming": streaming.run,
    "litellm": litellm_turn.run,
    "streaming_model": streaming_model.run,
    "capacity": capacity.run,
    "growth": growth.run,
    "throughput": throughput.run,
    "append": append.run,
    "context": context_read.run,
    "startup": startup.run,
    "delegation": delegation.run,
    "detours": detours.run,
    "handoff": handoff.run,
    "navigation": navigation.run,
    "interrupt": interrupt.run,
    "interchange": interchange.run,
    "search": search.run,
    "commands": commands.run,
    "memory": memory.run,
    "monitoring": monitoring.run,
    "schedule": schedule.run,
    "pacing": pacing.run,
    "postgres": postgres.run,
    "load": rates.run,
    "size": size.run,
    "questions": questions.run,
    "holdups": holdups.run,
    "processes": many_processes.run,
}

SOAK = 100_000
"""Turns of a soak. It takes minutes, so it is only done when it is asked for."""


def main() -> None:
    if sys.argv[1:2] == ["soak"]:
        turns = int(sys.argv[2]) if len(sys.argv) > 2 else SOAK
        return print(table(asyncio.run(soak.run(turns))))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="JSON lines go there")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in BENCHMARKS]:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(BENCHMARKS)}")
    # The stand-ins would check what they get against the published specs, on the clock.
    os.environ["BOUGH_API_SPECS"] = os.devnull
    figures: list[Figure] = []
    for name in arguments.names or BENCHMARKS:
        print(f"{name} …", file=sys.stderr, flush=True)
        figures += asyncio.run(BENCHMARKS[name]())
    lines = "".join(f"{figure.json()}\n" for figure in figures)
    if arguments.json is not None:
        arguments.json.write_text(lines, encoding="utf-8")
    else:
        print(lines)
    print(table(figures))


if __name__ == "__main__":
    main()
