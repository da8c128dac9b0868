"""Whether a gateway is ready, and which part is not."""

import asyncio
from typing import Any

from gateway.monitoring import readiness
from gateway.monitoring.readiness import TOO_LONG, Readiness
from storage.errors import StoreUnavailable
from tests.support.stores import fresh_store


class Away:
    """A store that is not there."""

    async def read(self, work: Any) -> Any:
        raise StoreUnavailable("postgresql://somebody:secret@host is away")


async def fine() -> str:
    return ""


async def broken() -> str:
    raise RuntimeError("secret")


async def test_a_process_without_parts_is_ready_when_its_database_answers() -> None:
    async with fresh_store() as store:
        ready = Readiness(store)
        assert await ready.look() == {"database": "", "running": ""}
        await ready.close()


async def test_each_part_says_why_it_is_not_ready_and_no_other_is_hidden_by_it() -> None:
    async with fresh_store() as store:
        ready = Readiness(store)

        async def away() -> str:
            return "it is away"

        ready.consists_of({"telegram": away, "models": fine, "odd": broken})
        found = await ready.look()
        assert {part for part, why in found.items() if why} == {"telegram", "odd"}
        assert found["telegram"] == "it is away"
        assert "secret" not in found["odd"]
        ready.draining = True
        assert (await ready.look())["running"]
        await ready.close()


async def test_what_a_database_says_of_itself_is_not_shown() -> None:
    ready = Readiness(Away())  # type: ignore[arg-type]
    found = await ready.look()
    assert found["database"] == "it does not answer; the log has why"


async def test_a_part_that_does_not_answer_is_waited_for_no_longer_than_there_is_time(
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(readiness, "PATIENCE", 0.01)

    async def never() -> str:
        await asyncio.Event().wait()
        return ""

    async with fresh_store() as store:
        ready = Readiness(store)
        ready.consists_of({"discord": never})
        assert (await ready.look())["discord"] == TOO_LONG
        await ready.close()
