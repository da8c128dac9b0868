"""SIGHUP with a file that cannot be meant: empty, cut short, without an owner, of another bot. What
held before holds, no turn is cut, and the owners are told once."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.crash.patience import until
from tests.crash.rules import rules
from tests.crash.scene import ANN, BEN, Scene, scene, scene_of
from tests.crash.test_read_anew import MUTED, read_anew, rewrite
from tests.support.gateway_process import write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

REFUSED = "The configuration was not taken over"
GUARDED: dict[str, Any] = {
    "access": {"owners": [f"telegram:{ANN}"], "allow": [f"telegram:{BEN}"]},
    "budgets": {"day": 12.5},
    "tools": {"toolsets": [], "rules": [{"tool": "*", "decision": "deny"}]},
    "limits": {"turns_per_minute": 100},
}


def told(running: Scene) -> list[str]:
    return [text for text in running.telegram.texts() if REFUSED in text]


async def refuses(running: Scene, why: str) -> None:
    """The log and the owner hear of it."""
    await read_anew(running, REFUSED)
    assert why in next(line for line in reversed(running.gateway.log) if REFUSED in line)
    await running.telegram.hears(why)


async def test_an_empty_file_cuts_no_turn_and_the_owner_hears_of_it_once(tmp_path: Path) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=3))}}
    async with scene(tmp_path, slow, **GUARDED) as running:
        config = running.gateway.config
        right = config.read_text(encoding="utf-8")
        running.telegram.say(BEN, BEN, "long work")
        await running.telegram.typing()
        for text in ("", "# nothing is left\n"):
            config.write_text(text, encoding="utf-8")
            for _ in range(20):
                running.gateway.hang_up()
            await refuses(running, "It sets nothing")
        await running.telegram.hears("answer to long work", BEN)
        await running.recorded_as_sent()
        assert len(told(running)) == 1
        config.write_text(right, encoding="utf-8")
        await read_anew(running, "Configuration read anew: nothing of it has changed")
        config.write_text("", encoding="utf-8")  # once more, after it was mended
        await read_anew(running, REFUSED)
        await until(lambda: len(told(running)) == 2)


async def test_ever_new_reasons_do_not_flood_the_owners(tmp_path: Path) -> None:
    async with scene(tmp_path, access=MUTED) as running:
        for number in range(7):
            running.gateway.config.write_text(f"[wrong_{number}]\n", encoding="utf-8")
            await read_anew(running, f"wrong_{number}")
        await running.recorded_as_sent()
        assert len(told(running)) == 5
        assert [("Further refusals" in text) for text in told(running)] == [False] * 4 + [True]


async def test_a_change_of_something_else_cuts_no_turn(tmp_path: Path) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=2))}}
    async with scene(tmp_path, slow, **GUARDED) as running:
        running.telegram.say(BEN, BEN, "long work")
        await running.telegram.typing()
        rewrite(running, '"day" = 12.5', '"day" = 10')
        await read_anew(running, "Configuration read anew: budgets.day")
        await running.telegram.hears("answer to long work", BEN)


def within_a_value(text: str) -> str:
    return text[: text.index("12.5") + 2] + "}"  # what an editor had written by then


def after_a_line(text: str) -> str:
    return "".join(line for line in text.splitlines(True) if not line.startswith("limits"))


@pytest.mark.parametrize(
    ("cut", "key"), [(within_a_value, "budgets.day"), (after_a_line, "limits.turns_per_minute")]
)
async def test_a_file_that_was_cut_short_changes_nothing(
    tmp_path: Path, cut: Callable[[str], str], key: str
) -> None:
    async with scene(tmp_path, **GUARDED) as running:
        config = running.gateway.config
        right = config.read_text(encoding="utf-8")
        assert right.splitlines()[-1].startswith("limits")
        config.write_text(cut(right), encoding="utf-8")
        await refuses(running, "It looks cut short")
        assert any(key in line for line in running.gateway.log)
        config.write_text(f"{after_a_line(right)}# whole\n", encoding="utf-8")
        await read_anew(running, "Configuration read anew: limits.turns_per_minute")


async def test_a_file_without_an_owner_is_taken_where_one_was_made_in_a_chat(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, access=MUTED) as running:
        rewrite(running, f'"owners" = ["telegram:{ANN}"]', '"owners" = []')
        await refuses(running, "It names no owner")
        running.telegram.say(ANN, ANN, "still the owner")
        await running.telegram.hears("answer to still the owner")
        await running.gateway.kill()
        with closing(sqlite3.connect(tmp_path / "bough.db")) as connection, connection:
            connection.execute(
                "INSERT INTO rights (identity, name, role, since, by_whom) VALUES (?, ?, ?, ?, ?)",
                (f"telegram:{BEN}", "Ben", "owner", 1.0, "test"),
            )
        rewrite(running, '"owners" = []', f'"owners" = ["telegram:{ANN}"]')
        await running.gateway.start()
        rewrite(running, f'"owners" = ["telegram:{ANN}"]', '"owners" = []')
        await read_anew(running, "Configuration read anew: access.owners")


async def test_the_file_of_another_bot_changes_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path, access=MUTED) as running:
        token = running.telegram.token
        number, _, secret = token.partition(":")
        right = running.gateway.config.read_text(encoding="utf-8")
        rewrite(running, token, f"7{number}:{secret}")
        rewrite(running, f"telegram:{ANN}", f"telegram:{BEN}")
        await refuses(running, "Its token is another bot's")
        running.gateway.config.write_text(right, encoding="utf-8")
        rewrite(running, "bough.db", "other.db")
        await refuses(running, "It names another database")
        running.gateway.config.write_text(right, encoding="utf-8")
        rewrite(running, token, f"{number}:{secret[::-1]}")  # renewed: still the same bot
        await read_anew(running, "Takes effect at the next start: telegram.token")


async def test_a_wish_before_the_gateway_runs_is_fulfilled_once_it_does(tmp_path: Path) -> None:
    module = "tests.crash.hung_up_while_starting"
    models = {"parent": {"model": write_rules(tmp_path, rules())}}
    async with scene_of(module, tmp_path, models) as running:
        await until(lambda: any("read anew: access.allow" in one for one in running.gateway.log))
