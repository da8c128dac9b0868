"""What processes say to each other."""

from pathlib import Path

from gateway.processes.switchboard import Switchboard
from storage.news import Committed, Signal
from storage.records.entries import Json
from storage.sql.store import SqlStore


async def test_what_is_not_understood_keeps_nobody_from_hearing_the_rest(tmp_path: Path) -> None:
    store = await SqlStore.open(f"sqlite:///{tmp_path}/bough.db")
    switchboard = Switchboard(store)
    heard: list[Json] = []

    def picky(message: Json) -> None:
        message["of another version"]

    switchboard.on("topic", picky)
    switchboard.on("topic", heard.append)
    signals = (Signal("topic", {"a": 1}), Signal("unknown", {}), Signal("topic", {"b": 2}))
    switchboard._committed(Committed(frozenset(), outbox=False, signals=signals, elsewhere=True))
    switchboard._committed(Committed(frozenset(), outbox=False, signals=signals))
    assert heard == [{"a": 1}, {"b": 2}], "our own words are nobody's"
    await store.close()
