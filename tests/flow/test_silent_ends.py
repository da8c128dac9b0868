"""Labels and notes at the end of a branch: there is no branch where nobody said anything."""

from storage.records.entries import Draft, Kind, record
from storage.store import Store, Transaction
from tests.flow.conftest import gateway
from tests.flow.walking import ECHO, ask, buttons, path, press, session_of, talk


async def test_labels_that_one_came_back_from_are_no_branch(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/label here", "/label and here 1", "/goto here", "two")
        assert (await ask(g, "/tree")).text.startswith("1 branch\n")
        assert (await ask(g, "/branches")).text.startswith("This conversation has no branches.")
        assert (await ask(g, "/tree all")).text.startswith("2 branches · all\n")


async def test_talk_below_a_label_is_shown_though_the_branch_ends_with_another(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/label first", "/label second 1")
        await ask(g, "/goto 3")
        await talk(g, "two")
        assert (await ask(g, "/tree")).text.splitlines()[1:5] == [
            "```",
            "› #1 👤 one 🏷 second",
            "› #2 🤖 re: one 🏷 first",
            "› #5 👤 two",
        ]


async def test_where_the_conversation_is_at_a_label_its_last_word_is_marked(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/undo", "two", "/label here")
        shown = await ask(g, "/tree")
        assert "● └─" not in shown.text
        assert "●    #4 🤖 re: two 🏷 here" in shown.text
        assert [entry.number for entry in await path(store)] == [3, 4, 5]


async def test_a_branch_on_which_nothing_was_said_is_none_and_leads_to_what_was(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/retry")
        session = await session_of(store)

        def note(tx: Transaction) -> None:
            """As a turn leaves it that was stopped twice before its first word."""
            said = tx.tree.numbered(session, 1)
            assert said is not None
            first = tx.tree.append(
                session, Draft(Kind.RECORD, record("stopped")), after=said.id, aside=True
            )
            tx.tree.append(
                session, Draft(Kind.RECORD, record("stopped")), after=first.id, aside=True
            )

        await store.run(note)
        shown = await ask(g, "/branches")
        assert [label.split(" ")[0] for label in buttons(shown)] == ["●", "#2"]
        shown = await press(g, "#2")
        assert shown.text.startswith("You are after #2")
