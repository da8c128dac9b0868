"""Killed while models are asked, over HTTP: no call that was answered is made again.

Several chats are brought to a call that hangs, each to another one. Then one process dies, and the
next one has to carry all of them on. The tests look at what came of it.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.crash.patience import until
from tests.crash.rules import parsed_rules
from tests.crash.scene import Scene, scene
from tests.stand_ins.model import Hang, ModelServer, Received, Slow

pytestmark = pytest.mark.crash


@dataclass(frozen=True, slots=True)
class Cut:
    """A chat whose gateway dies during a model call."""

    chat: int
    says: str
    calls_before: int
    """Model calls that are answered before the one that is cut."""
    answer: str
    presses: str = ""


CUTS = {
    "first call": Cut(1, "hello", 0, "answer to hello"),
    "worker's second call": Cut(2, "delegate careful", 2, "careful is completed by worker"),
    "overseer's call": Cut(3, "delegate odd", 2, "odd is completed by overseer"),
    "call after a report": Cut(4, "delegate fine", 2, "fine is completed by worker"),
    "call after a decision": Cut(5, "delegate gone", 2, "gone is rejected by human", "Stop"),
}
STOPPED = Cut(6, "delegate fine again", 2, "fine again is completed by worker")


@dataclass(frozen=True, slots=True)
class Aftermath:
    answered: Counter[str]
    """How often each model call was made that was answered before the process died."""
    cut: Counter[str]
    """How often each one was made that was not."""
    all: Counter[str]
    texts: dict[int, list[str]]
    """What the bot said, by chat."""
    decisions: list[str]
    buttons_left: list[str]
    stopped_with: int
    """Exit status of the process that was told to stop during a model call."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    return await _play(tmp_path_factory.mktemp("killed"))


async def _play(folder: Path) -> Aftermath:
    cut, answered = [], []
    async with ModelServer(parsed_rules()) as models:
        tiers = ("parent", "worker", "overseer")
        config = {tier: {"model": tier, "api_base": models.url} for tier in tiers}
        access = {"owners": ["telegram:*"]}
        async with scene(folder, config, access=access, server={"drain": "0s"}) as running:
            for one in CUTS.values():
                *before, last = await _bring_to_hang(running, models, one)
                answered += before
                cut.append(last)
            await running.gateway.kill()
            await running.gateway.start()
            for one in CUTS.values():
                await running.telegram.hears(one.answer, one.chat)
            *before, last = await _bring_to_hang(running, models, STOPPED)
            running.gateway.terminate()
            status = await running.gateway.wait()
            await running.gateway.start()
            await running.telegram.hears(STOPPED.answer, STOPPED.chat)
            await running.database.settled()
            made = _counted(models.requests)
            return Aftermath(
                Counter({key: made[key] for key in _counted(answered + before)}),
                Counter({key: made[key] for key in _counted([*cut, last])}),
                made,
                {one.chat: running.telegram.texts(one.chat) for one in (*CUTS.values(), STOPPED)},
                running.database.decisions(),
                running.telegram.buttons_left(),
                status,
            )


async def _bring_to_hang(running: Scene, models: ModelServer, cut: Cut) -> list[Received]:
    """The chat's model calls, the last of which hangs."""
    first = len(models.requests)
    models.faults.extend([*[Slow(0)] * cut.calls_before, Hang()])
    running.telegram.person(cut.chat)
    running.telegram.say(cut.chat, cut.chat, cut.says)
    if cut.presses:
        running.telegram.press(await running.telegram.question(cut.chat), cut.presses, cut.chat)
    await until(lambda: not models.faults)
    return models.requests[first:]


def _counted(requests: Iterable[Received]) -> Counter[str]:
    return Counter(json.dumps(request.body, sort_keys=True) for request in requests)


def test_no_call_that_was_answered_is_made_again(aftermath: Aftermath) -> None:
    assert len(aftermath.answered) == 10
    assert set(aftermath.answered.values()) == {1}


def test_a_call_that_was_cut_is_made_once_more(aftermath: Aftermath) -> None:
    assert len(aftermath.cut) == len(CUTS) + 1
    assert set(aftermath.cut.values()) == {2}


def test_every_call_after_the_restart_is_made_once(aftermath: Aftermath) -> None:
    later = aftermath.all - aftermath.answered - aftermath.cut
    assert set(later.values()) == {1}


@pytest.mark.parametrize("during", CUTS)
def test_the_answer_arrives_once(aftermath: Aftermath, during: str) -> None:
    cut = CUTS[during]
    said = [text for text in aftermath.texts[cut.chat] if not text.startswith(("⏳", "✔"))]
    assert said[-1] == cut.answer
    assert len(said) == (2 if cut.presses else 1)


def test_the_decision_is_applied_once_and_shown(aftermath: Aftermath) -> None:
    decided = CUTS["call after a decision"].chat
    assert aftermath.decisions == [f"telegram:{decided}"]
    assert f"User {decided}: Stop" in aftermath.texts[decided][0]
    assert aftermath.buttons_left == []


def test_told_to_stop_it_ends_well_and_the_next_process_answers(aftermath: Aftermath) -> None:
    assert aftermath.stopped_with == 0
    assert aftermath.texts[STOPPED.chat] == [STOPPED.answer]
