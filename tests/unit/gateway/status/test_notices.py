import pytest

from adapters.base import Typing, Unavailable
from adapters.events import Conversation
from adapters.recording import RecordingAdapter
from gateway.outbound.connections import Connections
from gateway.status.notices import Notices

HERE = Conversation("telegram", "1")


async def test_a_notice_goes_to_its_platform_while_that_is_served() -> None:
    connections, telegram = Connections(), RecordingAdapter(name="telegram")
    notices = Notices(connections)
    with pytest.raises(Unavailable):
        await notices.send("telegram", Typing(HERE))
    connections.opened(telegram)
    await notices.send("telegram", Typing(HERE))
    connections.closed("telegram")
    with pytest.raises(Unavailable):
        await notices.send("telegram", Typing(HERE))
    assert telegram.outgoing == [Typing(HERE)]
