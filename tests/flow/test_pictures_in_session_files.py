"""A session's file carries its pictures, and brings them back."""

import json
from pathlib import Path

import pytest

from gateway.media import exporting
from storage.interchange import reading
from tests.flow.telegram_gateway import telegram_gateway
from tests.flow.test_files_come_in_on_telegram import ECHO, last, photo, shown
from tests.support.photos import picture


@pytest.mark.parametrize("short", [exporting.SHORT, 0], ids=["here", "apart"])
async def test_an_export_carries_pictures_and_an_import_brings_them_back(
    tmp_path: Path, short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "SHORT", short)
    monkeypatch.setattr(reading, "SHORT", short)
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.say("what is this?", photo=photo(g, picture("blue")), caption=True)
        await g.hears("seen: what is this?")
        g.say("/export")
        await g.telegram.wait_for(lambda: any(map(g.telegram.file, g.telegram.messages(1001))))
        found = [f for m in g.telegram.messages(1001) if (f := g.telegram.file(m)) is not None]
        lines = [json.loads(line) for line in found[-1].content.splitlines()]
        (said,) = [x["message"] for x in lines if x.get("message", {}).get("role") == "user"]
        assert [block["type"] for block in said["content"]] == ["text", "image"]
    other = tmp_path / "other"
    other.mkdir()
    async with telegram_gateway(other, ECHO) as g:
        file = g.telegram.document("s.jsonl", found[-1].content)
        g.say("/import", document=file, caption=True)
        await g.hears("Taken in")
        g.say("and again?")
        await g.hears("seen: and again?")
        users = [m for m in g.asked("parent")[-1].messages if m["role"] == "user"]
        message = users[0]
        assert len(shown(message)) == 1
        assert last(g)["content"] == "and again?"
