"""Killed between a worker's first call and the parent's last: what was done is not done again."""

import pytest

from tests.crash.scene import ANN, Scene

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize(
    ("goal", "tier", "noted"), [("fine", "worker", "reported"), ("odd", "overseer", "resolved")]
)
async def test_a_reply_that_was_stored_is_noted_without_another_call(
    running: Scene, goal: str, tier: str, noted: str
) -> None:
    running.database.stall(
        "INSERT ON entries", f"json_extract(NEW.body, '$.data.kind') = '{noted}'"
    )
    running.telegram.say(ANN, ANN, f"delegate {goal}")
    await running.killed_once(lambda: running.database.replies(tier))
    assert noted not in running.database.events()
    await running.gateway.start()
    await running.ends(f"{goal} is completed by {tier}")
    assert [running.database.replies(one) for one in ("parent", tier)] == [2, 1]


async def test_a_report_that_was_noted_becomes_the_result_without_another_call(
    running: Scene,
) -> None:
    running.database.stall("INSERT ON entries", "NEW.author = 'delegate_task'")
    running.telegram.say(ANN, ANN, "delegate careful")
    await running.killed_once(lambda: "reported" in running.database.events())
    assert [running.database.replies(tier) for tier in ("parent", "worker")] == [1, 2]
    await running.gateway.start()
    await running.ends("careful is completed by worker")
    assert [running.database.replies(tier) for tier in ("parent", "worker")] == [2, 2]
    assert running.database.events() == ["started", "reported"]


async def test_a_worker_is_told_of_an_extension_once_whenever_the_kill_comes(
    running: Scene,
) -> None:
    """Once noted, and before the worker was told."""
    running.database.stall(
        "INSERT ON entries", "json_extract(NEW.body, '$.content') LIKE 'The branch table was%'"
    )
    running.telegram.say(ANN, ANN, "delegate new")
    await running.killed_once(lambda: "extended" in running.database.events())
    assert [running.database.replies(tier) for tier in ("worker", "overseer")] == [1, 1]
    await running.gateway.start()
    await running.ends("new is completed by worker")
    assert [running.database.replies(tier) for tier in ("worker", "overseer")] == [2, 1]
    assert running.database.events() == ["started", "reported", "extended", "reported"]


async def test_last_words_that_were_said_are_noted_without_another_call(running: Scene) -> None:
    running.database.stall(
        "INSERT ON entries", "json_extract(NEW.body, '$.data.kind') = 'cut_short'"
    )
    running.telegram.say(ANN, ANN, "delegate short")
    await running.killed_once(lambda: running.database.replies("worker") == 2)
    assert running.database.events() == ["started"]
    await running.gateway.start()
    await running.ends("short is completed by overseer")
    assert [running.database.replies(tier) for tier in ("worker", "overseer")] == [2, 1]
    assert running.database.events() == ["started", "cut_short", "resolved"]
