"""The first hour: nobody owns the bot, its terminal shows a code, and whoever writes it owns it."""

import logging
import re

import pytest

from gateway.access.codes import code_in
from storage.records.chats.people import Role
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP
from tests.flow.conftest import ON_BOTH, gateway
from tests.flow.pairing import STRANGER, asks, audited, gives, notice, presses

UNOWNED: dict[str, dict[str, list[str]]] = {"access": {"owners": [], "allow": []}}
SHOWN = re.compile(r"^    ([A-Z2-9]{4}-[A-Z2-9]{4})$", re.MULTILINE)


def shown_code(capsys: pytest.CaptureFixture[str]) -> str:
    found = SHOWN.search(capsys.readouterr().err)
    assert found is not None
    return found[1]


async def owners(store: Store) -> list[str]:
    rights = await store.read(lambda tx: tx.rights.all())
    return [right.identity for right in rights if right.role is Role.OWNER]


@ON_BOTH
@pytest.mark.parametrize("form", ["{}", "/start {}", "/pair {}", " {} "])
async def test_the_first_who_writes_the_code_owns_the_bot_without_a_restart(
    store: Store, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    async with gateway(ECHO, store=store, config=UNOWNED) as g:
        code = shown_code(capsys)
        assert "has no owner yet" in await gives(g, "/start", "5")
        assert "You own this bot now" in await gives(g, form.format(code), "5")
        assert await owners(store) == ["telegram:5"]
        assert "so be it" in await gives(g, "hello", "5")
        assert "You own this bot" not in await gives(g, form.format(code), "6")
        assert await owners(store) == ["telegram:5"]
        await asks(g)
        waiting = notice(g, "5")  # of both who ask
        label = next(one.label for one in waiting.buttons if one.label.startswith("Let in"))
        assert "is let in" in await presses(g, waiting, label, "5")


async def test_the_code_is_taken_with_another_dash_or_a_space(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    async with gateway(ECHO, store=store, config=UNOWNED) as g:
        code = shown_code(capsys)
        assert "You own this bot now" in await gives(g, code.lower().replace("-", " "), "5")
    assert code_in(code.replace("-", "\u2014")) == code.replace("-", "")


async def test_the_next_start_shows_no_code_where_somebody_owns_the_bot(
    database: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    async with gateway(ECHO, store=store, config=UNOWNED) as g:
        await gives(g, shown_code(capsys), "5")
    again = await type(store).open(database)  # type: ignore[attr-defined]
    async with gateway(ECHO, store=again, config=UNOWNED) as g:
        await g.chat.say("hello", chat="5", user="5", key="telegram:5:99")
        await g.hears("so be it", chat="5")
        assert SHOWN.search(capsys.readouterr().err) is None


async def test_the_code_stands_in_no_log_and_no_row(
    store: Store, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with gateway(ECHO, store=store, config=UNOWNED) as g:
        code = shown_code(capsys)
        await gives(g, "/start", "5")
        rows = await store.read(lambda tx: (tx.directory.audits(), tx.pairing.all()))
        assert code not in f"{rows} {caplog.text}"


async def test_the_code_in_a_group_makes_nobody_the_owner_and_is_void(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    async with gateway(ECHO, store=store, config=UNOWNED) as g:
        code = shown_code(capsys)
        assert "it is void now" in await gives(g, code, "5", chat=GROUP)
        assert "You own this bot" not in await gives(g, code, "5")
        assert await owners(store) == []
        assert await audited(store, "owner code void") == ["telegram:5"]


async def test_guesses_make_the_code_void_and_the_log_says_so(
    store: Store, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway(ECHO, store=store, config=UNOWNED) as g:
        code = shown_code(capsys)
        assert "That is not the code" in await gives(g, "AAAA-AAAA", "10")
        for number in range(19):
            await gives(g, "AAAA-AAAA", str(10 + number % 5))
        assert "guessed at too often" in caplog.text
        assert "You own this bot" not in await gives(g, code, "99")
        assert await owners(store) == []


async def test_a_person_has_five_guesses_an_hour(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    async with gateway(ECHO, store=store, config=UNOWNED) as g:
        code = shown_code(capsys)
        for _ in range(5):
            await gives(g, "AAAA-AAAA", STRANGER)
        assert "You own this bot" not in await gives(g, code, STRANGER)
        assert "You own this bot now" in await gives(g, code, "5")


async def test_where_the_file_names_an_owner_no_code_is_shown(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    async with gateway(ECHO, store=store, config={"access": {"owners": ["telegram:1"]}}) as g:
        await gives(g, "hello")
        assert SHOWN.search(capsys.readouterr().err) is None


async def test_with_pairing_off_no_code_is_shown(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"access": {"pairing": False}}
    async with gateway(ECHO, store=store, config=config) as g:
        assert "has no owner yet" not in await gives(g, "/start", "5")
        assert SHOWN.search(capsys.readouterr().err) is None
