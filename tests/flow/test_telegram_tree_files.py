"""Pictures, exports and imports in Telegram, and trees too large for one message."""

from pathlib import Path

from storage.records.entries import Json
from tests.flow.on_telegram import BRANCHED, ECHO, ask, give, path, press, refused, talk
from tests.flow.telegram_gateway import ANN, OWNER, TelegramGateway, telegram_gateway
from tests.stand_ins.telegram_checks import picture_size, units
from tests.support.session_files import HEADER, assistant, file_of, lines_of, said, user

GROUP = -500
PNG = b"\x89PNG\r\n\x1a\n"


def large(entries: int = 3_000, branches: int = 60) -> bytes:
    """A session of many branches, each from somewhere on an older one."""
    length, lines = entries // branches, []
    for number in range(entries):
        branch, place = divmod(number, length)
        above = number - 1 if place else (branch * 37) % number if number else None
        parent = f"e{above}" if above is not None else None
        text = f"Branch {branch}, message {place}, with *words* and `more`"
        asks = place % 2 == 0
        lines.append(
            user(f"e{number}", parent, text)
            if asks
            else assistant(f"e{number}", parent, said(text))
        )
    return file_of(HEADER, *lines)


async def import_file(g: TelegramGateway, data: bytes, name: str = "old.jsonl") -> Json:
    document = g.telegram.document(name, data)
    return await ask(g, "/import", caption=True, document=document)


async def test_a_tree_with_branches_is_shown_as_a_picture_and_as_text(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "one")
        (linear,) = await give(g, "/tree")
        assert linear["text"].startswith("1 branch\n")
        await talk(g, "/retry", "two")
        picture, drawn = await give(g, "/tree")
        kept = g.telegram.file(picture)
        assert kept is not None
        assert kept.content.startswith(PNG)
        width, height = picture_size(kept.content)
        assert width > 300 and height > 100
        assert g.telegram.rows(drawn) == [["user", "labeled", "no-tools", "all"]]
        await press(g, drawn, "all")
        assert len(g.telegram.calls("sendPhoto")) == 1
        assert len(g.texts()) == 6


async def test_a_large_tree_comes_in_pages_that_each_are_one_message(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        shown = await import_file(g, large())
        assert "3,000 entries" in shown["text"]
        picture, drawn = await give(g, "/tree")
        kept = g.telegram.file(picture)
        assert kept is not None
        picture_size(kept.content)
        pages = {drawn["text"].partition("\n")[0]}
        for turn in ("◀", "◀", "▶", "▶", "▶"):
            if turn in g.telegram.labels(drawn):
                await press(g, drawn, turn)
            pages.add(drawn["text"].partition("\n")[0])
            assert units(drawn["text"]) < 2_000
        assert len(pages) >= 3
        for command in ("/branches", "/branch", "/diff #100 #3000", "/search words", "/goto #700"):
            shown = await ask(g, command)
            assert units(shown["text"]) < 2_000
            assert len(g.telegram.labels(shown)) <= 20
        menu = await ask(g, "/branches")
        await press(g, menu, "▶")
        assert "page 2 of" in menu["text"]
        assert refused(g) == []


async def test_an_export_is_a_file_and_an_import_of_it_the_same_conversation(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, *BRANCHED, "/label where it parted #2", "/name Cities: Rome / Oslo")
        sent = await ask(g, "/export")
        assert sent["caption"] == "“Cities: Rome / Oslo”, 7 entries."
        kept = g.telegram.file(sent)
        assert kept is not None
        assert kept.name.endswith(".jsonl") and "/" not in kept.name
        assert lines_of(kept.content)[0]["type"] == "session"
        before = await path(g)
        shown = await ask(g, "/import", reply_to=sent)
        assert shown["text"].startswith("Taken in: you are in “Cities: Rome / Oslo” now (7 entries")
        assert g.telegram.labels(shown) == ["Back to Cities: Rome / Oslo"]
        assert await path(g) == before
        assert "You are after #2" in (await ask(g, "/goto where it parted"))["text"]
        assert len(g.telegram.labels(await ask(g, "/sessions"))) == 2


async def test_a_file_of_another_program_is_gone_on_with(tmp_path: Path) -> None:
    data = file_of(HEADER, user("a", None, "hi"), assistant("b", "a", said("hello")))
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "something else")
        await import_file(g, data)
        await talk(g, "go on")
        assert await path(g) == ["hi", "hello", "go on", "re: go on"]
        roles = [message["role"] for message in g.asked("parent")[-1].messages]
        assert roles == ["system", "user", "assistant", "user"]


async def test_a_broken_file_is_named_by_its_line_and_nothing_is_taken_in(tmp_path: Path) -> None:
    good = file_of(HEADER, user("a", None), user("b", "nowhere"))
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "hello")
        for data, why in ((b"\x00\xff binary", "Nothing was taken in"), (good, "line 3")):
            shown = await import_file(g, data)
            assert shown["text"].startswith("Nothing was taken in: ")
            assert why in shown["text"]
        assert await path(g) == ["hello", "re: hello"]
        assert len(g.telegram.labels(await ask(g, "/sessions"))) == 1


async def test_files_that_telegram_does_not_give_are_told(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        huge = g.telegram.document("huge.jsonl", b"x" * (20 * 1024 * 1024 + 1))
        shown = await ask(g, "/import", caption=True, document=huge)
        assert shown["text"] == "The file could not be fetched: it has more than 20 MB."
        gone = g.telegram.document("gone.jsonl", b"{}")
        del g.telegram.world.files[gone["file_id"]]
        shown = await ask(g, "/import", caption=True, document=gone)
        assert shown["text"].startswith("The file could not be fetched: ")
        assert (await ask(g, "/import"))["text"].startswith("There is no file with that.")


async def test_a_picture_that_is_refused_goes_out_as_a_document(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, *BRANCHED)
        g.telegram.fail_next("sendPhoto", kind="400", description="PHOTO_INVALID_DIMENSIONS")
        picture, drawn = await give(g, "/tree")
        assert picture["document"]["file_name"] == "tree.png"
        assert drawn["text"].startswith("2 branches")


async def test_in_a_group_a_file_is_exported_for_all_and_imported_by_a_reply(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "@bough_bot one", chat=GROUP, user=ANN)
        sent = await ask(g, "/export redact", chat=GROUP, user=OWNER)
        assert sent["caption"] == "“Ann: one”, 2 entries, secrets taken out."
        shown = await ask(g, "/import@bough_bot", chat=GROUP, user=ANN, reply_to=sent)
        assert shown["text"].startswith("Taken in: you are in “Ann: one” now (2 entries")
