"""A call that is cut: what ends, what goes on waiting, and what the books say."""

import json
from collections.abc import AsyncIterator, Mapping

import pytest

from agent.compaction.service import Compacting
from agent.delegation.children.child_runner import ChildRunner
from agent.delegation.children.prompts import Means
from agent.delegation.children.slots import Semaphores, Slots
from agent.delegation.children.transcript import files_touched, tool_calls_text, worker_paths
from agent.delegation.core.events import Asked, Event, Narrated, Reported, Task, event_draft
from agent.delegation.result import to_text
from agent.delegation.runner import Origin, Subagents
from agent.delegation.settlement import (
    FINAL,
    asked_question,
    interrupt,
    outcome_of,
    result_of,
    settle_call,
    spent_by_tier,
)
from agent.delegation.tables.parse import parse_table
from agent.models.base import ModelSpec, Reply, Request
from agent.models.registry import Models
from agent.settings import CompactionConfig
from agent.tools.base import Done, Waiting
from storage.records.delegations import Delegation
from storage.records.entries import (
    Draft,
    Json,
    Kind,
    Run,
    RunRole,
    SessionDraft,
    SessionKind,
    Usage,
    message,
)
from storage.records.ledger import LedgerLine
from storage.records.questions import Choice, Question, QuestionDraft, QuestionState
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.stores import fresh_store

TABLE = parse_table(
    [
        {"condition": "Gone", "branch": {"action": "escalate", "tier": "human"}},
        {"default": "escalate"},
    ]
)


@pytest.fixture
async def store() -> AsyncIterator[SqlStore]:
    async with fresh_store() as store:
        yield store


class Nobody:
    async def complete(self, request: Request) -> Reply:
        raise AssertionError("no model is called here")

    def ask(self, tx: Transaction, draft: QuestionDraft) -> Question:
        return tx.questions.create(draft)

    def withdraw(self, tx: Transaction, question: int) -> None:
        tx.questions.close(question, QuestionState.WITHDRAWN)


class Scene:
    """A chat's session whose model has made one delegate_task call."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        nobody = Nobody()
        models = Models({"parent": ModelSpec("parent", "big")})
        compacting = Compacting(nobody, CompactionConfig)
        self.subagents = Subagents(
            self.store,
            models,
            nobody,
            lambda *_: Means({}, "", 50),
            Slots(store, Semaphores(3)),
            ChildRunner(self.store, models, nobody, nobody, nobody, compacting),
        )

    async def delegated(
        self, *tasks: Task, session: int | None = None, top: int | None = None
    ) -> list[Delegation]:
        """Delegations of one new call, in a new chat where no session is given."""

        def call(tx: Transaction) -> tuple[int, int]:
            at = session or tx.tree.create(SessionDraft(SessionKind.CHAT)).id
            leaf = tx.tree.session(at).leaf
            entry = tx.tree.append(at, Draft(Kind.MESSAGE, message("assistant", "")), after=leaf)
            return at, entry.id

        at, entry = await self.store.run(call)
        origin = Origin(at, entry, "call_1", "telegram:1", "telegram:1", at, top)
        return await self.subagents.start(tasks, origin)

    async def begin_again(self, row: Delegation, *tasks: Task) -> list[Delegation]:
        """The same call, by who woke up after others had taken its turn over."""
        called = (row.session, row.call_entry, row.call_id)
        origin = Origin(*called, row.address, row.person, row.root, row.top)
        return await self.subagents.start(tasks, origin)

    async def happens(self, row: Delegation, *events: Event) -> None:
        def work(tx: Transaction) -> None:
            for event in events:
                leaf = tx.tree.session(row.journal).leaf
                tx.tree.append(row.journal, event_draft(event), after=leaf)

        await self.store.run(work)

    async def waits(self, row: Delegation) -> int:
        """Have a delegation ask a person; the question."""
        draft = QuestionDraft(
            "escalation", "Lost?", (Choice("stop", "Stop"),), row.root, row.address, {}
        )
        question = await self.store.run(lambda tx: tx.questions.create(draft))
        reported = Reported({"condition": "Gone", "branch": "match", "evidence": "404"}, "")
        await self.happens(row, reported, Asked(question.id))
        await self.store.run(lambda tx: tx.delegations.update(row.id, state="waiting"))
        return question.id

    async def settled(self, row: Delegation, *, waiting_too: bool = False) -> Done | Waiting:
        outcome = await self.store.run(
            lambda tx: settle_call(
                tx, row.session, row.call_entry, row.call_id, waiting_too=waiting_too
            )
        )
        assert outcome is not None
        return outcome

    async def run_of(self, row: Delegation, *bodies: Mapping[str, object]) -> int:
        """A worker's session below a delegation."""

        def work(tx: Transaction) -> int:
            run = Run(RunRole.WORKER, 1)
            draft = SessionDraft(SessionKind.SUBAGENT, parent_session=row.journal, run=run)
            session, leaf = tx.tree.create(draft).id, None
            for body in bodies:
                given = dict(body)
                if given["role"] == "tool":
                    given["call_entry"] = leaf
                entry = tx.tree.append(session, Draft(Kind.MESSAGE, given), after=leaf)
                leaf = entry.id
            return session

        return await self.store.run(work)


def task(goal: str, *, asks: bool = False, background: bool = False) -> Task:
    table = TABLE if asks else None
    return Task(goal, "", "worker", "overseer", 50, 0, table, background=background)


def statuses(outcome: Done | Waiting) -> list[str]:
    return [result["status"] for result in json.loads(outcome.text)["results"]]


async def test_a_call_that_delegated_nothing_has_no_outcome_of_ours(store: SqlStore) -> None:
    scene = Scene(store)
    (row,) = await scene.delegated(task("a"))
    found = await scene.store.run(
        lambda tx: settle_call(tx, row.session, row.call_entry, "another", waiting_too=True)
    )
    assert found is None


async def test_a_call_that_others_have_begun_meanwhile_is_not_begun_again(store: SqlStore) -> None:
    scene = Scene(store)
    rows = await scene.delegated(task("a"), task("b"))
    assert await scene.begin_again(rows[0], task("a"), task("b")) == rows
    assert len(await store.read(lambda tx: tx.delegations.unfinished(rows[0].session))) == 2


async def test_what_ran_is_interrupted_and_what_had_ended_keeps_its_result(store: SqlStore) -> None:
    scene = Scene(store)
    ran, done = await scene.delegated(task("a"), task("b"))
    await scene.happens(done, Narrated("b is done"))
    outcome = await scene.settled(ran)
    assert statuses(outcome) == ["interrupted", "completed"]
    assert isinstance(outcome, Done)
    assert outcome.final == (ran.id, done.id)


async def test_what_waits_goes_on_waiting_beside_what_is_interrupted(store: SqlStore) -> None:
    scene = Scene(store)
    waiting, running = await scene.delegated(task("a", asks=True), task("b"))
    await scene.waits(waiting)
    outcome = await scene.settled(running)
    assert statuses(outcome) == ["waiting", "interrupted"]
    assert isinstance(outcome, Done)
    assert outcome.final == (running.id,)


async def test_where_all_wait_the_call_waits(store: SqlStore) -> None:
    scene = Scene(store)
    rows = await scene.delegated(task("a", asks=True), task("b", asks=True))
    questions = [await scene.waits(row) for row in rows]
    outcome = await scene.settled(rows[0])
    assert isinstance(outcome, Waiting)
    assert outcome.question == questions[0]


async def test_stopping_ends_what_waits_and_withdraws_its_question(store: SqlStore) -> None:
    scene = Scene(store)
    (row,) = await scene.delegated(task("a", asks=True))
    question = await scene.waits(row)
    assert statuses(await scene.settled(row, waiting_too=True)) == ["interrupted"]
    asked = await scene.store.read(lambda tx: tx.questions.get(question))
    assert asked.state is QuestionState.WITHDRAWN


async def test_what_runs_in_the_background_goes_on(store: SqlStore) -> None:
    scene = Scene(store)
    (row,) = await scene.delegated(task("a", background=True))
    assert statuses(await scene.settled(row, waiting_too=True)) == ["running"]
    assert (await scene.store.read(lambda tx: tx.delegations.get(row.id))).state not in FINAL


async def test_a_delegation_waits_where_one_below_it_does(store: SqlStore) -> None:
    scene = Scene(store)
    (above,) = await scene.delegated(task("above"))
    run = await scene.run_of(above)
    first, second = await scene.delegated(
        task("first", asks=True), task("second", asks=True), session=run, top=above.id
    )
    decided, still_open = await scene.waits(first), await scene.waits(second)

    def close_first(tx: Transaction) -> Question | None:
        tx.questions.close(decided, QuestionState.DECIDED, choice="stop", by="telegram:1")
        return asked_question(tx, above)

    asked = await scene.store.run(close_first)
    assert asked is not None
    assert asked.id == still_open
    assert statuses(await scene.settled(above)) == ["waiting"]


async def test_ending_a_delegation_ends_everything_below_it(store: SqlStore) -> None:
    scene = Scene(store)
    (above,) = await scene.delegated(task("above"))
    middle_run = await scene.run_of(above)
    (middle,) = await scene.delegated(task("middle"), session=middle_run, top=above.id)
    low_run = await scene.run_of(middle)
    low = await scene.delegated(task("a", asks=True), task("b"), session=low_run, top=above.id)
    question = await scene.waits(low[0])
    await scene.store.run(lambda tx: interrupt(tx, above))

    def states(tx: Transaction) -> list[str]:
        return [tx.delegations.get(row.id).state for row in (above, middle, *low)]

    assert await scene.store.read(states) == ["interrupted"] * 4
    asked = await scene.store.read(lambda tx: tx.questions.get(question))
    assert asked.state is QuestionState.WITHDRAWN


async def test_an_interruption_is_noted_once(store: SqlStore) -> None:
    scene = Scene(store)
    (row,) = await scene.delegated(task("a"))
    first = await scene.settled(row)
    assert await scene.settled(row) == first
    leaf = (await scene.store.read(lambda tx: tx.tree.session(row.journal))).leaf
    path = await scene.store.read(lambda tx: tx.tree.path(leaf))
    assert len(path) == 2


async def test_what_was_used_below_counts_above(store: SqlStore) -> None:
    scene = Scene(store)
    (above,) = await scene.delegated(task("above"))
    run = await scene.run_of(above)
    (below,) = await scene.delegated(task("below"), session=run, top=above.id)

    def pay(tx: Transaction) -> dict[str, Usage]:
        for row, tier, tokens in ((above, "worker", 10), (below, "worker", 5), (below, "judge", 1)):
            used = Usage(tokens, tokens, 1, 0.5)
            line = LedgerLine(
                tier, "m", used, row.session, row.address, row.person, delegation=row.id
            )
            tx.ledger.add(line)
        return spent_by_tier(tx, above)

    assert await scene.store.run(pay) == {
        "worker": Usage(15, 15, 2, 1.0),
        "judge": Usage(1, 1, 1, 0.5),
    }


def tool_call(id_: str, name: str, **arguments: object) -> Json:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": id_, "type": "function", "function": function}


def calling(*calls: Json) -> Json:
    return message("assistant", None, tool_calls=list(calls))


def answer(id_: str, name: str, content: str) -> Json:
    return message("tool", content, tool_call_id=id_, name=name)


async def test_files_that_a_child_touched_are_read_from_its_transcript(store: SqlStore) -> None:
    scene = Scene(store)
    (row,) = await scene.delegated(task("a"))
    await scene.run_of(
        row,
        message("user", "Task: a"),
        calling(tool_call("c1", "write_file", path="./made.txt", content="x")),
        answer("c1", "write_file", "Wrote made.txt: 1 bytes, 1 lines."),
        calling(tool_call("c2", "read_file", path="made.txt")),
        answer("c2", "read_file", "x"),
        calling(tool_call("c3", "read_file", path="gone.txt")),
        answer("c3", "read_file", "Error: gone.txt: there is no such file"),
        calling(tool_call("c4", "read_file", path="a//seen.txt")),
        answer("c4", "read_file", "y"),
    )
    touched = await scene.store.read(lambda tx: files_touched(tx, row.journal))
    assert touched == {"made.txt": "wrote", "a/seen.txt": "read"}
    outcome = await scene.settled(row)
    assert json.loads(outcome.text)["results"][0]["files"] == {"made.txt": "wrote"}


async def test_a_judge_is_shown_calls_with_their_results_and_none_that_were_handed_over(
    store: SqlStore,
) -> None:
    scene = Scene(store)
    (row,) = await scene.delegated(task("a"))
    await scene.run_of(
        row,
        message("user", "Task: a"),
        calling(tool_call("h1", "run_command", command="ls")) | {"handed": True},
        answer("h1", "run_command", "HANDED") | {"handed": True},
        calling(tool_call("c1", "read_file", path="a.txt")),
        answer("c1", "read_file", "CONTENT"),
    )
    (path,) = await scene.store.read(lambda tx: worker_paths(tx, row.journal))
    assert tool_calls_text(path) == 'read_file({"path": "a.txt"})\nCONTENT'


@pytest.mark.parametrize("state", ["running", "completed"])
async def test_a_result_is_the_stored_one_as_soon_as_there_is_one(
    state: str, store: SqlStore
) -> None:
    scene = Scene(store)
    (row,) = await scene.delegated(task("a"))
    stored = {"task": "a", "status": state}
    await scene.store.run(
        lambda tx: tx.delegations.update(row.id, state=state, result=json.dumps(stored))
    )
    result = await scene.store.read(lambda tx: result_of(tx, row))
    assert result["status"] == state
    if state in FINAL:
        outcome = await scene.store.read(lambda tx: outcome_of(tx, [row]))
        assert outcome == Done(to_text(stored), (row.id,))
