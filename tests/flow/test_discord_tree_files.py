"""Pictures, exports and imports on Discord, and trees too large for one message."""

from pathlib import Path

from tests.flow.discord_gateway import ANN, discord_gateway
from tests.flow.on_discord import files, newest, path, press, rows, slash, talk
from tests.flow.telegram_gateway import says
from tests.flow.test_telegram_tree_files import PNG, large
from tests.stand_ins.discord_files import UPLOAD_LIMIT, Sent
from tests.stand_ins.discord_rest import Fail
from tests.stand_ins.telegram_checks import picture_size
from tests.support.session_files import HEADER, assistant, file_of, lines_of, said, user

ECHO = [says("parent", "re: {last}")]


async def test_a_tree_with_branches_is_shown_as_a_picture_and_as_text(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "one")
        assert (await slash(g, "tree"))["attachments"] == []
        await slash(g, "retry")
        await talk(g, "two")
        shown = await slash(g, "tree")
        picture = files(g, shown)["tree.png"]
        assert picture.startswith(PNG)
        assert shown["attachments"][0]["content_type"] == "image/png"
        drawn = newest(g)
        assert drawn["content"].startswith("2 branches\n```")
        assert rows(drawn) == [["user", "labeled", "no-tools", "all"]]
        count = len(g.said())
        await press(g, drawn, "all")
        assert drawn["content"].startswith("2 branches · all\n")
        assert len(g.said()) == count


async def test_a_large_tree_comes_in_pages_that_each_are_one_message(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        shown = await slash(g, "import", file=Sent("big.jsonl", large()))
        assert "3,000 entries" in shown["content"]
        shown = await slash(g, "tree")
        picture_size(files(g, shown)["tree.png"])
        drawn = newest(g)
        pages = {drawn["content"].partition("\n")[0]}
        for _ in range(3):
            await press(g, drawn, "◀")
            pages.add(drawn["content"].partition("\n")[0])
        assert len(pages) == 4
        assert rows(drawn) == [["◀", "▶"], ["user", "labeled", "no-tools", "all"]]
        count = len(g.said())
        for name, argument in (
            *(("branches", ""), ("branch", ""), ("diff", "#100 #3000")),
            *(("search", "words"), ("goto", "#700"), ("undo", "3")),
        ):
            await slash(g, name, argument)
            assert len(g.said()) == (count := count + 1)
        menu = await slash(g, "branches", "2")
        assert "page 2 of" in menu["content"]
        assert rows(menu)[-1] == ["◀", "▶"]


async def test_an_export_is_a_file_and_an_import_of_it_the_same_conversation(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "Rome", "Paris")
        await slash(g, "undo")
        await talk(g, "Oslo")
        await slash(g, "label", "where it parted #2")
        await slash(g, "name", "Cities: Rome / Oslo")
        sent = await slash(g, "export")
        assert sent["content"] == "“Cities: Rome / Oslo”, 7 entries."
        ((name, content),) = files(g, sent).items()
        assert name.endswith(".jsonl") and "/" not in name
        assert lines_of(content)[0]["type"] == "session"
        before = await path(g)
        shown = await slash(g, "import", file=Sent(name, content))
        assert shown["content"].startswith("Taken in: you are in “Cities: Rome / Oslo” now (7 e")
        assert rows(shown) == [["Back to Cities: Rome / Oslo"]]
        assert await path(g) == before
        await press(g, shown, "Back")
        assert shown["content"].startswith("You are in “Cities: Rome / Oslo” now")


async def test_a_file_comes_in_by_a_typed_command_and_by_a_reply(tmp_path: Path) -> None:
    data = file_of(HEADER, user("a", None, "hi"), assistant("b", "a", said("hello")))
    async with discord_gateway(tmp_path, ECHO) as g:
        shown = await talk(g, "/import", files={"old.jsonl": data})
        assert shown["content"].startswith("Taken in: ")
        assert await path(g) == ["hi", "hello"]
        await talk(g, "go on")
        place = g.discord.general
        carrier = g.discord.say(place, ANN, f"{g.discord.mention} look", files={"a.jsonl": data})
        await g.reads("re: ", place)
        command = f"{g.discord.mention} /import"
        shown = await talk(g, command, user=ANN, place=place, reply_to=carrier)
        assert shown["content"].startswith("Taken in: ")
        assert await path(g, place) == ["hi", "hello"]


async def test_a_broken_file_is_named_by_its_line_and_nothing_is_taken_in(tmp_path: Path) -> None:
    broken = file_of(HEADER, user("a", None), user("b", "nowhere"))
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "hello")
        for data, why in ((b"\x00\xff binary", "Nothing was taken in"), (broken, "line 3")):
            shown = await slash(g, "import", file=Sent("old.jsonl", data))
            assert shown["content"].startswith("Nothing was taken in: ")
            assert why in shown["content"]
        assert await path(g) == ["hello", "re: hello"]


async def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.discord.inject("GET", "attachments", Fail(404))
        shown = await slash(g, "import", file=Sent("old.jsonl", b"{}"))
        assert shown["content"].startswith("The file could not be fetched: ")


async def test_an_export_that_discord_would_not_take_names_the_command_line(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        entry = user("a", None, "x" * UPLOAD_LIMIT)
        await slash(g, "import", file=Sent("old.jsonl", file_of(HEADER, entry)))
        shown = await slash(g, "export")
        assert "`bough sessions export 1 --output FILE` writes it." in shown["content"]
        assert shown["attachments"] == []


async def test_where_the_bot_may_send_no_files_the_words_come_without(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "one", "/retry")
        g.discord.inject("PATCH", "@original", Fail(403, 50013, "Missing Permissions"), times=9)
        g.discord.inject("POST", "/messages$", Fail(403, 50013, "Missing Permissions"))
        g.discord.slash(g.home, "olga", "tree")
        await g.reads("2 branches")
        await g.settled()
        assert "The branches of this conversation" in "".join(g.said())
