"""Buttons that an older version stored: what it wrote as a command and its subject."""

from typing import Any

import pytest

from gateway.outbound.buttons import MenuItem, send_menu
from storage.records.buttons import from_subject
from storage.records.entries import Json
from storage.store import Store, Transaction
from tests.flow.alternatives import path
from tests.flow.chatting import ECHO, bound, command, newest, press, talk
from tests.flow.conftest import Gateway, gateway

SUMMARY: dict[str, Any] = {
    "when": {"system": "^You condense a branch"},
    "reply": {"text": "SUMMARY of it"},
}
LABEL = "From before"


async def stored(g: Gateway, store: Store, command: str, subject: Json) -> None:
    """A message with a button as an older version wrote it."""
    context = g.app.router.context

    def work(tx: Transaction) -> None:
        parcels = context.composer.post("telegram:1", "An old message")
        item = MenuItem(LABEL, from_subject(command, subject))
        send_menu(tx, parcels, [item], private=True)

    await store.run(work)
    g.app.delivery.notify()
    await g.settled()


async def ids(store: Store, session: int) -> dict[int, int]:
    """Of the entries of a session, by number."""
    return await store.read(
        lambda tx: {e.number: e.id for e in tx.tree.path(tx.tree.session(session).leaf)}
    )


async def test_a_way_back_an_arrow_and_a_summary_from_before_work(store: Store) -> None:
    async with gateway([SUMMARY, *ECHO], store=store) as g:
        await talk(g, "one")
        await talk(g, "two")
        session = await bound(store)
        assert session is not None
        entry = await ids(store, session)
        end = max(entry.values())
        await command(g, "/goto 2")
        await stored(g, store, "back", {"leaf": end, "tree": session})
        await press(g, newest(g), LABEL)
        assert await path(store) == ["one", "so be it", "two", "so be it"]
        await command(g, "/goto 2")
        await stored(g, store, "sibling #3", {"session": session, "entry": entry[3]})
        await press(g, newest(g), LABEL)
        assert await path(store) == ["one", "so be it", "two", "so be it"]
        await command(g, "/goto 2")
        await stored(g, store, "summary", {"left": end, "tree": session})
        await press(g, newest(g), LABEL)
        assert "The summary of what you left stands at" in newest(g).text


@pytest.mark.parametrize(
    ("line", "subject", "said"),
    [
        ("diff #2 #4", {"page": 1}, "#2 is above #4"),
        ("search two", {"bounds": []}, "#3"),
        ("labels 1", {}, "There are no labels here."),
        ("stay", {}, "Nothing was changed."),
    ],
)
async def test_a_page_from_before_is_shown(
    store: Store, line: str, subject: Json, said: str
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        await talk(g, "two")
        await stored(g, store, line, subject)
        await press(g, newest(g), LABEL)
        assert said in newest(g).text
