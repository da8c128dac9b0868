"""/search: what is found, where it leads, and who may see it."""

import pytest

from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.store import Store, Transaction
from tests.flow.chatting import ECHO, GROUP, SlowModel, bound, command, labels, newest, press, talk
from tests.flow.conftest import ON_BOTH, gateway
from tests.support.stores import Clock

pytestmark = ON_BOTH


async def fill(store: Store, session: int, *texts: str) -> None:
    def work(tx: Transaction) -> None:
        leaf = tx.tree.session(session).leaf
        for text in texts:
            draft = Draft(Kind.MESSAGE, message("user", text))
            leaf = tx.tree.append(session, draft, after=leaf).id

    await store.run(work)


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def leaf_number(store: Store, chat: str = "1") -> int | None:
    def work(tx: Transaction) -> int | None:
        session = tx.directory.conversation(f"telegram:{chat}")
        leaf = tx.tree.session(session or 0).leaf
        return tx.tree.entry(leaf).number if leaf is not None else None

    return await store.read(work)


async def test_what_was_said_is_found_at_once_with_a_button_to_go_there(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "the *Colosseum* in Rome")
        await talk(g, "roses")
        shown = await command(g, "/search colosseum")
        assert shown.text.splitlines() == [
            r"**#1** · 0 s ago · the Colosseum in Rome",
            r"the Colosseum in Rome",
        ]
        assert labels(shown) == ["#1"]
        await press(g, shown, "#1")
        assert await leaf_number(store) == 1


async def test_a_hit_in_another_conversation_opens_that_one_there(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "the Colosseum")
        await talk(g, "and the Forum")
        rome = await bound(store)
        await command(g, "/new")
        await talk(g, "roses")
        shown = await command(g, "/search so rome OR be")
        assert shown.text.startswith("Nothing was found for “so rome OR be”.")
        shown = await command(g, "/search colosseum")
        assert labels(shown) == ["#1 · the Colosseum"]
        await press(g, shown, "#1 · the Colosseum")
        assert await bound(store) == rome
        assert await leaf_number(store) == 1
        assert "Back to roses" in labels(shown)
        assert "Answer it" in labels(shown)


async def test_pages_turn_to_and_fro(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "hello")
        session = await bound(store)
        assert session is not None
        await fill(store, session, *(f"needle {number}" for number in range(20)))
        shown = await command(g, "/search needle")
        first = labels(shown)
        assert first == [*(f"#{n}" for n in range(22, 14, -1)), "▶"]
        await press(g, shown, "▶")
        assert labels(shown) == [*(f"#{n}" for n in range(14, 6, -1)), "◀", "▶"]
        await press(g, shown, "▶")
        assert labels(shown) == ["#6", "#5", "#4", "#3", "◀"]
        await press(g, shown, "◀")
        await press(g, shown, "◀")
        assert labels(shown) == first


async def test_a_page_fits_into_one_message_whatever_was_written(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "*" * 3000)
        session = await bound(store)
        assert session is not None
        await fill(store, session, *("needle " + "_*[" * 100 for _ in range(12)))
        shown = await command(g, "/search needle")
        assert len(shown.text) <= 1_800
        seen = [label for label in labels(shown) if label.startswith("#")]
        while "▶" in labels(shown):
            await press(g, shown, "▶")
            seen += [label for label in labels(shown) if label.startswith("#")]
        assert seen == [f"#{n}" for n in range(14, 2, -1)]


async def test_nobody_finds_what_they_may_not_see(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my needle", chat="2", user="2")
        await talk(g, "our needle", chat=GROUP, user="2")
        transcript = await store.run(
            lambda tx: tx.tree.create(SessionDraft(SessionKind.SUBAGENT, "errand"))
        )
        await fill(store, transcript.id, "its needle")
        assert "our needle" in (await command(g, "/search needle", chat=GROUP, user="2")).text
        assert "my needle" not in (await command(g, "/search needle", chat=GROUP, user="2")).text
        both = await command(g, "/search needle", chat="2", user="2")
        assert "my needle" in both.text
        assert "our needle" in both.text
        assert "its needle" not in both.text
        assert (await command(g, "/search needle", chat="3", user="3")).text == (
            "Nothing was found for “needle”."
        )


async def test_words_are_asked_for(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        for text in ("/search", "/search  ", "/search ?!"):
            assert "`/search WORDS`" in (await command(g, text)).text


async def test_where_the_index_is_far_behind_that_is_said(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "hello")
        session = await bound(store)
        assert session is not None
        await fill(store, session, *(f"word {number}" for number in range(2_000)))
        shown = await command(g, "/search absent")
        assert "Nothing was found" in shown.text
        assert "cannot be found yet" in shown.text


async def test_other_branches_are_looked_through_too(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        await talk(g, "needle on a branch")
        await command(g, "/branch #3")
        await talk(g, "another way")
        shown = await command(g, "/search needle")
        assert labels(shown) == ["#3"]


async def test_what_a_fork_begins_with_is_found_in_the_fork(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "needle")
        await command(g, "/fork other")
        fork = await bound(store)
        shown = await command(g, "/search needle")
        assert labels(shown) == ["#1"]
        await press(g, shown, "#1")
        assert await bound(store) == fork
        assert await leaf_number(store) == 1


async def test_a_jump_ends_the_turn_that_runs_there(store: Store) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model) as g:
        await talk(g, "needle")
        rome = await bound(store)
        await command(g, "/new")
        await talk(g, "roses")
        shown = await command(g, "/search needle")
        other = await command(g, f"/open #{rome}", chat="7", user="1")
        assert "You are in “needle” now" in other.text
        await g.chat.say("slow one", chat="7", user="1")
        await model.began.wait()
        await press(g, shown, "#1 · needle")
        model.may_go_on.set()
        await g.settled()
        assert await bound(store) == rome
        assert await leaf_number(store) == 1
        assert g.chat.texts("7").count("so be it") == 0


async def test_a_branch_left_by_a_jump_is_summarised_where_that_is_configured(
    store: Store,
) -> None:
    config = {"session": {"branch_summaries": "auto"}}
    async with gateway(ECHO, store=store, config=config) as g:
        await talk(g, "needle")
        await talk(g, "what is left")
        rome = await bound(store)
        await command(g, "/new")
        await talk(g, "roses")
        shown = await command(g, "/search needle")
        await press(g, shown, "#1 · needle")
        assert await bound(store) == rome
        session = await store.read(lambda tx: tx.tree.session(rome or 0))
        path = await store.read(lambda tx: tx.tree.path(session.leaf))
        assert [entry.kind for entry in path] == [Kind.MESSAGE, Kind.BRANCH_SUMMARY]
        assert newest(g).text.startswith("You are in “needle” now")
