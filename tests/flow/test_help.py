"""/help and /start: what may be typed where somebody is, on a screen, and a command in full."""

from collections.abc import Sequence
from typing import Any

import pytest

from gateway.commands.guidance.guide import GROUPS
from gateway.commands.registry import COMMANDS, command_specs
from storage.records.tools.notes import NoteDraft, NoteScope
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP, command
from tests.flow.conftest import gateway

ALL_ON: dict[str, Any] = {
    "access": {"allow": ["telegram:*"], "owners": ["telegram:1"]},
    "tools": {"toolsets": ["memory", "schedule", "file_read"]},
}
LISTED: Sequence[str] = [spec.name for spec in command_specs()]
MOST_LINES, MOST_CHARACTERS, PHONE = 25, 1_500, 45
"""What a phone shows at once; letters in a line of it."""


@pytest.mark.parametrize("chat", ["1", GROUP])
async def test_all_commands_fit_a_phones_screen_in_their_groups_with_their_arguments(
    store: Store, chat: str
) -> None:
    async with gateway(ECHO, store=store, config=ALL_ON) as g:
        text = (await command(g, "/help", chat=chat)).text
        lines = text.splitlines()
        assert len(text) <= MOST_CHARACTERS
        assert sum(1 + len(line) // PHONE for line in lines) <= MOST_LINES
        here = LISTED if chat == "1" else set(LISTED) - {"people", "pair"}
        assert all(f"/{name}" in text for name in here)
        headings = [line.partition(":**")[0][2:] for line in lines if line.startswith("**")]
        assert headings == [group for group in GROUPS if group in headings]
        assert "/branch \\[NUMBER\\]" in text and "/redo ·" in text
        assert g.model.requests == []


async def test_what_a_place_lacks_is_not_listed_there_and_says_why_when_typed(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        text = (await command(g, "/help")).text
        assert "/memory" not in text and "/schedule" not in text
        assert "the toolset `memory` is not among" in (await command(g, "/memory")).text
        assert "the toolset `schedule` is not" in (await command(g, "/schedule")).text
        assert "toolset" not in (await command(g, "/schedule zone Asia/Tokyo")).text
        assert "Not here: I keep no notes" in (await command(g, "/help memory")).text
        assert "Did you mean" not in (await command(g, "/memori")).text


async def test_what_owners_do_in_private_is_not_listed_in_a_group(store: Store) -> None:
    async with gateway(ECHO, store=store, config=ALL_ON) as g:
        text = (await command(g, "/help", chat=GROUP)).text
        assert "/people" not in text and "/pair" not in text and "For owners" not in text
        told = (await command(g, "/people", chat=GROUP)).text
        assert told.count("in private") == 1
        assert (
            "Not here: Write this to me in private"
            in (await command(g, "/help people", chat=GROUP)).text
        )
        assert "Not here" not in (await command(g, "/help people")).text


async def test_notes_that_are_there_can_be_seen_where_the_toolset_is_off(store: Store) -> None:
    note = NoteDraft(NoteScope.CHAT, "telegram:1", "likes tea", "telegram:1", "telegram:1")
    await store.run(lambda tx: tx.notes.add(note))
    async with gateway(ECHO, store=store) as g:
        assert "likes tea" in (await command(g, "/memory")).text
        assert "/memory" in (await command(g, "/help")).text


@pytest.mark.parametrize("name", LISTED)
def test_every_command_has_a_group_and_is_explained_in_full(name: str) -> None:
    spec = COMMANDS[name].spec
    assert spec.group in GROUPS
    assert spec.details
    if spec.argument:
        assert "`" in spec.details, "an example"


async def test_one_command_is_shown_in_full_and_nonsense_has_a_nearest(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        text = (await command(g, "/help branch")).text
        assert text.startswith("**/branch \\[NUMBER\\]**: go back to a message")
        assert "`/branch 12` goes back to number 12" in text
        assert (await command(g, "/help /BRANCH")).text == text
        assert "Did you mean /help branch?" in (await command(g, "/help brnach")).text
        odd = (await command(g, "/help *[x](http://y)*")).text
        assert odd.startswith("There is no command /`*[x](http://y)*`.")
        assert "There is no command /tip." in (await command(g, "/help tip")).text


async def test_start_says_what_the_bot_is_and_what_to_try(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        text = (await command(g, "/start")).text
        assert text.startswith("Hello! I am a bot")
        assert text.count("•") == 3 and "/help" in text
        assert (await command(g, "/start payload")).text == text
        assert g.model.requests == []
