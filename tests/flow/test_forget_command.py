"""/forget me and /export me: a person is forgotten, and the others are not."""

import asyncio
import io
import json
import zipfile
from pathlib import Path

import pytest

from gateway.cli.parser import parser
from gateway.cli.people import look_after
from gateway.commands.people.forget import BEGUN, HOW, KEPT
from gateway.commands.sessions.transfer import ONLY_IN_PRIVATE
from gateway.configuration.config import Config
from storage.records.entries import SessionKind
from storage.records.retention.forgetting import Step
from storage.records.retention.tombstones import FORGOTTEN
from storage.records.tools.notes import NoteDraft, NoteScope
from storage.sql.search.sqlite import MERGING
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from storage.transfer.checking import check
from tests.contract.test_forgetting import dump
from tests.flow.chatting import (
    ECHO,
    GROUP,
    SlowModel,
    bound,
    command,
    labels,
    newest,
    press,
    talk,
)
from tests.flow.conftest import ON_BOTH, PATIENCE, Gateway, gateway
from tests.flow.delegating import calls, says

MARK = "zyxmarker"
PARROT = [says(f"you said {MARK}", tier="parent", last=MARK), *ECHO]


async def bob(g: Gateway, text: str) -> None:
    await talk(g, text, chat="2", user="2")


async def forget(g: Gateway, *, chat: str = "2") -> None:
    shown = await command(g, "/forget me", chat=chat, user="2")
    await press(g, shown, "Forget me", user="2")
    await forgotten(g)


async def forgotten(g: Gateway) -> None:
    """All but what waits for the end of the day."""
    async with asyncio.timeout(PATIENCE):
        while True:
            merging = await g.app.store.read(lambda tx: tx.directory.fact(MERGING))
            left = await g.app.store.read(lambda tx: tx.forgettings.open())
            if merging is None and all(one.step is Step.MONEY for one in left):
                await g.settled()
                return
            g.app.upkeep.retention._news.set()
            await asyncio.sleep(0.02)


def heard(g: Gateway) -> list[str]:
    """What people said, as the model was told last."""
    return [str(m["content"]) for m in g.model.requests[-1].messages if m["role"] == "user"]


@ON_BOTH
async def test_a_person_is_asked_first_and_then_forgotten(store: Store, database: str) -> None:
    async with gateway(PARROT, store=store) as g:
        await bob(g, f"I am {MARK}")
        await store.run(
            lambda tx: tx.notes.add(
                NoteDraft(NoteScope.PERSON, "telegram:2", MARK, "telegram:2", "telegram:2")
            )
        )
        shown = await command(g, "/forget me", chat="2", user="2")
        assert "• 1 private conversation with me, whole: 2 messages" in shown.text
        assert "1 note" in shown.text
        assert labels(shown) == ["Forget me", "No"]
        await press(g, shown, "No", user="2")
        assert shown.text == KEPT
        assert await bound(store, "2") is not None
        await forget(g)
        assert newest(g, "2").text == BEGUN
        left = dump(database)
        assert MARK not in left
        assert "User 2" not in left
        assert check(database) == []
        assert await bound(store, "2") is None
        await bob(g, "hello again")  # like anybody who may talk
        assert newest(g, "2").text == "so be it"
        assert heard(g) == ["hello again"]
        assert labels(await command(g, "/sessions", chat="2", user="2")) == ["● hello again"]


@ON_BOTH
async def test_in_a_group_the_others_keep_what_is_theirs(store: Store, database: str) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "first of all", chat=GROUP, user="3")
        await talk(g, f"about {MARK}", chat=GROUP, user="2")
        shown = await command(g, "/forget me", chat=GROUP, user="2")
        assert "1 message" not in shown.text  # a group reads along
        await press(g, shown, "Forget me", user="3")  # not theirs to say
        assert await store.read(lambda tx: tx.forgettings.open()) == []
        await press(g, shown, "Forget me", user="2")
        await forgotten(g)
        assert MARK not in dump(database)
        await talk(g, "and now?", chat=GROUP, user="3")
        told = "\n".join(heard(g))
        assert "first of all" in told
        assert FORGOTTEN in told
        assert MARK not in told
        assert "User 2" not in told
        found = await command(g, "/search first", chat=GROUP, user="3")
        assert "first of all" in found.text
        found = await command(g, f"/search {MARK}", chat=GROUP, user="3")
        assert "first of all" not in found.text


async def test_a_turn_of_somebody_else_begins_anew_without_their_words(store: Store) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model) as g:
        await talk(g, f"about {MARK}", chat=GROUP, user="2")
        await g.chat.say("slow work", chat=GROUP, user="3", private=False)
        await model.began.wait()
        shown = [s for s in g.chat.shown.values() if s.conversation.chat == GROUP]
        assert shown
        await g.chat.say("/forget me", chat="2", user="2")
        asked = await g.hears("forgets you", chat="2")
        await g.chat.press(asked, "Forget me", user="2")
        async with asyncio.timeout(PATIENCE):
            while any(
                one.step in (Step.ENTRIES, Step.INBOX)
                for one in await store.read(lambda tx: tx.forgettings.open())
            ) or not await store.read(lambda tx: tx.forgettings.open()):
                await asyncio.sleep(0.01)
        model.may_go_on.set()
        await g.settled()
        await g.hears("so be it", chat=GROUP, count=2)
        await g.settled()
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []
        assert MARK not in "\n".join(heard(g))


async def test_their_own_turn_ends_and_their_question_is_withdrawn(store: Store) -> None:
    rules = [
        calls("clarify", {"question": f"Which {MARK}?", "choices": ["a"]}, tier="parent"),
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go", chat="2", user="2")
        await g.hears("Which", chat="2")
        await g.settled()
        shown = await command(g, "/forget me", chat="2", user="2")
        assert "1 question that waits for you" in shown.text
        await press(g, shown, "Forget me", user="2")
        await forgotten(g)
        assert await store.read(lambda tx: tx.questions.open()) == []
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []


async def test_what_began_goes_on_after_a_restart(store: Store, database: str) -> None:
    async with gateway(PARROT, store=store) as g:
        await bob(g, f"I am {MARK}")
    again = await SqlStore.open(database)
    await again.run(lambda tx: tx.forgettings.begin("telegram:2", "test"))
    assert MARK in dump(database)
    async with gateway(PARROT, store=again) as g:
        await forgotten(g)
        assert MARK not in dump(database)


async def test_a_fork_of_what_was_forgotten_goes_on(store: Store) -> None:
    async with gateway(PARROT, store=store) as g:
        await bob(g, f"I am {MARK}")
        private = await bound(store, "2")
        assert private is not None

        def attach(tx: Transaction) -> None:
            tx.directory.bind(f"telegram:{GROUP}", private)
            tx.directory.join(private, "telegram:3")

        await store.run(attach)
        await talk(g, "thanks", chat=GROUP, user="3")
        shown = await command(g, "/fork", chat=GROUP, user="3")
        assert "you are in conversation" in shown.text
        await forget(g)
        await talk(g, "go on", chat=GROUP, user="3")
        told = "\n".join(heard(g))
        assert FORGOTTEN in told
        assert "thanks" in told
        sessions = await store.read(lambda tx: tx.tree.sessions(SessionKind.CHAT))
        assert [one.title for one, _ in sessions] == ["", ""]
        drawn = await command(g, "/tree", chat=GROUP, user="3")
        assert "4 from another conversation" in drawn.text
        await command(g, "/export", chat=GROUP, user="3")
        await command(g, "/branches", chat=GROUP, user="3")


async def test_what_a_turn_remembers_is_not_used_when_others_forgot(store: Store) -> None:
    """As another process, or the command line, does it."""
    async with gateway(ECHO, store=store) as g:
        await talk(g, f"about {MARK}", chat=GROUP, user="2")
        await talk(g, "and I", chat=GROUP, user="3")
        made = await store.run(lambda tx: tx.forgettings.begin("telegram:2", "test"))
        while await store.run(lambda tx: tx.forgettings.advance(tx.forgettings.get(made.id), 100)):
            continue
        await talk(g, "what now", chat=GROUP, user="3")
        assert MARK not in "\n".join(heard(g))
        assert "and I" in "\n".join(heard(g))


async def test_their_data_is_one_file_in_private_only(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        files = {"notes.txt": b"what I sent"}
        await g.chat.say(f"I am {MARK}", chat="2", user="2", files=files)
        await g.settled()
        await talk(g, "in the group", chat=GROUP, user="2")
        shown = await command(g, "/export me", chat=GROUP, user="2")
        assert shown.text == ONLY_IN_PRIVATE
        shown = await command(g, "/export me", chat="2", user="2")
        assert shown.upload is not None
        with zipfile.ZipFile(io.BytesIO(shown.upload.data)) as archive:
            data = json.loads(archive.read("person.json"))
            assert archive.read("files/1-notes.txt") == b"what I sent"
        assert data["identity"] == "telegram:2"
        told = [one["content"] for one in data["messages"] if one.get("role") == "user"]
        assert told == [f"I am {MARK}", "User 2: in the group"]


async def test_without_me_it_says_how(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        assert (await command(g, "/forget")).text == HOW


@ON_BOTH
async def test_the_command_line_lists_exports_and_forgets(
    store: Store, database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config.model_validate({"storage": {"url": database}})

    async def run(*arguments: str) -> str:
        assert await look_after(parser().parse_args(["people", *arguments]), config) == 0
        return capsys.readouterr().out

    async with gateway(PARROT, store=store) as g:
        await bob(g, f"I am {MARK}")
        assert "telegram:2  User 2" in await run("list")
        listed = json.loads((await run("list", "--json")).splitlines()[-1])
        assert listed["identity"] == "telegram:2"
        out = tmp_path / "data.zip"
        await run("export", "telegram:2", "--output", str(out))
        with zipfile.ZipFile(out) as archive:
            assert MARK in archive.read("person.json").decode()
        said = await run("forget", "telegram:2", "--yes")
        assert "1 private conversation with me, whole: 2 messages" in said
        assert "telegram:2 is forgotten." in said
        await forgotten(g)
        assert MARK not in dump(database)
        await bob(g, "hello again")
        assert heard(g) == ["hello again"]
