"""/fork: a new conversation that starts with a path of this one."""

import pytest

from storage.records.entries import Draft, Kind
from storage.store import Store, Transaction
from tests.flow.chatting import ECHO, GROUP, SlowModel, bound, command, labels, press, talk
from tests.flow.conftest import Gateway, gateway


def heard(g: Gateway) -> list[str]:
    """What people said, as the model was told last."""
    return [str(m["content"]) for m in g.model.requests[-1].messages if m["role"] == "user"]


async def label(store: Store, name: str, number: int) -> None:
    session = await bound(store)
    assert session is not None

    def work(tx: Transaction) -> None:
        target = tx.tree.numbered(session, number)
        assert target is not None
        body = {"label": name, "target": target.id}
        tx.tree.append(session, Draft(Kind.LABEL, body), after=tx.tree.session(session).leaf)

    await store.run(work)


async def test_a_fork_goes_on_from_here_and_the_old_one_is_kept(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        old = await bound(store)
        shown = await command(g, "/fork")
        new = await bound(store)
        assert new != old
        assert f"you are in conversation {new} now, “one, from #2”" in shown.text
        assert labels(shown) == ["Back to one"]
        await talk(g, "two")
        assert heard(g) == ["one", "two"]
        await press(g, shown, "Back to one")
        assert await bound(store) == old
        await talk(g, "other")
        assert heard(g) == ["one", "other"]
        assert sorted(labels(await command(g, "/sessions"))) == ["one, from #2", "● one"]


@pytest.mark.parametrize("place", ["#2", "2"])
async def test_a_fork_begins_after_an_answer_by_its_number(store: Store, place: str) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        await talk(g, "two")
        shown = await command(g, f"/fork {place} another way")
        assert "“another way”" in shown.text
        await talk(g, "three")
        assert heard(g) == ["one", "three"]


async def test_a_fork_at_a_persons_message_ends_before_it_and_shows_it(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        await talk(g, "two *words*")
        shown = await command(g, "/fork #3")
        assert "Forked after #2" in shown.text
        assert "```\ntwo *words*\n```" in shown.text
        await talk(g, "three")
        assert heard(g) == ["one", "three"]


@pytest.mark.parametrize("place", ["#1", "1 title"])
async def test_before_the_very_first_message_there_is_nothing_to_fork(
    store: Store, place: str
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        old = await bound(store)
        assert "/new begins without anything" in (await command(g, f"/fork {place}")).text
        assert await bound(store) == old


@pytest.mark.parametrize("place", ["#9", "9", "0", "#999999999"])
async def test_what_is_not_there_is_not_forked(store: Store, place: str) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        old = await bound(store)
        assert (await command(g, f"/fork {place}")).text.startswith("There is no #")
        assert await bound(store) == old


async def test_labels_name_places_and_other_words_are_the_title(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        await talk(g, "two")
        old = await bound(store)
        await label(store, "the plan 🗺", 2)
        for text, title, after in (
            ("the plan 🗺 for June", "for June", 2),
            ("THE PLAN 🗺", "one, from #2", 2),
            ("“the plan 🗺” B", "B", 2),
            ("the plans", "the plans", 5),
            ("2024 in short", "2024 in short", 5),
        ):
            shown = await command(g, f"/fork {text}")
            assert f"Forked after #{after}: " in shown.text, text
            assert f"“{title}”" in shown.text, text
            await command(g, f"/open #{old}")


async def test_a_fork_of_a_fork_has_both_paths(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        await command(g, "/fork second")
        await talk(g, "two")
        await command(g, "/fork third")
        await talk(g, "three")
        assert heard(g) == ["one", "two", "three"]
        await command(g, "/fork #2 fourth")  # an entry of the first session
        await talk(g, "four")
        assert heard(g) == ["one", "four"]


async def test_a_running_turn_is_ended_by_a_fork(store: Store) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model) as g:
        await talk(g, "one")
        await g.chat.say("slow one")
        await model.began.wait()
        await g.chat.say("/fork aside")
        await g.hears("Forked after")
        model.may_go_on.set()
        await talk(g, "three")
        assert g.chat.texts().count("so be it") == 2


async def test_a_private_fork_shows_a_group_its_path_and_no_more(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "shared words", chat="2", user="2")
        await talk(g, "secret words", chat="2", user="2")
        source = await bound(store, "2")
        await command(g, "/fork #2 for all", chat="2", user="2")
        fork = await bound(store, "2")
        shown = await command(g, f"/open #{fork}", chat=GROUP, user="2")
        await press(g, shown, "Take it here", user="2")
        found = await command(g, "/search words", chat=GROUP, user="3")
        assert "shared words" in found.text
        assert "secret" not in found.text
        assert labels(found) == ["#1"]
        for text in (f"/open #{source}", f"/open #{fork} at #3"):
            shown = await command(g, text, chat=GROUP, user="3")
            assert shown.text.startswith("There is no"), text
        await command(g, "/new", chat=GROUP, user="3")
        found = await command(g, "/search words", chat=GROUP, user="3")
        assert labels(found) == ["#1 · for all"]
        await press(g, found, "#1 · for all", user="3")
        assert await bound(store, GROUP) == fork
        exported = await command(g, "/export", chat=GROUP, user="3")
        assert exported.upload is not None
        assert b"shared words" in exported.upload.data
        assert b"secret" not in exported.upload.data
