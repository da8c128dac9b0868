"""What 10,000 open questions cost on each database: a start, the look each second for what is due,
/questions, a press, and a turn beside them."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import median

from gateway.running.service import App
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.records.questions import Choice, QuestionDraft
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.load.gateways import People, config_of, databases, served
from tests.benchmarks.processes import scratch

OPEN = 10_000
CHATS = 1_000
AT_ONCE = 500
TIMES = 20
BAR_TICK_MS = 10.0
"""It comes each second: 1 % of a core."""
BAR_MS = 100.0
OWNER = "1"
CHOICES = (Choice("yes", "Yes"), Choice("no", "No"))


async def run() -> list[Figure]:
    figures: list[Figure] = []
    with scratch() as folder, databases(folder) as urls:
        for name, url in urls.items():
            figures += [
                Figure(f"{name}: {OPEN:,} open questions, {what}", milliseconds, "ms", bar=bar)
                for what, (milliseconds, bar) in (await _measure(url)).items()
            ]
    return figures


async def _measure(url: str) -> dict[str, tuple[float, float | None]]:
    """What → milliseconds in the median, and the bar."""
    await _fill(url)
    people = People()
    config = config_of(url, {"escalation": {"timeout": "2d"}})
    began = time.perf_counter()
    async with served(config, people) as app:
        start = 1e3 * (time.perf_counter() - began)
        await people.ask("2", "Hello")
        return {
            "a start": (start, None),
            "what is due": (await _times(partial(_due, app)), BAR_TICK_MS),
            "/questions": (await _times(lambda: people.ask(OWNER, "/questions"), 5), None),
            "a turn": (await _times(lambda: people.ask("2", "And in summer?")), None),
            "a press": (await _press(app, people), BAR_MS),
        }


async def _due(app: App) -> None:
    questions = app.router.context.questions
    assert not await app.store.read(partial(questions.due, now=time.time()))


async def _times(work: Callable[[], Awaitable[object]], times: int = TIMES) -> float:
    """Milliseconds in the median."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        taken.append(1e3 * (time.perf_counter() - began))
    return median(taken)


async def _press(app: App, people: People) -> float:
    """Milliseconds in the median, from a press until it is decided and the press acknowledged."""
    questions = app.router.context.questions

    def post(tx: Transaction) -> None:
        for question in tx.questions.open()[:TIMES]:
            questions.post(tx, question, f"telegram:{OWNER}")

    known = set(people.adapter.shown)
    await app.store.run(post)
    shown = await people.adapter.wait_for(
        lambda all_: sum(one.id not in known and bool(one.buttons) for one in all_) >= TIMES
    )
    copies = iter([one for one in shown if one.id not in known and one.buttons])
    return await _times(lambda: people.adapter.press(next(copies), "Yes", user=OWNER))


async def _fill(url: str) -> None:
    """Questions of a thousand chats, ten each, that are not due for two days."""
    store = await SqlStore.open(url)
    for first in range(0, OPEN, AT_ONCE):
        await store.run(partial(_ask, numbers=range(first, first + AT_ONCE)))
    await store.close()


def _ask(tx: Transaction, numbers: range) -> None:
    for number in numbers:
        address = f"telegram:{1_000 + number % CHATS}"
        session = tx.directory.conversation(address)
        if session is None:
            session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
            tx.directory.bind(address, session)
            tx.tree.append(session, _CALL, after=None)
        text = f"May the ferry of {number} o'clock be booked?"
        expires = tx.now + 172_800
        subject = _SUBJECT | {"call_entry": tx.tree.session(session).leaf}
        draft = QuestionDraft("approval", text, CHOICES, session, address, subject, expires)
        tx.questions.create(draft)


_SUBJECT = {
    "tool": "run_command",
    "hash": "none",
    "shown": "book",
    "person": "telegram:2",
    "call_id": "c",
}
_CALL = Draft(
    Kind.MESSAGE,
    message(
        "assistant",
        "",
        tool_calls=[
            {"id": "c", "type": "function", "function": {"name": "book", "arguments": "{}"}}
        ],
    ),
    "parent",
)
