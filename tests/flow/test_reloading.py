"""What holds at once when the configuration is read anew."""

from functools import partial

import pytest

from gateway.configuration.config import Config, EscalationConfig, Level
from gateway.running.process.reloading import Reloading
from gateway.schedules import alarm
from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.test_escalation import ANSWER, delegate, report

RULES = [delegate(), report(2, "match"), ANSWER]
LATER = {"escalation": {"levels": [{"to": ["telegram:9"], "after": "1h"}]}}


def taken_for_granted(_: Config) -> None:
    """The log stays as it is."""


async def test_a_question_that_may_climb_sooner_now_does(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarm, "LOOK_EVERY", 1e6)
    async with gateway(RULES, store=store, config=LATER) as g:
        await g.chat.say("go")
        await g.hears("URL may be dead")
        escalation = EscalationConfig(levels=(Level(to=("telegram:9",)),))
        sooner = g.app.settings.live.now.model_copy(update={"escalation": escalation})
        await Reloading(g.app, partial(Config.model_copy, sooner), taken_for_granted).reload()
        await g.hears("URL may be dead", chat="9")
