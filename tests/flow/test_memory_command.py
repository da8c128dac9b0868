"""/memory: people see what is kept, and delete it."""

import pytest

from adapters.recording import Shown
from storage.records.tools.notes import Note, NoteDraft, NoteOwner, NoteScope
from storage.store import Store, Transaction
from tests.flow.chatting import ECHO, GROUP, command, labels, newest, press
from tests.flow.conftest import ON_BOTH, Gateway, gateway
from tests.support.stores import Clock

BOB = NoteOwner(NoteScope.PERSON, "telegram:2")
PRIVATE = NoteOwner(NoteScope.CHAT, "telegram:2")
GROUPS = NoteOwner(NoteScope.CHAT, f"telegram:{GROUP}")


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def fill(store: Store, owner: NoteOwner, *texts: str, address: str = "telegram:2") -> None:
    def work(tx: Transaction) -> None:
        for text in texts:
            draft = NoteDraft(owner.scope, owner.owner, text, "telegram:2", address)
            tx.notes.add(draft)

    await store.run(work)


async def kept(store: Store) -> list[str]:
    """Oldest first."""

    def read(tx: Transaction) -> list[Note]:
        return tx.notes.of([BOB, PRIVATE, GROUPS])

    return [note.text for note in sorted(await store.read(read), key=lambda note: note.id)]


async def bob(g: Gateway, text: str) -> Shown:
    """What he is answered in private."""
    return await command(g, text, chat="2", user="2")


@ON_BOTH
async def test_people_see_their_own_notes_with_who_noted_them_where_and_delete_them(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await fill(store, BOB, "no *sugar*")
        await fill(store, BOB, "at home", address=f"telegram:{GROUP}")
        await fill(store, PRIVATE, "short answers")
        shown = await bob(g, "/memory")
        assert shown.text.splitlines()[0].startswith("**Notes about you and for this chat**. ")
        assert shown.text.splitlines()[2:] == [
            "**3** · for this chat · 0 s ago",
            "short answers",
            rf"**2** · about you · 0 s ago · in telegram:{GROUP}",
            "at home",
            "**1** · about you · 0 s ago",
            r"no \*sugar\*",
        ]
        assert labels(shown) == ["Delete 3", "Delete 2", "Delete 1"]
        await press(g, shown, "Delete 2", user="2")
        assert shown.text.startswith("Deleted: 2. Conversations that began with it keep")
        assert labels(shown) == ["Delete 3", "Delete 1"]
        assert await kept(store) == ["no *sugar*", "short answers"]
        assert (await bob(g, "/memory delete #1, 3 99")).text == (
            "Deleted: 1, 3. Conversations that began with it keep what they were told; /new begins "
            "one without.\nThere is no note 99 here; nothing was done for that.\n\n"
            "Nothing is noted about you or for this chat."
        )
        audits = await store.read(lambda tx: tx.directory.audits("note.deleted"))
        assert [(who, details["note"]) for _, who, details, _ in audits] == [
            ("telegram:2", 2), ("telegram:2", 1), ("telegram:2", 3),
        ]  # fmt: skip


async def test_nobody_sees_or_deletes_the_notes_of_others_an_owner_neither(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await fill(store, BOB, "his secret")
        await fill(store, GROUPS, "our plan", address=f"telegram:{GROUP}")
        for chat in ("1", "7"):
            assert "Nothing is noted" in (await command(g, "/memory", chat=chat)).text
            assert (
                "There is no note 1, 2 here"
                in (await command(g, "/memory delete 1 2", chat=chat)).text
            )
        shown = await command(g, "/memory", chat=GROUP, user="2")
        assert "ago · by telegram:2\nour plan" in shown.text
        assert "his secret" not in shown.text
        shown = await command(g, "/memory delete 1", chat=GROUP, user="2")
        assert "There is no note 1 here" in shown.text
        assert "his secret" not in shown.text
        assert await kept(store) == ["his secret", "our plan"]
        assert "in your private chat" in (await command(g, "/memory", chat="-7", user="2")).text


async def test_words_look_through_the_notes(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await fill(store, BOB, "drinks tea", "lives in 東京タワー", "tea at five", "born in 1990")
        shown = await bob(g, "/memory tea")
        assert labels(shown) == ["Delete 3", "Delete 1"]
        assert labels(await bob(g, "/memory 京タ")) == ["Delete 2"]
        assert labels(await bob(g, "/memory 1990")) == ["Delete 4"]
        shown = await bob(g, "/memory five cups of tea")
        assert "None has all of the words." in shown.text
        assert labels(shown) == ["Delete 3", "Delete 1"]
        assert (await bob(g, "/memory *absent*")).text == r"No note has “\*absent\*” in it."
        assert (await bob(g, "/memory delete")).text.startswith("`/memory delete 12`")
        shown = await bob(g, "/memory tea")
        await press(g, shown, "Delete 1", user="2")
        assert labels(shown) == ["Delete 3"]


async def test_pages_turn_and_every_note_is_shown_in_full(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await fill(store, BOB, *(f"fact {n}" for n in range(17)), "x" * 800, "*" * 800)
        shown = await bob(g, "/memory")
        assert shown.text.count(r"\*") == 800
        assert labels(shown) == ["Delete 19", "▶"]
        seen = [one for one in labels(shown) if one[0] == "D"]
        while "▶" in labels(shown):
            await press(g, shown, "▶", user="2")
            seen += [one for one in labels(shown) if one[0] == "D"]
        assert seen == [f"Delete {n}" for n in range(19, 0, -1)]
        await press(g, shown, "Delete 1", user="2")
        assert "page 4 of 4" in shown.text
        assert labels(await bob(g, "/memory 2"))[-2:] == ["◀", "▶"]


async def test_all_of_one_s_own_is_forgotten_once_that_is_confirmed(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await fill(store, BOB, "his secret")
        await fill(store, PRIVATE, "short answers")
        await fill(store, GROUPS, "our plan", address=f"telegram:{GROUP}")
        asked = await bob(g, "/memory forget")
        assert labels(asked) == ["Delete all", "Keep them"]
        await press(g, asked, "Keep them", user="2")
        assert asked.text == "Nothing was deleted."
        assert len(await kept(store)) == 3
        asked = await bob(g, "/memory forget")
        await press(g, asked, "Delete all", user="2")
        assert asked.text.startswith("All that was noted about you is deleted.")
        assert await kept(store) == ["our plan"]
        assert "Nothing is noted" in (await bob(g, "/memory forget")).text


async def test_in_a_group_only_who_asked_may_confirm_and_the_group_keeps_its_notes(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await fill(store, BOB, "his secret")
        await fill(store, GROUPS, "our plan", address=f"telegram:{GROUP}")
        asked = await command(g, "/memory forget", chat=GROUP, user="2")
        for user in ("3", "1"):  # a person, and an owner
            await press(g, asked, "Delete all", user=user)
            assert len(await kept(store)) == 2
        await press(g, newest(g, GROUP), "Delete all", user="2")
        assert await kept(store) == ["our plan"]


async def test_an_old_button_is_about_no_other_note(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await fill(store, BOB, "one")
        shown = await bob(g, "/memory")
        await store.run(lambda tx: tx.notes.delete([1], [BOB]))
        await fill(store, BOB, "two")
        await press(g, shown, "Delete 1", user="2")
        assert shown.text.startswith("There is no note 1 here")
        assert await kept(store) == ["two"]
