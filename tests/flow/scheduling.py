"""What the tests of schedules share."""

from typing import Any

from storage.records.entries import SessionDraft, SessionKind
from storage.records.tools.schedules import Schedule, ScheduleDraft
from storage.store import Store, Transaction

ON = {"tools": {"toolsets": ["schedule"]}}
HEARD = "Time for it."


def schedules(**arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": "schedule", "arguments": arguments}]}


def rules(**arguments: Any) -> list[dict[str, Any]]:
    """What begins with "remind" is scheduled with these arguments."""
    return [
        {"when": {"last": "^remind"}, "reply": schedules(**arguments)},
        {"when": {"last": "<event"}, "reply": {"text": HEARD}},
        {"when": {"last": "^Scheduled"}, "reply": {"text": "I will."}},
        {"when": {"last": "^Error"}, "reply": {"text": "I cannot: {last}"}},
        {"reply": {"text": "Yes."}},
    ]


async def planted(
    store: Store,
    due: float,
    *,
    rule: str = "",
    chat: str = "1",
    person: str = "telegram:1",
    text: str = "tea",
    zone: str = "Europe/Berlin",
) -> Schedule:
    """A schedule as the tool makes it, in a conversation that there is then."""
    address = f"telegram:{chat}"

    def work(tx: Transaction) -> Schedule:
        session = tx.directory.conversation(address)
        if session is None:
            session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
            tx.directory.bind(address, session)
        draft = ScheduleDraft(session, address, person, text, rule or f"once {due!r}", zone, due)
        return tx.schedules.create(draft)

    return await store.run(work)


async def now_is(store: Store, schedule: Schedule) -> Schedule:
    return await store.read(lambda tx: tx.schedules.get(schedule.id))
