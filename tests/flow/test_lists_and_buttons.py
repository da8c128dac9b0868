"""A list and its buttons stand in one order, and show no markup."""

import re
from functools import partial
from typing import Any

import pytest

from storage.records.tools.notes import NoteDraft, NoteScope
from storage.store import Store, Transaction
from tests.flow.chatting import ECHO, command, labels
from tests.flow.conftest import gateway

CONFIG: dict[str, Any] = {
    "access": {"allow": ["telegram:*"], "owners": ["telegram:1"]},
    "tools": {"toolsets": ["memory", "schedule"]},
    "models": {
        "parent": {"model": "scripted:parent"},
        "presets": {name: {"model": f"scripted:{name}"} for name in ("zeta", "alpha", "mid")},
    },
}


def noted(tx: Transaction, text: str) -> None:
    tx.notes.add(NoteDraft(NoteScope.CHAT, "telegram:1", text, "telegram:1", "telegram:1"))


@pytest.mark.parametrize(
    ("line", "listed", "pressed"),
    [
        ("/branch", r"^(#\d+) ", r"^(#\d+) "),
        ("/branches", r"^[●○] (#\d+)", r"(#\d+)"),
        ("/label", r"🏷 \*\*(\w+)", r"^(\w+) ·"),
        ("/goto", r"🏷 \*\*(\w+)", r"^(\w+) ·"),
        ("/search birds", r"^\*\*(#\d+)", r"^(#\d+)"),
        ("/memory", r"^\*\*(\d+)\*\*", r"^Delete (\d+)"),
        ("/model", r"^• \*\*(\w+)", r"^(\w+)$"),
        ("/sessions", r"\*\*(\w+) birds", r"(\w+) birds"),
    ],
)
async def test_a_list_and_its_buttons_stand_in_one_order(
    store: Store, line: str, listed: str, pressed: str
) -> None:
    for text in ("tea", "milk", "sugar"):
        await store.run(partial(noted, text=text))
    async with gateway(ECHO, store=store, config=CONFIG) as g:
        for typed in ("**nine** birds", "/new", "**one** birds", "/label first"):
            await command(g, typed)
        for typed in ("# two birds", "/label second", "/undo", "[three](http://x.y) birds"):
            await command(g, typed)
        shown = await command(g, line)
        in_text = [found[1] for one in shown.text.splitlines() if (found := re.search(listed, one))]
        on_buttons = [found[1] for one in labels(shown) if (found := re.search(pressed, one))]
        assert len(in_text) > 1
        assert in_text == on_buttons
        assert "**" not in "".join(labels(shown)) and "http" not in shown.text
