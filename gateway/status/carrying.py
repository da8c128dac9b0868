"""Notices for a chat that another process sends to: said to that process, which answers what came
of it. At once or not at all: nobody waits for long, and nothing is kept."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from adapters.base import (
    AdapterError,
    Draft,
    Edit,
    Misconfigured,
    Post,
    Refused,
    Throttled,
    Typing,
    Unavailable,
    Unreachable,
)
from gateway.processes.duties import Duties
from gateway.processes.switchboard import Switchboard
from storage.errors import StoreError
from storage.records.entries import Json
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

Carried = Typing | Draft | Post | Edit
"""A post has no file with it."""
Send = Callable[[str, Carried], Awaitable[str | None]]
"""Bucket and notice → the id of a message that was posted. Raises AdapterError."""
PATIENCE = 2.0
"""Seconds until who hears no answer takes it that nobody sends there."""
SIGN = 1.0
"""Seconds after which who sends says that it is still at it."""
LONGEST = 30.0
"""Seconds until the answer, once that was said."""
MOST = 500
"""Notices of others that are being sent; more are not."""
_ASKED, _TOLD = "notice", "notice told"
_FAULTS = {kind.__name__: kind for kind in (Refused, Unreachable, Misconfigured, Unavailable)}


_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    kind.__name__: TypeAdapter(kind) for kind in (Typing, Draft, Post, Edit)
}


@dataclass(slots=True)
class _Asked:
    answer: "asyncio.Future[Json]"
    limit: asyncio.Timeout | None = field(default=None)


class Carrier:
    def __init__(self, store: Store, switchboard: Switchboard, duties: Duties) -> None:
        self._store = store
        self._duties = duties
        self._asked: dict[str, _Asked] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._send: Send | None = None
        switchboard.on(_ASKED, self._hear)
        switchboard.on(_TOLD, self._told)

    def serve(self, send: Send) -> None:
        """Have what others ask for sent by `send`, where it is this process's to send."""
        self._send = send

    async def ask(self, bucket: str, notice: Carried) -> str | None:
        """Have the process send it that sends there. Raises what it raises there; Unavailable
        where nobody answers, or this process is late."""
        if not self._duties.alive():
            raise Unavailable("this process was late: others go on with its work")
        number = uuid.uuid4().hex
        kind = type(notice).__name__
        said = {
            "id": number,
            "from": self._store.process,
            "bucket": bucket,
            "kind": kind,
            "notice": _ADAPTERS[kind].dump_python(notice, mode="json"),
        }

        def work(tx: Transaction) -> None:
            # By the clock that all processes share, too.
            if self._store.process in tx.ephemeral.living():
                tx.signal(_ASKED, said)

        asked = _Asked(asyncio.get_running_loop().create_future())
        self._asked[number] = asked
        try:
            await self._store.run(work)
            if isinstance(notice, Typing):
                return None
            async with asyncio.timeout(PATIENCE) as asked.limit:
                return _result(await asked.answer)
        except StoreError as error:
            raise Unavailable(f"the process that sends there is not reached: {error}") from error
        except TimeoutError:
            raise Unavailable("no process sends there now") from None
        finally:
            del self._asked[number]

    async def close(self) -> None:
        for task in self._sending:
            task.cancel()
        if self._sending:
            await asyncio.wait(self._sending)

    def _hear(self, said: Json) -> None:
        if self._send is None or not self._duties.has(said["bucket"]):
            return
        if len(self._sending) >= MOST:
            return log.debug("too many notices of other processes: one is not sent")
        task = asyncio.create_task(self._carry(self._send, said), name="notice of another process")
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _carry(self, send: Send, said: Json) -> None:
        try:
            notice = _ADAPTERS[said["kind"]].validate_python(said["notice"])
        except (KeyError, ValidationError) as error:  # of another version of the program
            return log.warning("a notice of another process cannot be read: %s", error)
        signing = asyncio.create_task(self._sign(said), name="still sending")
        try:
            answer: Json = {"message": await send(said["bucket"], notice)}
        except Throttled as error:
            answer = {"wait": error.retry_after, "everywhere": error.everywhere}
        except AdapterError as error:
            answer = {"fault": type(error).__name__, "text": str(error)}
        except Exception:
            # A fault of ours or of a library: who asked hears nothing, and takes it for not sent.
            log.exception("a notice of another process could not be sent")
            return
        finally:
            signing.cancel()
            await asyncio.wait([signing])
        if not isinstance(notice, Typing):
            await self._answer(said, answer)

    async def _sign(self, said: Json) -> None:
        await asyncio.sleep(SIGN)
        await self._answer(said, {"still": True})

    async def _answer(self, said: Json, answer: Json) -> None:
        told = {"id": said["id"], "to": said["from"], **answer}
        try:
            await self._store.run(lambda tx: tx.signal(_TOLD, told))
        except StoreError as error:
            log.debug("another process is not answered: %s", error)

    def _told(self, told: Json) -> None:
        asked = self._asked.get(told["id"])
        if asked is None or asked.answer.done():
            return
        if "still" not in told:
            asked.answer.set_result(told)
        elif asked.limit is not None and not asked.limit.expired():
            asked.limit.reschedule(asyncio.get_running_loop().time() + LONGEST)


def _result(told: Json) -> str | None:
    if "wait" in told:
        raise Throttled(float(told["wait"]), everywhere=bool(told.get("everywhere")))
    if "fault" in told:
        raise _FAULTS.get(told["fault"], Unavailable)(str(told.get("text", "")))
    message: str | None = told.get("message")
    return message
