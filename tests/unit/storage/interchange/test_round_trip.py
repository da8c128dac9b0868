"""What goes out comes back, and what came in goes out as it was."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from agent.runtime.context import context
from storage.errors import InterchangeError
from storage.interchange.api import read_session, take_in
from storage.records.entries import (
    Draft,
    Entry,
    Json,
    Kind,
    Session,
    SessionDraft,
    SessionKind,
    message,
    record,
)
from storage.store import Transaction
from tests.support.session_files import (
    HEADER,
    NOW,
    assistant,
    call,
    compaction,
    exported,
    file_of,
    in_store,
    line,
    lines_of,
    result,
    said,
    through_a_store,
    user,
)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)
call_ids = st.sampled_from(["c1", "c2", "c3"])
authors = st.sampled_from(["", "telegram:1001", "parent", "a\nb"])

blocks = st.one_of(
    st.builds(said, texts),
    st.builds(lambda text: {"type": "thinking", "thinking": text}, texts),
    st.builds(lambda id_, given: call(id_) | {"arguments": given}, call_ids, objects),
    st.builds(lambda id_: call(id_) | {"thoughtSignature": "s"}, call_ids),
    st.just({"type": "image", "data": "AAAA", "mimeType": "image/png"}),
)
contents = texts | st.lists(blocks, max_size=4)
extras = st.fixed_dictionaries(
    {},
    optional={
        "timestamp": st.integers(0, 2**40) | values,
        "provider": texts,
        "model": texts,
        "usage": st.fixed_dictionaries({"input": values, "output": st.integers(0, 9)}) | values,
        "stopReason": st.sampled_from(["stop", "toolUse", "aborted", "error"]),
        "isError": values,
        "unknown": values,
    },
)


def made(role: str, content: Any, more: Json) -> Json:
    return {"role": role, "content": content} | more


messages = st.one_of(
    st.builds(made, st.sampled_from(["user", "custom", "assistant"]), contents, extras),
    st.builds(
        lambda content, more, id_: made("toolResult", content, more) | {"toolCallId": id_},
        contents,
        extras,
        call_ids,
    ),
    st.builds(
        lambda more, hidden: (
            {
                "role": "bashExecution",
                "command": "ls",
                "output": "x",
                "excludeFromContext": hidden,
            }
            | more
        ),
        extras,
        st.booleans(),
    ),
)


@st.composite
def foreign_files(draw: st.DrawFn) -> list[Json]:
    """The lines of a tree as Pi could write it, the header first."""
    lines: list[Json] = []
    for place in range(draw(st.integers(0, 12))):
        parent = draw(st.integers(-1, place - 1))
        above = [lines[parent]["id"]] if parent >= 0 else []
        while above and (upper := next(x for x in lines if x["id"] == above[-1]))["parentId"]:
            above.append(upper["parentId"])
        stamp = draw(st.just(HEADER["timestamp"]) | st.sampled_from(["2025-01-01T00:00:00Z"]))
        anyone = st.sampled_from([f"e{n}" for n in range(place + 1)])
        kept = st.sampled_from(above) if above else st.none()
        value = draw(
            st.one_of(
                st.fixed_dictionaries({"type": st.just("message"), "message": messages}),
                st.fixed_dictionaries(
                    {
                        "type": st.just("compaction"),
                        "summary": texts,
                        "firstKeptEntryId": kept,
                        "tokensBefore": values,
                    },
                    optional={"details": values, "fromHook": values},
                ),
                st.fixed_dictionaries(
                    {"type": st.just("branch_summary"), "summary": texts},
                    optional={"fromId": anyone | texts, "details": values},
                ),
                st.fixed_dictionaries(
                    {"type": st.just("label"), "targetId": anyone},
                    optional={"label": st.none() | texts},
                ),
                st.fixed_dictionaries(
                    {"type": st.just("model_change"), "modelId": texts},
                    optional={"provider": texts},
                ),
                st.fixed_dictionaries(
                    {"type": st.just("custom"), "customType": texts}, optional={"data": values}
                ),
                st.fixed_dictionaries(
                    {"type": st.just("custom_message"), "content": contents},
                    optional={"display": values, "details": values},
                ),
                st.fixed_dictionaries({"type": st.just("session_info")}, optional={"name": values}),
                st.fixed_dictionaries({"type": st.just("novelty"), "unknown": values}),
            )
        )
        entry = {"id": f"e{place}", "parentId": above[0] if above else None, "timestamp": stamp}
        lines.append(value | entry)
    return [HEADER, *lines]


@given(foreign_files())
def test_what_others_wrote_is_exported_as_it_was(lines: list[Json]) -> None:
    back = through_a_store(file_of(*lines))
    assert json.dumps(back, sort_keys=True) == json.dumps(lines, sort_keys=True)


@given(foreign_files(), st.data())
@example([HEADER, user("1", None) | {"message": {"role": "user", "content": [["x"]]}}], None)
def test_a_file_with_anything_in_it_is_taken_or_refused(
    lines: list[Json], data: st.DataObject | None
) -> None:
    if data is not None and len(lines) > 1:
        place = data.draw(st.integers(1, len(lines) - 1))
        key = data.draw(st.sampled_from([*lines[place], "bough"]))
        mine = st.sampled_from(["author", "tokens", "time", "body", "set", "drop", "role", "pi"])
        nested = st.dictionaries(mine, st.dictionaries(mine, values) | values, max_size=3)
        lines[place] = lines[place] | {key: data.draw(values | nested | messages)}
    try:
        back = through_a_store(file_of(*lines))
    except InterchangeError as error:
        assert str(error)
    else:
        assert len(back) == len(lines)


@given(foreign_files(), st.data())
def test_a_damaged_file_is_taken_or_refused(lines: list[Json], data: st.DataObject) -> None:
    whole = file_of(*lines)
    at = data.draw(st.integers(0, len(whole)))
    damaged = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + 1 :]
    try:
        found = read_session(damaged, NOW)
    except InterchangeError as error:
        assert str(error)
    else:
        assert all(entry.draft.time is not None for entry in found.entries)


calls = st.lists(
    st.builds(
        lambda id_, text: {
            "id": id_,
            "type": "function",
            "function": {"name": "look", "arguments": text},
        },
        call_ids,
        st.sampled_from(["{}", '{"a": 1}', "{broken", "[1]", ""]),
    ),
    max_size=2,
)
usages = st.fixed_dictionaries(
    {
        "input": st.integers(0, 99),
        "output": st.integers(0, 99),
        "cost": st.none() | st.just(0.0) | st.just(0) | st.floats(0, 1),
    }
)
own_messages = st.one_of(
    st.builds(lambda text, more: {"role": "user", "content": text} | more, texts, objects),
    st.builds(
        lambda text, given, usage, raw, stop: (
            message("assistant", text)
            | stop
            | ({"tool_calls": given} if given else {})
            | ({"model": "p/m", "usage": usage, "raw": raw} if usage else {})
        ),
        st.none() | texts,
        calls,
        st.none() | usages,
        objects,
        st.just({}) | st.just({"stop": "cut"}),
    ),
)


class Growing:
    """A session of our own that grows by whatever is drawn, with a fork of it at the end."""

    def __init__(self, tx: Transaction, data: st.DataObject) -> None:
        self.tx, self.data = tx, data
        self.entries: list[Entry] = []
        self.session = tx.tree.create(SessionDraft(SessionKind.CHAT, self.data.draw(texts)))
        self.grow(self.data.draw(st.integers(0, 10)))
        forks = data.draw(st.booleans())
        if self.entries and forks:
            source = self.session
            start = self.data.draw(st.sampled_from(self.entries))
            self.entries = list(tx.tree.path(start.id))
            draft = SessionDraft(SessionKind.CHAT, "fork", source.id, start.id)
            self.session = tx.tree.create(draft)
            tx.tree.move_leaf(self.session.id, start.id, after=None, by="", why="fork")
            self.grow(self.data.draw(st.integers(0, 5)))
        self.session = tx.tree.session(self.session.id)

    def grow(self, steps: int) -> None:
        for _ in range(steps):
            tree, leaf = self.tx.tree, self.tx.tree.session(self.session.id).leaf
            if self.entries and self.data.draw(st.integers(0, 3)) == 0:
                to = self.data.draw(st.none() | st.sampled_from(self.entries).map(lambda e: e.id))
                tree.move_leaf(self.session.id, to, after=leaf, by="someone")
                leaf = to
            draft = self._draft(tree.path(leaf))
            aside = draft.kind is Kind.LABEL
            self.entries.append(tree.append(self.session.id, draft, after=leaf, aside=aside))

    def _draft(self, path: Sequence[Entry]) -> Draft:
        kind, body = self._content(path)
        time = self.data.draw(st.floats(0, 2e9) | st.just(NOW))
        return Draft(kind, body, self.data.draw(authors), self.data.draw(st.integers(0, 99)), time)

    def _content(self, path: Sequence[Entry]) -> tuple[Kind, Json]:
        kind = self.data.draw(st.sampled_from([*Kind, *[Kind.MESSAGE] * 4]))
        anyone = st.sampled_from([e.id for e in self.entries]) if self.entries else st.none()
        above = st.sampled_from([e.id for e in path]) if path else st.none()
        match kind:
            case Kind.MESSAGE:
                return kind, self._message(path)
            case Kind.COMPACTION:
                kept = self.data.draw(st.none() | above)
                body = {"summary": self.data.draw(texts), "first_kept": kept, "tokens_before": 3}
                return kind, body | self.data.draw(st.just({}) | st.just({"details": {"a": [1]}}))
            case Kind.BRANCH_SUMMARY:
                return kind, {"summary": self.data.draw(texts), "from": self.data.draw(anyone)}
            case Kind.LABEL if self.entries:
                return kind, {"label": self.data.draw(texts), "target": self.data.draw(anyone)}
            case Kind.MODEL_CHANGE:
                return kind, {"model": self.data.draw(texts)}
            case _:
                more = {
                    k: v for k, v in self.data.draw(objects).items() if k not in ("record", "pi")
                }
                return Kind.RECORD, record(self.data.draw(st.sampled_from(["stopped", "x"]))) | more

    def _message(self, path: Sequence[Entry]) -> Json:
        callers = [e for e in path if e.body.get("tool_calls")]
        if not callers or self.data.draw(st.booleans()):
            body: Json = self.data.draw(own_messages)
            return {k: v for k, v in body.items() if k not in ("pi", "call_entry", "final")}
        caller = self.data.draw(st.sampled_from(callers))
        id_ = self.data.draw(st.sampled_from(caller.body["tool_calls"]))["id"]
        more = {"tool_call_id": id_, "name": "look", "call_entry": caller.id, "final": [7]}
        return message("tool", self.data.draw(texts), **more)


def seen(tx: Transaction, session: Session) -> Json:
    """All that a session is to those who read it, in words that no database is part of."""
    tree = tx.tree
    names = tree.originals(session.id)
    own = {e.id: e for e in tree.entries(session.id)}
    above = {e.id: e for e in tree.path(session.parent_entry)} if session.parent_entry else {}
    entries = sorted((above | own).values(), key=lambda e: e.id)
    place = {entry.id: n for n, entry in enumerate(entries)}

    def kind(entry: Entry) -> Kind:
        lost = entry.kind is Kind.LABEL and entry.body["target"] not in place
        return Kind.RECORD if lost else entry.kind  # it names what a fork does not have

    labels = sorted(
        (label.name, place[label.target], label.author, label.time)
        for label in tree.labels(session.id)
        if label.target in place
    )
    return {
        "title": " ".join(session.title.split()),
        "leaf": place.get(session.leaf or 0),
        "labels": labels,
        "entries": [
            (place.get(e.parent or 0), e.depth, kind(e), e.author, e.tokens, e.time)
            for e in entries
        ],
        "contexts": [context(tree.context_path(e.id), "p/m") for e in entries],
        "named": len(names),
    }


@given(st.data())
def test_our_own_sessions_come_back_whole_and_are_written_alike(data: st.DataObject) -> None:
    def work(tx: Transaction) -> None:
        grown = Growing(tx, data)
        first = exported(tx, grown.session)
        back = take_in(tx, read_session(first, NOW))
        assert exported(tx, back) == first
        before, after = seen(tx, grown.session), seen(tx, back)
        inherited = len(after["entries"]) - len(before["entries"])
        assert after["named"] == len(after["entries"])
        assert inherited >= 0
        if inherited:  # labels that a fork began with are entries of its own now
            for one in (before, after):
                one["entries"] = one["entries"][: len(before["entries"])]
                one["contexts"] = one["contexts"][: len(before["entries"])]
        assert after | {"named": 0} == before | {"named": 0}

    in_store(work)


def test_an_answer_that_broke_off_is_aborted_for_pi_and_cut_for_us() -> None:
    def work(tx: Transaction) -> bytes:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT))
        body = message("assistant", "Once", model="p/m", stop="cut")
        tx.tree.append(session.id, Draft(Kind.MESSAGE, body, time=2.0), after=None)
        return exported(tx, tx.tree.session(session.id))

    data = in_store(work)
    assert lines_of(data)[1]["message"]["stopReason"] == "aborted"
    assert read_session(data, NOW).entries[0].draft.body["stop"] == "cut"


def test_a_line_that_pi_reads_is_written_for_each_kind() -> None:
    def work(tx: Transaction) -> list[Json]:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT, "Trip"))
        append = partial(tx.tree.append, session.id)
        said_by = Draft(Kind.MESSAGE, message("user", "hi"), "telegram:1", 0, 1.5)
        first = append(said_by, after=None)
        body = message("assistant", "yo", model="p/m", usage={"input": 1, "output": 2, "cost": 0.5})
        second = append(Draft(Kind.MESSAGE, body, "parent", 2, 2.0), after=first.id)
        append(Draft(Kind.RECORD, record("stopped"), time=3.0), after=second.id)
        return lines_of(exported(tx, tx.tree.session(session.id)))

    header, hi, yo, stopped, info, trailer = in_store(work)
    assert header["version"] == 3
    assert hi == {
        "type": "message",
        "id": "00000001",
        "parentId": None,
        "timestamp": "1970-01-01T00:00:01.500Z",
        "message": {"role": "user", "content": "hi", "timestamp": 1500},
        "bough": {"author": "telegram:1"},
    }
    assert yo["message"]["content"] == [{"type": "text", "text": "yo"}]
    assert (yo["message"]["provider"], yo["message"]["model"]) == ("p", "m")
    assert yo["message"]["usage"]["cost"]["total"] == 0.5
    assert yo["bough"] == {"author": "parent"}
    assert (stopped["type"], stopped["customType"]) == ("custom", "bough.stopped")
    assert (info["type"], info["name"], info["parentId"]) == ("session_info", "Trip", "00000003")
    assert (trailer["customType"], trailer["parentId"]) == ("bough.session", info["id"])


def test_what_was_said_in_pi_after_our_export_is_the_end_of_it() -> None:
    def work(tx: Transaction) -> tuple[str, list[Json], str]:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT, "Trip"))
        draft = Draft(Kind.MESSAGE, message("user", "hi"), "telegram:1")
        tx.tree.append(session.id, draft, after=None)
        data = exported(tx, tx.tree.session(session.id))
        last = lines_of(data)[-1]["id"]
        grown = data + file_of(user("more", last, "and on"))
        back = take_in(tx, read_session(grown, NOW))
        assert lines_of(exported(tx, back)) == lines_of(grown)
        leaf = back.leaf
        assert leaf is not None
        return back.title, context(tx.tree.path(leaf)), tx.tree.entry(leaf).body["content"]

    title, told, end = in_store(work)
    assert title == "Trip"
    assert [each["content"] for each in told] == ["hi", "and on"]
    assert end == "and on"


def test_ids_of_other_tables_do_not_leave_the_database() -> None:
    def work(tx: Transaction) -> tuple[list[Json], Json]:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT))
        body = message("assistant", "", tool_calls=[call_of("c")])
        caller = tx.tree.append(session.id, Draft(Kind.MESSAGE, body), after=None)
        waits = record(
            "suspended", tool_call_id="c", call_entry=caller.id, question=5, result="Well?"
        )
        tx.tree.append(session.id, Draft(Kind.RECORD, waits), after=caller.id)
        data = exported(tx, tx.tree.session(session.id))
        back = take_in(tx, read_session(data, NOW))
        assert context(tx.tree.path(back.leaf)) == context(
            tx.tree.path(tx.tree.session(session.id).leaf)
        )
        assert back.leaf is not None
        return lines_of(data), tx.tree.entry(back.leaf).body

    lines, suspended = in_store(work)
    assert "question" not in lines[2]["data"]
    assert suspended["question"] == 0
    assert suspended["call_entry"] == 3


def call_of(id_: str) -> Json:
    return {"id": id_, "type": "function", "function": {"name": "look", "arguments": "{}"}}


def test_new_entries_of_an_imported_session_get_ids_that_are_free() -> None:
    def work(tx: Transaction) -> list[Json]:
        back = take_in(tx, read_session(file_of(HEADER, user("00000002", None)), NOW))
        draft = Draft(Kind.MESSAGE, message("user", "next"))
        tx.tree.append(back.id, draft, after=back.leaf)
        return lines_of(exported(tx, tx.tree.session(back.id)))

    lines = in_store(work)
    assert lines[1]["id"] == "00000002"
    assert len(lines[2]["id"]) == 8
    assert lines[2]["id"] != lines[1]["id"]
    assert lines[2]["parentId"] == "00000002"


@pytest.mark.parametrize("version", [1, 2])
def test_older_versions_are_exported_as_version_three(version: int) -> None:
    header = HEADER | {"version": version}
    rows = [user("00000001", None), compaction("00000002", "00000001", "00000001")]
    given_rows = rows
    if version == 1:
        header = {k: v for k, v in HEADER.items() if k != "version"} | {"modelId": "m"}
        bare = [{k: v for k, v in row.items() if k not in ("id", "parentId")} for row in rows]
        bare[1]["firstKeptEntryIndex"] = 1
        del bare[1]["firstKeptEntryId"]
        given_rows = bare
    back = through_a_store(file_of(header, *given_rows))
    assert back == [header | {"version": 3}, *rows]


def test_a_session_that_was_imported_keeps_its_small_size() -> None:
    rows = [
        user("1", None, "x" * 500),
        assistant(
            "2", "1", {"type": "thinking", "thinking": "t" * 500}, said("y" * 500), call("c")
        ),
        result("3", "2", "c", "z" * 500),
        line("message", "4", "3", message={"role": "user", "content": [said("w" * 500)]}),
    ]
    found = read_session(file_of(HEADER, *rows), NOW)
    stored = json.dumps([entry.draft.body for entry in found.entries])
    for letter in "xytzw":
        assert stored.count(letter * 500) == 1
