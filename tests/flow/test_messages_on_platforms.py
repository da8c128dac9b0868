"""Messages, files and questions of the agent's own, on Telegram and on Discord."""

import io
from pathlib import Path

from PIL import Image

from storage.records.entries import Json
from tests.flow.discord_gateway import ANN as ANN_THERE
from tests.flow.discord_gateway import discord_gateway
from tests.flow.on_discord import files
from tests.flow.on_discord import press as press_there
from tests.flow.on_telegram import give, press, refused
from tests.flow.telegram_gateway import ANSWER, OWNER, TelegramGateway, telegram_gateway

ALLOW = [{"tool": "send_message", "match": "", "decision": "allow"}]
ASK = {"question": "Which?", "choices": [f"Colour {n}" for n in range(20)]}


def several(*calls: tuple[str, Json], last: str = "go$") -> Json:
    made = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return {"when": {"tier": "parent", "last": last}, "reply": {"tool_calls": made}}


def one_by_one(*calls: tuple[str, Json]) -> list[Json]:
    """A call in each reply."""
    made = [several(calls[0])]
    for number, call in enumerate(calls[1:]):
        path = calls[number][1]["path"]
        made.append(several(call, last=f"^Sent {path}"))
    return made


def tools(root: Path) -> Json:
    named = ["message", "file_read"]
    return {"toolsets": named, "workspace": str(root), "rules": ALLOW}


def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    root.mkdir()
    for name, form in (("photo.bin", "JPEG"), ("drawing.webp", "WEBP")):
        data = io.BytesIO()
        Image.new("RGB", (60, 40), "teal").save(data, form)
        (root / name).write_bytes(data.getvalue())
    (root / "notes;v1.txt").write_bytes(b"notes")
    (root / "fake.png").write_bytes(b"\x89PNG\r\n\x1a\nno picture at all")
    return root


FILES = ("photo.bin", "drawing.webp", "notes;v1.txt", "fake.png")
SENDING = [*one_by_one(*(("send_file", {"path": path}) for path in FILES)), ANSWER]


async def test_files_and_pictures_arrive_on_telegram(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, SENDING, tools=tools(workspace(tmp_path))) as g:
        photo, drawing, notes, fake, _ = await give(g, "go")
        assert photo["photo"] and drawing["photo"]
        kept = [g.telegram.file(one) for one in (photo, drawing, notes, fake)]
        assert [one.name for one in kept if one is not None] == [
            "photo.jpg",
            "drawing.png",
            "notes_v1.txt",
            "fake.png",
        ]
        assert notes["document"] and fake["document"]
        assert kept[2] is not None and kept[2].content == b"notes"
        assert refused(g) == []


async def test_a_picture_that_telegram_refuses_arrives_as_a_document(tmp_path: Path) -> None:
    rules = [several(("send_file", {"path": "photo.bin", "caption": "**look**"})), ANSWER]
    async with telegram_gateway(tmp_path, rules, tools=tools(workspace(tmp_path))) as g:
        g.telegram.fail_next("sendPhoto", kind="400", description="PHOTO_INVALID_DIMENSIONS")
        sent, _ = await give(g, "go")
        assert sent["document"]["file_name"] == "photo.jpg"
        assert sent["caption"] == "look"


async def test_files_and_pictures_arrive_on_discord(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, SENDING, tools=tools(workspace(tmp_path))) as g:
        g.tells("go")
        await g.reads("result: ")
        await g.settled()
        sent = [m for m in g.discord.messages(g.home) if m["attachments"]]
        found: dict[str, bytes] = {}
        for message in sent[-4:]:
            found |= files(g, message)
        assert list(found) == ["photo.jpg", "drawing.png", "notes_v1.txt", "fake.png"]
        types = [message["attachments"][0]["content_type"] for message in sent[-4:]]
        assert types[:2] == ["image/jpeg", "image/png"]
        assert found["notes_v1.txt"] == b"notes"


async def test_a_file_over_discords_limit_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    with (root / "huge").open("wb") as file:
        file.truncate(10_000_001)
    rules = [several(("send_file", {"path": "huge"})), ANSWER]
    async with discord_gateway(tmp_path, rules, tools=tools(root)) as g:
        g.tells("go")
        await g.reads("at most 10,000,000 can be read")


async def test_a_message_crosses_platforms_and_pings_nobody(tmp_path: Path) -> None:
    arguments = {"target": "{1}", "text": "@everyone see what is new"}
    rules = [several(("send_message", arguments), last=r"^go (\S+)$"), ANSWER]
    async with discord_gateway(tmp_path, rules, telegram=True, started=False) as g:
        target = f"discord:{g.discord.general.id}"
        listed = {"toolsets": ["message"], "rules": ALLOW, "message_targets": [target]}
        g.config["tools"] = listed
        await g.start()
        g.say(f"go {target}")
        await g.hears(f"result: Sent to {target}.")
        there = await g.reads("see what is new", g.discord.general)
        assert f"Sent for `telegram:{OWNER}`" in there["content"]
        assert not there["mentions"] and not there["mention_everyone"]


async def test_a_question_of_twenty_choices_is_asked_on_telegram(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, [several(("clarify", ASK)), ANSWER]) as g:
        shown = await _asked(g)
        assert len(g.telegram.labels(shown)) == 21
        assert "may not decide" in await press(g, shown, "Colour 3", user=OWNER + 5000)
        await press(g, shown, "Colour 13")
        await g.hears("chose: Colour 13")
        assert refused(g) == []


async def test_a_question_of_twenty_choices_is_asked_on_discord(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, [several(("clarify", ASK)), ANSWER]) as g:
        g.tells("go", user=ANN_THERE)
        place = g.discord.dm_of(ANN_THERE)
        shown = await g.reads("Which?", place)
        assert len(g.discord.buttons(place.message(shown["id"]))) == 21
        await press_there(g, shown, "Colour 13", user=ANN_THERE)
        await g.reads("chose: Colour 13", place)


async def test_on_discord_people_just_write_their_answer(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, [several(("clarify", ASK)), ANSWER]) as g:
        g.tells("go")
        await g.reads("Which?")
        await g.settled()
        g.tells("none of them")
        await g.reads("answered in words:\nnone of them")


async def _asked(g: TelegramGateway) -> Json:
    g.say("go")
    shown = await g.hears("Which?")
    await g.settled()
    return shown
