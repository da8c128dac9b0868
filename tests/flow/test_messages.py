"""send_message and send_file, from the call to what people see."""

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from adapters.base import Outgoing, Post, Unreachable
from adapters.recording import RecordingAdapter
from agent.tools.base import Call, Done, Effects, OutFile, Traits
from storage.errors import NotFound
from storage.store import Store
from tests.flow.chatting import GROUP
from tests.flow.conftest import ON_BOTH, Gateway, gateway
from tests.flow.delegating import ANSWER, calls, delegates, says, tool_results

ALLOW = [{"tool": "send_message", "match": "", "decision": "allow"}]
ON: dict[str, Any] = {"tools": {"toolsets": ["message"], "rules": ALLOW}}
HELLO = says("hello", tier="parent", last="hello$")


def sends(target: str, text: str = "the news", **when: Any) -> dict[str, Any]:
    arguments = {"target": target, "text": text}
    return calls("send_message", arguments, tier="parent", **({"last": "go$"} | when))


def several(name: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    made = [{"name": name, "arguments": each} for each in arguments]
    return {"when": {"tier": "parent", "last": "go$"}, "reply": {"tool_calls": made}}


def on_files(root: Path, *toolsets: str) -> dict[str, Any]:
    named = list(toolsets or ("message", "file_read"))
    return {"tools": {"toolsets": named, "workspace": str(root / "{session}"), "rules": ALLOW}}


def results(g: Gateway) -> list[str]:
    return tool_results(g.model.requests[-1])


def folder(root: Path) -> Path:
    """The workspace of the first session."""
    path = root / "1"
    path.mkdir()
    return path


@ON_BOTH
async def test_a_message_here_is_said_once_beside_the_answer(store: Store) -> None:
    async with gateway([sends("here"), ANSWER], store=store, config=ON) as g:
        await g.chat.say("go")
        await g.hears("result: Sent to this conversation.")
        await g.settled()
        assert g.chat.texts() == ["the news", "result: Sent to this conversation."]


async def test_a_message_goes_to_a_group_in_which_the_asker_talks(store: Store) -> None:
    async with gateway([sends(f"telegram:{GROUP}"), HELLO, ANSWER], store=store, config=ON) as g:
        await g.chat.say("hello", chat=GROUP, user="2", private=False)
        await g.hears("hello", chat=GROUP)
        await g.chat.say("go", chat="2", user="2")
        await g.hears(f"result: Sent to telegram:{GROUP}.", chat="2")
        await g.settled()
        told = g.chat.texts(GROUP)[-1]
        assert told == "📨 *Sent for `telegram:2` from the conversation* `telegram:2`\n\nthe news"
        ((_, who, details, _),) = await store.read(
            lambda tx: tx.directory.audits("message elsewhere")
        )
        assert (who, details["to"]) == ("telegram:2", f"telegram:{GROUP}")


async def test_a_message_goes_to_the_askers_own_private_chat_and_to_nobody_elses(
    store: Store,
) -> None:
    rules = [several("send_message", *({"target": f"telegram:{n}", "text": "x"} for n in (2, 3)))]
    async with gateway([*rules, HELLO, ANSWER], store=store, config=ON) as g:
        await g.chat.say("hello", chat="3", user="3")
        await g.hears("hello", chat="3")
        await g.chat.say("go", chat=GROUP, user="2", private=False)
        await g.hears("result: ", chat=GROUP)
        await g.settled()
        other, own = sorted(results(g))
        assert own == "Sent to telegram:2."
        assert other.startswith("Error: target: 'telegram:3' is none of the conversations")
        assert len(g.chat.texts("2")) == 1
        assert g.chat.texts("3") == ["hello"]
        assert await store.read(lambda tx: tx.questions.open()) == []


async def test_who_shares_a_session_but_never_spoke_there_may_not_write_there(
    store: Store,
) -> None:
    rules = [sends(f"telegram:{GROUP}"), HELLO, ANSWER]
    async with gateway(rules, store=store, config=ON) as g:
        await g.chat.say("hello", chat=GROUP, user="3", private=False)
        await g.hears("hello", chat=GROUP)

        await store.run(lambda tx: tx.directory.join(1, "telegram:2"))
        await g.chat.say("go", chat="2", user="2")
        await g.hears("is none of the conversations", chat="2")
        await g.settled()
        assert g.chat.texts(GROUP) == ["hello"]


async def test_what_the_operator_lists_may_be_written_to(store: Store) -> None:
    config = {"tools": ON["tools"] | {"message_targets": ["telegram:-7"]}}
    async with gateway([sends("telegram:-7"), ANSWER], store=store, config=config) as g:
        await g.chat.say("go", chat="2", user="2")
        await g.hears("result: Sent to telegram:-7.", chat="2")
        await g.settled()
        assert len(g.chat.texts("-7")) == 1


async def test_one_turn_sends_so_much_and_no_more_though_calls_run_side_by_side(
    store: Store,
) -> None:
    texts = ({"target": "here", "text": f"text {n}"} for n in range(13))
    async with gateway([several("send_message", *texts), ANSWER], store=store, config=ON) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.settled()
        assert sum(text.startswith("text ") for text in g.chat.texts()) == 10
        refused = [text for text in results(g) if "are the most in one turn" in text]
        assert len(refused) == 3
        await g.chat.say("go")
        await g.hears("result: ", count=2)
        await g.settled()
        assert sum(text.startswith("text ") for text in g.chat.texts()) == 20


async def test_nothing_is_sent_where_the_toolset_is_off_or_for_a_child(store: Store) -> None:
    child = [
        delegates({"goal": "tell them"}),
        calls("send_message", {"target": "here", "text": "psst"}, last="tell them"),
        says("done: {last}"),
        ANSWER,
    ]
    async with gateway(child, store=store, config=ON) as g:
        await g.chat.say("go")
        await g.hears("there is no tool named")
        await g.settled()
        assert "psst" not in g.chat.texts()
        offered = [tool["function"]["name"] for tool in g.model.of("worker")[0].tools]
        assert not {"send_message", "send_file", "clarify"} & set(offered)


async def test_a_file_of_the_workspace_goes_to_the_chat(store: Store, tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / "report.txt").write_bytes(b"all is well")
    picture = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(picture, "JPEG")
    (root / "no-name").write_bytes(picture.getvalue())
    files = ({"path": "report.txt", "caption": "*Here*"}, {"path": "no-name"})
    rules = [several("send_file", *files), ANSWER]
    async with gateway(rules, store=store, config=on_files(tmp_path)) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.settled()
        sent = {s.text: s.upload for s in g.chat.shown.values() if s.upload is not None}
        document, shown = sent["*Here*"], sent["📎 `no-name.jpg`"]
        assert document is not None and shown is not None
        assert (document.name, document.data) == ("report.txt", b"all is well")
        assert not document.picture
        assert (shown.name, shown.media_type) == ("no-name.jpg", "image/jpeg")
        assert Image.open(io.BytesIO(shown.data)).size == (20, 10)
        assert sorted(results(g)) == [
            f"Sent no-name: {len(picture.getvalue()):,} bytes.",
            "Sent report.txt: 11 bytes.",
        ]


async def test_what_may_not_be_sent_is_told_to_the_agent_alone(
    store: Store, tmp_path: Path
) -> None:
    root = folder(tmp_path)
    (tmp_path / "secret").write_text("planted")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "empty").touch()
    with (root / "huge").open("wb") as file:
        file.truncate(50_000_001)
    paths = ("link", "../secret", str(tmp_path / "secret"), "empty", "huge", "gone", ".")
    rules = [several("send_file", *({"path": path} for path in paths)), ANSWER]
    async with gateway(rules, store=store, config=on_files(tmp_path)) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.settled()
        assert all(text.startswith("Error: ") for text in results(g))
        assert not any(s.upload for s in g.chat.shown.values())


async def test_a_file_with_a_secret_of_the_bot_is_not_sent(store: Store, tmp_path: Path) -> None:
    root = folder(tmp_path)
    (root / "env").write_bytes(b"\xff\x00KEY=planted-secret-1234")
    rules = [several("send_file", {"path": "env"}), ANSWER]
    models = {"models": {"parent": {"model": "demo:x", "api_key": "planted-secret-1234"}}}
    async with gateway(rules, store=store, config=on_files(tmp_path) | models) as g:
        await g.chat.say("go")
        await g.hears("no chat is to see")
        await g.settled()
        assert not any(s.upload for s in g.chat.shown.values())


async def test_files_are_sent_only_where_they_may_be_read(store: Store, tmp_path: Path) -> None:
    async with gateway([ANSWER], store=store, config=on_files(tmp_path, "message")) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        offered = [tool["function"]["name"] for tool in g.model.requests[0].tools]
        assert "send_message" in offered and "send_file" not in offered


class Draws:
    """A tool that makes a picture, and what is too much."""

    name = "draw"
    description = "Draw."
    parameters: dict[str, Any] = {"type": "object"}  # noqa: RUF012
    traits = Traits(Effects.READS, repeatable=True)

    async def run(self, call: Call) -> Done:
        out = io.BytesIO()
        Image.new("RGB", (20, 10), "red").save(out, "PNG")
        files = [OutFile(f"../{n}.png", out.getvalue(), picture=True) for n in range(11)]
        return Done("drawn", files=(OutFile("big", b"x" * 50_000_001), *files))


async def test_pictures_that_tools_make_are_shown_in_bounds(store: Store) -> None:
    rules = [calls("draw", {}, tier="parent", last="go$"), ANSWER]
    async with gateway(rules, store=store, tools=[Draws()]) as g:
        await g.chat.say("go")
        await g.hears("result: drawn")
        await g.settled()
        names = [s.upload.name for s in g.chat.shown.values() if s.upload is not None]
        assert names == [f"_{n}.png" for n in range(9)]
        told = [text for text in g.chat.texts() if "not shown" in text]
        assert told[0].startswith("📎 big is not shown: it has 50,000,001 bytes")
        assert told[1] == "📎 2 more files are not shown: 10 of a call are the most."


async def test_what_a_child_draws_is_shown_to_nobody(store: Store) -> None:
    rules = [
        delegates({"goal": "draw it"}),
        calls("draw", {}, last="draw it"),
        says("done: {last}"),
        ANSWER,
    ]
    async with gateway(rules, store=store, tools=[Draws()]) as g:
        await g.chat.say("go")
        await g.hears("done: drawn")
        await g.settled()
        assert not any(s.upload for s in g.chat.shown.values())


async def test_the_files_of_one_reply_are_bounded_together(store: Store, tmp_path: Path) -> None:
    root = folder(tmp_path)
    for name in ("a", "b", "c"):
        with (root / name).open("wb") as file:
            file.truncate(40_000_000)
    rules = [several("send_file", *({"path": name} for name in ("a", "b", "c"))), ANSWER]
    async with gateway(rules, store=store, config=on_files(tmp_path)) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.settled()
        assert sum(s.upload is not None for s in g.chat.shown.values()) == 2
        (refused,) = [text for text in results(g) if text.startswith("Error: ")]
        assert refused.startswith("Error: c: the files of one reply may have 100,000,000 bytes")


async def test_a_file_that_is_never_taken_is_not_kept_for_ever(
    store: Store, tmp_path: Path
) -> None:
    (folder(tmp_path) / "a.txt").write_bytes(b"all is well")

    def refuse(outgoing: Outgoing) -> None:
        if isinstance(outgoing, Post) and outgoing.upload is not None:
            raise Unreachable("gone")

    chat = RecordingAdapter(name="telegram", before_delivery=refuse)
    rules = [several("send_file", {"path": "a.txt"}), ANSWER]
    async with gateway(rules, store=store, config=on_files(tmp_path), chat=chat) as g:
        await g.chat.say("go")
        await g.hears("result: Sent a.txt")
        await g.settled()
        with pytest.raises(NotFound):
            await store.read(lambda tx: tx.outbox.kept(1))


@pytest.mark.parametrize("path", ["keys/a", "./keys//a"])
async def test_a_rule_about_the_path_of_files_holds_for_what_is_sent(
    store: Store, tmp_path: Path, path: str
) -> None:
    (folder(tmp_path) / "keys").mkdir()
    (tmp_path / "1" / "keys" / "a").write_text("a key")
    config = on_files(tmp_path)
    config["tools"]["rules"] = [{"tool": "*_file", "match": '"path": "keys/', "decision": "deny"}]
    async with gateway(
        [several("send_file", {"path": path}), ANSWER], store=store, config=config
    ) as g:
        await g.chat.say("go")
        await g.hears("send_file is not allowed here: rule 1")
        await g.settled()
        assert not any(shown.upload for shown in g.chat.shown.values())
