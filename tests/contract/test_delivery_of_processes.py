"""Delivery by several processes: what another has sent is not sent once more."""

import asyncio
import re

from adapters.events import Conversation
from adapters.pacing import Limit, Rates
from adapters.recording import RecordingAdapter
from gateway.outbound.delivery import Delivery
from gateway.outbound.pace import Pace
from gateway.processes.leased_duties import LeasedDuties
from gateway.processes.shares import DELIVERY
from gateway.processes.switchboard import Switchboard
from storage.records.inbox_outbox import OutboxDraft
from storage.store import Transaction
from tests.support.processes import two_processes

CHAT = "telegram:1"
PATIENCE = 60.0
ROOM = (Limit(1, 0.2),)


def said(text: str) -> OutboxDraft:
    body = {"text": text}
    payload = {"body": body, "buttons": [], "nonce": text, "reply_to": "", "handle": ""}
    return OutboxDraft(CHAT, "post", payload)


def two_messages(tx: Transaction) -> int:
    first = tx.outbox.enqueue(said("first"))
    tx.outbox.enqueue(said("second"))
    return first.id


async def test_what_the_process_before_records_late_is_not_sent_again_by_who_waits_for_its_turn(
    postgres_url: str,
) -> None:
    async with two_processes(postgres_url) as (before, after):
        first = await before.run(two_messages)
        duties = LeasedDuties(after, Switchboard(after))
        duties.want(DELIVERY, lambda _: True)
        await duties.begin()
        adapter = RecordingAdapter(name="telegram")
        pace = Pace({"telegram": Rates(ROOM, ROOM, *ROOM, re.compile("-"))})
        delivery = Delivery(after, {"telegram": adapter}, pace=pace, duties=duties)
        async with pace.turn(Conversation.parse(CHAT), "post"):
            sending = asyncio.create_task(delivery.run())
            async with asyncio.timeout(PATIENCE):
                while not delivery.busy:
                    await asyncio.sleep(0.01)
            await before.run(lambda tx: tx.outbox.sent(first, "sent before"))
        async with asyncio.timeout(PATIENCE):
            await adapter.wait_for(lambda shown: any(one.text == "second" for one in shown))
        sending.cancel()
        await asyncio.wait([sending])
        assert [one.text for one in adapter.shown.values()] == ["second"]
