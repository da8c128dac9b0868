"""Answers that grow in the chat while the model writes them."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.outbound.live_messages import BEGUN, CURSOR
from gateway.streaming import live_answer
from gateway.turns.posts import BROKE_OFF
from storage.records.entries import Json
from tests.flow.discord_gateway import OLGA, DiscordGateway, discord_gateway
from tests.flow.on_telegram import handled, path, refused
from tests.flow.telegram_gateway import OWNER, PATIENCE, TelegramGateway, telegram_gateway
from tests.stand_ins.telegram_world import words

GROUP = -100
TEXT = "A **bold word** and `code`, " + " ".join(f"word{n}" for n in range(30)) + " the end."
SHOWN = TEXT.replace("**", "").replace("`", "")
SLOW: Json = {"text": TEXT, "pace": 0.06}
HERE = "@bough_bot "


def written(folder: Path, *rules: Json) -> Json:
    """The models of a configuration: scripted ones."""
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump({"rules": list(rules)}), encoding="utf-8")
    return {"parent": {"model": f"scripted:{file}"}}


def on_telegram(
    folder: Path, *rules: Json, **more: Any
) -> AbstractAsyncContextManager[TelegramGateway]:
    return telegram_gateway(folder, [], models=written(folder, *rules), **more)


def on_discord(
    folder: Path, *rules: Json, **more: Any
) -> AbstractAsyncContextManager[DiscordGateway]:
    return discord_gateway(folder, [], models=written(folder, *rules), **more)


def group(g: TelegramGateway, text: str) -> None:
    g.telegram.group(GROUP, "Friends")
    g.say(HERE + text, chat=GROUP, user=OWNER)


def counts(g: TelegramGateway, *methods: str) -> list[int]:
    return [len(g.telegram.calls(method)) for method in methods]


def growth(texts: Sequence[str]) -> None:
    """Each shows more than the one before, with the sign that there is more to come."""
    assert all(CURSOR in text or BEGUN in text for text in texts)
    assert [len(text) for text in texts] == sorted({len(text) for text in texts})


async def test_a_private_answer_grows_as_drafts_and_is_posted_once(tmp_path: Path) -> None:
    async with on_telegram(tmp_path, {"reply": SLOW}) as g:
        g.say("go")
        await g.hears(SHOWN)
        await handled(g)
        drafts = g.telegram.methods.drafts
        growth([draft["text"] for draft in drafts])
        assert len(drafts) >= 2 and len({draft["draft_id"] for draft in drafts}) == 1
        assert g.texts() == [SHOWN] and counts(g, "sendMessage", "editMessageText") == [1, 0]
        assert refused(g) == []


async def test_a_private_answer_beyond_a_message_keeps_its_beginning(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "words and " * 30 for n in range(40)) + "end."
    async with on_telegram(tmp_path, {"reply": {"text": text, "pace": 0.002}}) as g:
        g.say("go")
        await g.telegram.wait_for(lambda: len(g.texts()) >= 2, PATIENCE)
        posted = g.texts()
        assert posted[0].startswith("Paragraph 0: ") and CURSOR not in "".join(posted)
        await g.hears("end.")
        await handled(g)
        shown = [draft["text"] for draft in g.telegram.methods.drafts]
        assert shown[0].startswith("Paragraph 0: ")
        assert not any(draft.startswith("Paragraph 0: ") for draft in shown[-2:])
        together = " ".join(" ".join(g.texts()).split())
        assert together == " ".join(text.split())
        assert all("not modified" in why for why in refused(g))  # its parts are told once more


async def test_a_group_s_answer_is_one_message_that_is_edited(tmp_path: Path) -> None:
    async with on_telegram(tmp_path, {"reply": SLOW}) as g:
        group(g, "go")
        begun = await g.hears(BEGUN, chat=GROUP)
        assert SHOWN.startswith(words(begun).removesuffix(f" {BEGUN}"))
        final = await g.hears(SHOWN, chat=GROUP)
        await handled(g)
        assert final["message_id"] == begun["message_id"] and g.texts(GROUP) == [SHOWN]
        assert [one["type"] for one in final["entities"]] == ["bold", "code"]
        assert final["reply_to_message"]["text"] == f"{HERE}go"
        assert counts(g, "sendMessage", "sendMessageDraft") == [1, 0] and refused(g) == []
        at = f"telegram:{GROUP}"
        link = await g.read(lambda tx: tx.outbox.linked_entry(at, str(final["message_id"])))
        entry = await g.read(lambda tx: tx.tree.entry(link or 0))
        assert entry.body["content"] == TEXT
        left = await g.read(lambda tx: tx.live_messages.of(range(100)))
        assert left == []


async def test_on_discord_one_message_grows(tmp_path: Path) -> None:
    async with on_discord(tmp_path, {"reply": SLOW}) as g:
        g.tells("go")
        begun = await g.reads(CURSOR)
        final = await g.reads(TEXT)
        await g.settled()
        assert begun["id"] == final["id"] and g.said() == [TEXT]
        texts = [r.payload["content"] for r in g.sent() if r.payload]
        growth(texts[:-1])
        assert texts[-1] == TEXT


async def test_a_copy_of_the_message_whose_id_was_lost_keeps_no_cursor(tmp_path: Path) -> None:
    async with on_telegram(tmp_path, {"reply": SLOW}) as g:
        g.telegram.fail_next("sendMessage", kind="cut_after")
        group(g, "go")
        await g.hears(SHOWN, chat=GROUP)
        await handled(g)
        lost, whole = g.texts(GROUP)
        assert whole == SHOWN and lost.endswith(BEGUN) and CURSOR not in lost


async def test_an_answer_that_is_soon_whole_is_posted_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_answer, "FIRST", 3600.0)
    async with on_telegram(tmp_path, {"reply": {"text": TEXT, "pace": 0.002}}) as g:
        group(g, "go")
        await g.hears(SHOWN, chat=GROUP)
        await handled(g)
        assert counts(g, "sendMessage", "editMessageText") == [1, 0]


async def test_where_nobody_wants_it_nothing_grows(tmp_path: Path) -> None:
    chats = {f"telegram:{GROUP}": {"stream": False}}
    async with on_telegram(tmp_path, {"reply": SLOW}, chats=chats) as g:
        group(g, "go")
        await g.hears(SHOWN, chat=GROUP)
        await handled(g)
        assert counts(g, "sendMessage", "editMessageText") == [1, 0]


async def test_a_server_without_drafts_gets_a_message_that_is_edited(tmp_path: Path) -> None:
    async with on_telegram(tmp_path, {"reply": SLOW}) as g:
        del g.telegram.methods.table["sendMessageDraft"]
        g.say("go")
        begun = await g.hears(CURSOR)
        final = await g.hears(SHOWN)
        await handled(g)
        assert begun["message_id"] == final["message_id"] and g.texts() == [SHOWN]


async def test_what_was_heard_before_the_model_failed_stays(tmp_path: Path) -> None:
    broken = {"begins": SLOW["text"], "pace": SLOW["pace"], "error": "unavailable"}
    async with on_telegram(tmp_path, {"reply": broken}) as g:
        group(g, "go")
        await g.hears("broke off: ", chat=GROUP)
        await handled(g)
        first, why = g.texts(GROUP)
        assert first == f"{SHOWN}\n\n{BROKE_OFF.replace('_', '')}" and "/retry" in why
        assert await path(g, str(GROUP)) == ["Olga: go", TEXT]
        assert refused(g) == []


async def test_an_answer_that_is_stopped_keeps_what_was_heard(tmp_path: Path) -> None:
    async with on_discord(tmp_path, {"reply": {**SLOW, "pace": 0.2}}) as g:
        g.tells("go")
        begun = await g.reads(CURSOR)
        await g.answer(g.slash("stop"))
        await g.settled()
        stopped = next(one for one in g.discord.messages(g.home) if one["id"] == begun["id"])
        told, _, why = stopped["content"].partition("\n\n")
        assert TEXT.startswith(told.rstrip("*`")) and CURSOR not in told and why == BROKE_OFF


async def test_text_before_a_tool_call_becomes_the_message_that_grew(tmp_path: Path) -> None:
    calls = [{"name": "think", "arguments": {"thought": "hm"}}]
    rules = [{"when": {"turn": 0}, "reply": {**SLOW, "tool_calls": calls}}, {"reply": SLOW}]
    async with on_telegram(tmp_path, *rules) as g:
        group(g, "go")
        await g.hears(SHOWN, chat=GROUP, count=2)
        await handled(g)
        assert g.texts(GROUP) == [SHOWN, SHOWN] and refused(g) == []


async def test_a_long_answer_goes_on_in_the_next_message(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "words and " * 30 for n in range(15)) + "end."
    reply = {"text": text, "pace": 0.003}
    async with on_discord(tmp_path, {"reply": reply}) as g:
        g.tells("go")
        await g.reads("end.")
        await g.settled()
        renderer = g.app.platforms.adapters["discord"] if g.app else None
        assert renderer is not None
        assert g.said() == [body["text"] for body in renderer.render(text)]


async def test_buttons_hang_on_the_message_that_grew_and_act(tmp_path: Path) -> None:
    async with on_telegram(tmp_path, {"reply": SLOW}) as g:
        group(g, "go")
        await g.hears(SHOWN, chat=GROUP)
        await handled(g)
        g.say(f"{HERE}/retry", chat=GROUP, user=OWNER)
        await g.hears(SHOWN, chat=GROUP, count=2)
        await handled(g)
        last = g.telegram.messages(GROUP)[-1]
        assert CURSOR not in words(last) and g.telegram.labels(last)
        g.press(last, g.telegram.labels(last)[0])
        await handled(g)
        assert refused(g) == []


async def test_a_growing_text_pings_and_breaks_nothing(tmp_path: Path) -> None:
    evil = "@everyone <@1> ```py\nx = 1\n" + "\u202e\u200d **a [b](http://x.y/ " * 20
    async with on_discord(tmp_path, {"reply": {"text": evil, "pace": 0.03}}) as g:
        g.tells("go", OLGA)
        await g.reads(CURSOR)
        await g.settled()
        assert len(g.said()) == 1 and CURSOR not in g.said()[0]
        for request in g.sent():
            assert request.payload and request.payload["allowed_mentions"]["parse"] == []
