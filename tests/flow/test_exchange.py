"""/export and /import in chats."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.base import Unavailable
from adapters.platforms import PLATFORMS, TELEGRAM
from adapters.recording import RecordingAdapter
from gateway.commands.sessions import transfer
from gateway.media import exporting
from storage.interchange import reading
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP, bound, command, labels, newest, press, talk
from tests.flow.conftest import ON_BOTH, Gateway, gateway

pytestmark = ON_BOTH

MESSAGES = json.dumps(
    [{"role": "user", "content": "to Rome"}, {"role": "assistant", "content": "in May?"}]
).encode()


async def sends(
    g: Gateway, text: str, files: dict[str, bytes], *, chat: str = "1", user: str = "1"
) -> str:
    await g.chat.say(text, chat=chat, user=user, private=not chat.startswith("-"), files=files)
    await g.settled()
    return newest(g, chat).text


async def test_a_conversation_comes_as_a_file_and_goes_in_again(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "to Rome")
        await command(g, "/name Rome & more/less")
        shown = await command(g, "/export")
        assert shown.text == "“Rome & more/less”, 2 entries."
        assert shown.upload is not None
        assert shown.upload.name == "Rome_more_less.jsonl"
        first = json.loads(shown.upload.data.splitlines()[0])
        assert (first["type"], first["version"]) == ("session", 3)
        old = await bound(store)
        text = await sends(g, "/import", {"Rome.jsonl": shown.upload.data})
        assert text.startswith(
            "Taken in: you are in “Rome & more/less” now (2 entries, 2 messages)."
        )
        assert await bound(store) not in (None, old)
        await talk(g, "and then?")
        said = [m["content"] for m in g.model.requests[-1].messages if m["role"] == "user"]
        assert said == ["to Rome", "and then?"]
        await press(
            g, next(s for s in g.chat.shown.values() if s.text == text), "Back to Rome & more/less"
        )
        assert await bound(store) == old


async def test_secrets_are_taken_out_on_request(store: Store) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwxyz123456"
    async with gateway(ECHO, store=store) as g:
        await talk(g, f"my key is {secret}")
        for text, kept in (
            ("/export", True),
            ("/export redact", False),
            ("/export --redact", False),
        ):
            shown = await command(g, text)
            assert shown.upload is not None
            assert (secret.encode() in shown.upload.data) is kept, text
            assert (secret[:12] in shown.upload.name) is kept, text
        assert "`/export redact`" in (await command(g, "/export pdf")).text


async def test_what_is_too_big_to_be_sent_is_said_with_a_way_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PLATFORMS, "telegram", replace(TELEGRAM, largest_upload=100))
    async with gateway(ECHO, store=store) as g:
        await talk(g, "to Rome")
        shown = await command(g, "/export redact")
        assert shown.upload is None
        assert f"`bough sessions export {await bound(store)} --output FILE --redact`" in shown.text


async def test_a_list_of_messages_goes_in_and_is_gone_on_with(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        text = await sends(g, "/import", {"chat.json": MESSAGES}, chat=GROUP, user="2")
        assert text.startswith("Taken in: you are in “to Rome” now (2 entries, 2 messages).")
        assert labels(await command(g, "/sessions", chat=GROUP)) == ["● to Rome"]
        assert labels(await command(g, "/sessions", chat="2", user="2")) == ["to Rome"]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "the file is empty"),
        (b'{"type":"session","version":3}\n{"oops', "line 2"),
        (b"\xff\xfe\x00", ""),
    ],
)
async def test_a_broken_file_is_told_and_nothing_of_it_is_kept(
    store: Store, data: bytes, told: str
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "hello")
        before = await bound(store)
        text = await sends(g, "/import", {"chat.jsonl": data})
        assert text.startswith("Nothing was taken in: ")
        assert told in text
        assert await bound(store) == before
        assert labels(await command(g, "/sessions")) == ["● hello"]


async def test_without_a_file_or_with_two_it_says_how(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        assert (await command(g, "/import")).text.startswith("There is no file with that.")
        text = await sends(g, "/import", {"a.json": MESSAGES, "b.json": MESSAGES})
        assert text.startswith("One file at a time.")


async def test_a_file_that_cannot_be_had_is_told(store: Store) -> None:
    class Away(RecordingAdapter):
        async def fetch(self, ref: str, limit: int) -> bytes:
            raise Unavailable("the platform is _away_")

    async with gateway(ECHO, store=store, chat=Away(name="telegram")) as g:
        text = await sends(g, "/import", {"chat.json": MESSAGES})
        assert text == r"The file could not be fetched: the platform is \_away\_."
        assert await bound(store) is None


async def test_a_file_that_is_too_big_is_not_taken(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "LARGEST_IN", 20)
    async with gateway(ECHO, store=store) as g:
        assert "could not be fetched" in await sends(g, "/import", {"chat.json": MESSAGES})


async def test_an_import_that_arrives_twice_is_taken_in_once(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        for _ in range(2):
            await g.chat.say("/import", key="telegram:1:import", files={"chat.json": MESSAGES})
        await g.settled()
        assert labels(await command(g, "/sessions")) == ["● to Rome"]


async def test_a_long_conversation_is_written_apart_as_it_is_here(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {"storage": {"url": database}}
    async with gateway(ECHO, store=store, config=place) as g:
        await talk(g, "my key is sk-abcdefghijklmnopqrstuvwxyz123456")
        await command(g, "/name Rome")
        for text in ("/export", "/export redact"):
            here = await command(g, text)
            with monkeypatch.context() as patch:
                patch.setattr(exporting, "SHORT", 0)
                apart = await command(g, text)
            assert apart.text == here.text
            assert apart.upload == here.upload is not None
        monkeypatch.setattr(exporting, "SHORT", 0)
        monkeypatch.setitem(PLATFORMS, "telegram", replace(TELEGRAM, largest_upload=100))
        shown = await command(g, "/export")
        assert shown.upload is None
        assert f"`bough sessions export {await bound(store)} --output FILE`" in shown.text


async def test_what_cannot_be_written_apart_is_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "SHORT", 0)
    # The other process finds another database there, in which the conversation is not.
    place = {"storage": {"url": f"sqlite:///{tmp_path}/other.db"}}
    async with gateway(ECHO, store=store, config=place) as g:
        await talk(g, "hello")
        shown = await command(g, "/export")
        assert shown.upload is None
        assert shown.text.startswith("The file could not be written: there is no session")
        monkeypatch.setattr(exporting, "_MODULE", "json.tool")
        assert "too much time or memory" in (await command(g, "/export")).text


async def test_where_the_database_is_stands_in_the_log_and_not_in_the_chat(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(exporting, "SHORT", 0)
    place = {"storage": {"url": f"sqlite:///{tmp_path}/nowhere/bough.db"}}
    async with gateway(ECHO, store=store, config=place) as g:
        await talk(g, "hello")
        shown = await command(g, "/export")
        assert shown.text == f"The file could not be written: {exporting.AWAY}."
    assert "nowhere/bough.db" in caplog.text


async def test_a_long_file_goes_in_and_is_gone_on_with(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [
        {"role": role, "content": f"{role} {n}"}
        for n in range(300)
        for role in ("user", "assistant")
    ]
    monkeypatch.setattr(reading, "SHORT", 0)
    async with gateway(ECHO, store=store) as g:
        text = await sends(g, "/import", {"chat.json": json.dumps(said).encode()})
        assert text.startswith("Taken in: you are in “user 0” now (600 entries, 600 messages).")
        await talk(g, "and then?")
        told = [m["content"] for m in g.model.requests[-1].messages if m["role"] == "user"]
        assert told == [*(one["content"] for one in said[::2]), "and then?"]
        broken = b'{"type":"session","version":3}\n{"oops'
        assert "line 2" in await sends(g, "/import", {"chat.jsonl": broken})
