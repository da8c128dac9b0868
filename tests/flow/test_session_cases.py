"""Sessions in bad days: contexts that are refused, summaries that are cut or fail, long paths, odd
imports, broken streams."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.concurrency import LONG
from agent.models.base import ModelError, ModelErrorKind, Reply, Request
from storage.records.entries import Draft as EntryDraft
from storage.records.entries import (
    Entry,
    ImportedEntry,
    Json,
    Kind,
    SessionDraft,
    SessionKind,
    message,
)
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.flow.chatting import command, newest, talk
from tests.flow.conftest import SpyModel, gateway
from tests.flow.delegating import ASKING, asked, delegates, reports
from tests.flow.telegram_gateway import says, telegram_gateway
from tests.support.gateway_process import ROOT, write_config
from tests.support.session_files import HEADER, assistant, call, file_of, line, result, said, user
from tests.support.stores import make_database
from tests.support.tool_calls import dangling

SUMMARY: Json = {
    "when": {"system": "^You condense the conversation"},
    "reply": {"text": "SUMMARY of it", "usage": {"input": 10, "output": 5}},
}
ECHO: Json = {"when": {"last": "(.*)"}, "reply": {"text": "answer to {1}"}}
PADDING = "x" * 400


def small(**session: Any) -> Json:
    """A window of 1,000 tokens, of which half may be used."""
    return {
        "models": {"parent": {"model": "scripted", "context_window": 1000}},
        "session": {"compaction_threshold": 0.5, "keep_recent_tokens": 100} | session,
    }


def is_summary(request: Request) -> bool:
    return str(request.messages[0]["content"]).startswith("You condense")


def told(request: Request) -> str:
    return "\n".join(str(message["content"]) for message in request.messages)


async def path_of(store: Store, session: int = 1) -> tuple[Entry, ...]:
    return await store.read(lambda tx: tx.tree.path(tx.tree.session(session).leaf))


async def compactions(store: Store) -> list[Entry]:
    return [entry for entry in await path_of(store) if entry.kind is Kind.COMPACTION]


class Narrow(SpyModel):
    """Refuses what is longer than its window, which nobody has configured."""

    def __init__(self, rules: Sequence[dict[str, Any]], characters: int) -> None:
        super().__init__(rules)
        self.characters = characters

    async def complete(self, request: Request) -> Reply:
        if not is_summary(request):
            assert dangling(request.messages[1:]) == []
            said = sum(len(str(message["content"])) for message in request.messages[1:])
            if said > self.characters:
                self.requests.append(request)
                raise ModelError(ModelErrorKind.CONTEXT_LENGTH, "context_length_exceeded")
        return await super().complete(request)


async def test_a_provider_that_refuses_once_is_asked_again_with_less(tmp_path: Path) -> None:
    refusal = {
        "when": {"tier": "parent", "last": "^too much"},
        "times": 1,
        "reply": {"error": "context_length"},
    }
    rules = [SUMMARY, refusal, says("parent", "answer to {last}")]
    async with telegram_gateway(tmp_path, rules) as g:
        for number in range(3):
            g.say(f"number {number}")
            await g.hears(f"answer to number {number}")
        g.say("too much")
        await g.hears("answer to too much")
        last = json.dumps(g.models.requests[-1].messages)
        assert "SUMMARY of it" in last and "number 0" not in last


async def test_a_provider_that_always_refuses_is_asked_twice_and_the_person_told(
    tmp_path: Path,
) -> None:
    refusal = {
        "when": {"tier": "parent", "last": "^too much"},
        "reply": {"error": "context_length"},
    }
    async with telegram_gateway(
        tmp_path, [SUMMARY, refusal, says("parent", "answer to {last}")]
    ) as g:
        g.say("first")
        await g.hears("answer to first")
        g.say("too much")
        await g.hears("This conversation is too long for it: /new begins another.")
        asked_for = [r for r in g.models.requests if r.messages[-1]["content"] == "too much"]
        assert len(asked_for) == 2
        g.say("and now?")
        await g.hears("answer to and now?")


async def test_what_a_provider_refuses_is_cut_to_half_of_it(store: Store) -> None:
    async with gateway(store=store, model=Narrow([SUMMARY, ECHO], 4000)) as g:
        for number in range(12):
            await talk(g, f"{number} {PADDING}")
            assert newest(g).text.startswith(f"answer to {number} ")
        assert len(await compactions(store)) >= 2


async def test_a_call_that_waits_for_a_person_does_not_end_a_conversation(store: Store) -> None:
    rules = [SUMMARY, delegates({"goal": "look", "branch_table": ASKING})]
    model = Narrow([*rules, reports("Gone", "match"), ECHO], 4000)
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        for number in range(12):
            await talk(g, f"{number} {PADDING}")
            assert newest(g).text.startswith(f"answer to {number} ")
        caller = next(e for e in await path_of(store) if e.body.get("tool_calls"))
        assert caller.id < (await compactions(store))[-1].body["first_kept"]
        await g.chat.press(question, "It is there")
        await g.hears("answer to <late result")
        await g.settled()
        assert '"branch": "found"' in told(model.requests[-1])


async def test_stop_ends_a_call_that_a_summary_has_spoken_for(store: Store) -> None:
    rules = [SUMMARY, delegates({"goal": "look", "branch_table": ASKING})]
    model = Narrow([*rules, reports("Gone", "match"), ECHO], 4000)
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        await asked(g, "Lost?")
        for number in range(12):
            await talk(g, f"{number} {PADDING}")
        await command(g, "/stop")
        assert await store.read(lambda tx: tx.delegations.unfinished(1)) == []
        assert await store.read(lambda tx: tx.questions.open()) == []
        await talk(g, "and now?")
        assert '"status": "interrupted"' in told(model.requests[-1])


async def test_calls_that_share_an_id_are_told_apart_and_all_done(store: Store) -> None:
    class Careless(SpyModel):
        async def complete(self, request: Request) -> Reply:
            reply = await super().complete(request)
            same = tuple(replace(call, id="c") for call in reply.tool_calls)
            return replace(reply, tool_calls=same)

    tasks = ({"goal": goal, "branch_table": ASKING} for goal in ("look", "see"))
    model = Careless([delegates(*tasks), reports("There", "seen"), ECHO])
    async with gateway(store=store, model=model) as g:
        await talk(g, "go")
        caller, *results, answer = (await path_of(store))[1:]
        assert [call["id"] for call in caller.body["tool_calls"]] == ["c", "c_2"]
        assert {result.body["tool_call_id"] for result in results} == {"c", "c_2"}
        assert all('"status": "completed"' in result.body["content"] for result in results)
        assert answer.body["role"] == "assistant"


class SlowSummary(SpyModel):
    """Writes no summary until it may."""

    def __init__(self, rules: Sequence[dict[str, Any]]) -> None:
        super().__init__(rules)
        self.began = asyncio.Event()
        self.may = asyncio.Event()

    async def complete(self, request: Request) -> Reply:
        if is_summary(request):
            self.began.set()
            await self.may.wait()
        return await super().complete(request)


@pytest.mark.parametrize("cut", ["/stop", "never mind"])
async def test_a_summary_that_is_cut_leaves_the_conversation_as_it_is(
    store: Store, cut: str
) -> None:
    model = SlowSummary([SUMMARY, ECHO])
    async with gateway(store=store, config=small(), model=model) as g:
        await talk(g, f"one {PADDING}")
        await g.chat.say(f"two {PADDING * 4}")
        await model.began.wait()
        await g.chat.say(cut)
        model.may.set()
        await g.settled()
        made = await compactions(store)
        if cut == "/stop":
            assert made == []
        await talk(g, "three")
        assert newest(g).text == "answer to three"
        users = [e.body["content"] for e in await path_of(store) if e.body.get("role") == "user"]
        assert [text.split()[0] for text in users if text != cut] == ["one", "two", "three"]


async def test_what_came_back_of_a_summary_is_booked_though_a_later_part_fails(
    store: Store,
) -> None:
    class Failing(SpyModel):
        async def complete(self, request: Request) -> Reply:
            if is_summary(request) and len([r for r in self.requests if is_summary(r)]) == 2:
                raise ModelError(ModelErrorKind.BAD_REQUEST, "no more")
            return await super().complete(request)

    model = Failing([SUMMARY, ECHO])
    async with gateway(store=store, config=small(compaction_threshold=1.0), model=model) as g:
        for number in range(5):
            await talk(g, f"{number} {PADDING * 4}")
        assert await compactions(store) == []
        calls = await store.read(lambda tx: tx.ledger.total(since=0.0).calls)
        assert calls == len(model.requests)


async def test_later_compactions_go_on_from_the_former_one_over_restarts(database: str) -> None:
    model = SpyModel([SUMMARY, ECHO])
    for life in range(3):
        store = await SqlStore.open(database)
        async with gateway(store=store, config=small(), model=model) as g:
            for number in range(4):
                await g.chat.say(f"U{life}{number} {PADDING}", key=f"{life}.{number}")
                await g.settled()
        await store.close()
    store = await SqlStore.open(database)
    made = await compactions(store)
    assert len(made) >= 3
    path = await path_of(store)
    await store.close()
    summaries = [told(request) for request in model.requests if is_summary(request)]
    assert all("SUMMARY of it" in summary for summary in summaries[1:])
    kept = made[-1].body["first_kept"]
    for entry in path:
        if entry.body.get("role") == "user" and entry.id < kept:
            word = entry.body["content"].split()[0]
            assert sum(word in summary for summary in summaries) == 1


async def test_a_long_path_is_gone_on_with_wherever_the_leaf_is(store: Store) -> None:
    length = LONG + 500

    def plant(tx: Transaction) -> None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        roles = ("user", "assistant")
        drafts = [
            EntryDraft(Kind.MESSAGE, message(roles[number % 2], f"said {number + 1}"))
            for number in range(length)
        ]
        tx.tree.plant(
            session,
            [ImportedEntry(d, n - 1 if n else None) for n, d in enumerate(drafts)],
            length - 1,
        )
        tx.directory.bind("telegram:1", session)
        tx.directory.join(session, "telegram:1")

    await store.run(plant)
    window = {"models": {"parent": {"model": "scripted", "context_window": 1_000_000}}}
    async with gateway([ECHO], store=store, config=window) as g:
        await talk(g, "here")
        assert len(g.model.requests[-1].messages) == 1 + length + 1
        await command(g, f"/goto #{LONG + 102}")
        await talk(g, "there")
        contents = [each["content"] for each in g.model.requests[-1].messages[1:]]
        assert contents == [f"said {number + 1}" for number in range(LONG + 102)] + ["there"]
        await command(g, "/fan 2")
        assert [len(r.messages) for r in g.model.requests[-2:]] == [1 + LONG + 103] * 2


ODD: list[Json] = [
    user("1", None),
    assistant("2", "1", said("half"), call("k"), stopReason="aborted"),
    line("custom", "3", "2", customType="bough.suspended", data={}),
    line("custom", "4", "3", customType="bough.suspended", data={"tool_call_id": "k"}),
    result("5", "4", "nobody's"),
    line("compaction", "6", "5", summary="", firstKeptEntryId="3", tokensBefore="many", details=7),
    line("branch_summary", "7", "6", summary="", fromId="gone", details=["x"]),
    line("label", "8", "7", targetId="8", label="on itself"),
    assistant("9", "8", said("calls"), call("k"), call("k"), call("j")),
    result("10", "9", "j"),
]


async def test_an_odd_file_is_taken_in_and_gone_on_with(store: Store) -> None:
    model = Narrow([SUMMARY, ECHO], 10**9)
    async with gateway(store=store, model=model) as g:
        await g.chat.say("/import", files={"odd.jsonl": file_of(HEADER, *ODD)})
        await g.settled()
        assert newest(g).text.startswith("Taken in:")
        await talk(g, "what now?")
        assert newest(g).text == "answer to what now?"
        for text in ("/tree all", "/branches", "/undo", "/retry", "/goto on itself", "/stop"):
            await command(g, text)
        await talk(g, "and now?")
        await command(g, "/compact")
        await g.hears("Compacted at")
        shown = await command(g, "/export")
        assert shown.upload is not None


async def run_bough(cwd: Path, *arguments: str, shell: str = "") -> tuple[int, str, str]:
    """Exit status, standard output and errors of a command; `shell` redirects its streams."""
    kept = {name: text for name, text in os.environ.items() if name[:6] != "BOUGH_"}
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'exec "$@" {shell}', "sh"),
        *(sys.executable, "-m", "gateway", "sessions", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=kept | {"PYTHONPATH": str(ROOT)},
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


STREAMS = [
    (["import", "-"], "<&-", "standard input is closed"),
    (["import", "-"], "", "the file is empty"),
    (["list"], ">&-", "standard output is closed"),
    (["tree", "1"], "> /dev/full", "standard output cannot be written: No space left"),
    (["context", "1", "--at", "\udcff"], "", "session 1 has no entry '\ufffd'"),
]


async def test_broken_streams_are_faults_that_are_said(tmp_path: Path) -> None:
    write_config(tmp_path)
    file = tmp_path / "file.jsonl"
    file.write_bytes(file_of(HEADER, user("1", None, "hi")))
    make_database(tmp_path / "bough.db")
    assert (await run_bough(tmp_path, "import", str(file)))[0] == 0
    for arguments, shell, fault in STREAMS:
        status, out, err = await run_bough(tmp_path, *arguments, shell=shell)
        assert (status, out) == (2, "")
        (said,) = (line for line in err.splitlines() if "bough: working on " not in line)
        assert said.startswith(f"bough: {fault}")


async def test_a_file_that_does_not_fit_the_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    write_config(tmp_path)
    small_file, large_file = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    small_file.write_bytes(file_of(HEADER, user("1", None, "hi")))
    large_file.write_bytes(file_of(HEADER, user("1", None, "x" * 5_000_000)))
    make_database(tmp_path / "bough.db")
    assert (await run_bough(tmp_path, "import", str(small_file)))[0] == 0
    # Python ignores the signal, so that the write fails as on a full disk.
    limited = ["sh", "-c", 'ulimit -f 2000; exec "$@"', "sh"]
    process = await asyncio.create_subprocess_exec(
        *limited,
        *(sys.executable, "-m", "gateway", "sessions", "import", str(large_file)),
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    _, err = await process.communicate()
    assert process.returncode == 2
    assert err.startswith(b"bough: ") and b"Traceback" not in err
    status, out, _ = await run_bough(tmp_path, "list", "--json")
    assert status == 0
    assert [each["entries"] for each in json.loads(out)] == [1]
