"""Texts of every length and script, in and out."""

from collections.abc import Sequence
from pathlib import Path

from storage.records.entries import Json
from tests.flow.telegram_gateway import (
    ANSWER,
    OWNER,
    TelegramGateway,
    delegate,
    report,
    results_in,
    says,
    telegram_gateway,
)

LIMIT = 4096
PIECES = [
    "x",
    "word ",
    "😀",
    "👨‍👩‍👧‍👦",
    "שלום ",
    "مرحبا بالعالم ",
    "漢字",
    "e\u0301",
    "\u202eright to left\u202c ",
]


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


async def answers(g: TelegramGateway, text: str = "show 0") -> list[Json]:
    """All messages of one answer."""
    before = len(g.texts())
    g.say(text)
    await g.telegram.wait_for(lambda: len(g.texts()) > before)
    await g.settled()
    return g.telegram.messages(OWNER)[before:]


def shows(texts: Sequence[str]) -> list[Json]:
    """The model says text n when it is told to show it."""
    return [says("parent", text, last=f"^show {number}$") for number, text in enumerate(texts)]


async def test_an_answer_of_any_length_arrives_whole_and_in_order(tmp_path: Path) -> None:
    texts = [("word " * length)[:length].strip() for length in (1, 4095, 4096, 4097, 100_000)]
    session = {"max_answer_messages": 100}
    async with telegram_gateway(tmp_path, shows(texts), session=session) as g:
        for number, text in enumerate(texts):
            shown = await answers(g, f"show {number}")
            assert " ".join(one["text"] for one in shown).split() == text.split()
            assert all(units(one["text"]) <= LIMIT for one in shown)
            assert len(shown) <= len(text) // LIMIT + 2


async def test_scripts_and_emoji_survive_a_split(tmp_path: Path) -> None:
    texts = [piece * (20_000 // units(piece)) for piece in PIECES]
    async with telegram_gateway(tmp_path, shows(texts)) as g:
        for number, text in enumerate(texts):
            shown = await answers(g, f"show {number}")
            said = "".join(one["text"] for one in shown)
            assert said.replace(" ", "") == text.replace(" ", "")
            assert all(units(one["text"]) <= LIMIT for one in shown)


UNBALANCED = [
    "**bold *and _mixed ~~up",
    "```\nnever closed",
    "```python\nx = 1\n``` and `more",
    "[link](http://",
    "* * *\n_ _ _\n`` ` ``",
    "\\*\\_ \\` <b>html</b> &amp; &lt;",
    "> quote\n>> deeper\n- list\n  1. number\n| a | b |\n|---|---|\n| 1 |",
    "#",
    "*" * 5000,
    "`" * 5000,
    "[" * 5000,
    "> " * 2000 + "deep",
]


async def test_unbalanced_markdown_is_shown_and_never_refused(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, shows(UNBALANCED)) as g:
        for number in range(len(UNBALANCED)):
            assert await answers(g, f"show {number}")
        sent = g.telegram.calls("sendMessage")
        assert [call.result for call in sent if isinstance(call.result, Exception)] == []


async def test_a_code_block_across_the_limit_stays_code_with_its_indentation(
    tmp_path: Path,
) -> None:
    code = "".join(f"    if line == {number}:\n        pass\n" for number in range(400))
    async with telegram_gateway(
        tmp_path, [says("parent", f"See:\n\n```python\n{code}```\nEnd.")]
    ) as g:
        shown = await answers(g)
        assert len(shown) > 2
        blocks = []
        for one in shown:
            [entity] = [e for e in one["entities"] if e["type"] == "pre"]
            assert entity["language"] == "python"
            start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
            blocks.append(one["text"].encode("utf-16-le")[start:end].decode("utf-16-le"))
        assert "\n".join(blocks).split("\n") == code.rstrip("\n").split("\n")


async def test_a_message_of_any_length_reaches_the_model_whole(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, [says("parent", "read")]) as g:
        for length in (1, 4096, 100_000):
            text = ("😀ü漢\u202e " * length)[:length].strip()
            await answers(g, text)
            assert g.asked("parent")[-1].messages[-1]["content"] == text


async def test_the_bots_name_alone_does_not_spoil_the_conversation(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, [says("parent", "you said: {last}")]) as g:
        g.say("@bough_bot")
        await g.hears("you said: [a message without words]")
        g.say("@bough_bot", chat=-5, user=OWNER)
        await g.hears("you said: [telegram:1001] Olga:\n[a message without words]", chat=-5)


async def test_what_no_database_takes_does_no_harm(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, [says("parent", "a\0b {last}")]) as g:
        shown = await answers(g, "zero \0 and \ud83d alone")
        assert shown[0]["text"] == "a\ufffdb zero \ufffd and \ufffd alone"


async def test_a_question_about_anything_fits_its_message_and_its_buttons(tmp_path: Path) -> None:
    wild = "**`[x](http://y) 😀שלום ```" * 200
    conditions = [
        {"description": f"{number} {wild[:2000]}", "branches": {"ok": "report", "b" * 90: "report"}}
        for number in range(12)
    ]
    table = {
        "conditions": conditions,
        "default": {"action": "escalate", "tier": "human", "prompt": "{observed_state}"},
    }
    rules = [
        delegate(table, goal=wild),
        report("default", "default", wild, observed_state=wild),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        question = await g.hears("Decision needed")
        assert g.telegram.labels(question)[-1] == "Other outcomes…"
        g.press(question, "Other outcomes…")
        await g.settled()
        others = g.telegram.messages(OWNER)[-1]
        labels = g.telegram.labels(others)
        assert labels[-2:] == ["21. More outcomes…", "22. Back"]
        assert all(0 < units(label) <= 64 for label in labels)
        g.press(others, labels[0])
        await g.hears("result: ")
        await g.settled()
        assert "✅ Olga:" in others["text"]
        assert all(g.telegram.labels(m) == [] for m in g.telegram.messages(OWNER))
        result = results_in(g.asked("parent")[-1].messages[-1]["content"])
        assert result["branch"] == "ok"
