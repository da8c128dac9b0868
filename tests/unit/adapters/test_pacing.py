import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from adapters.events import Conversation
from adapters.pacing import MANY, Limit, Pacer, Rates
from adapters.platforms import DISCORD, TELEGRAM, TERMINAL, rates_of
from adapters.settings import PlatformSettings

ANN, BEN, GROUP = (Conversation("telegram", chat) for chat in ("1", "2", "-5"))
RATE = Rates(
    private=(Limit(3, 3.0, kept=1),),
    group=(Limit(3, 3.0, kept=1), Limit(6, 20.0, kept=2)),
    whole=(Limit(5, 1.0, kept=2),),
    groups=re.compile("-.*"),
)


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Platform:
    """Counts when each request reached it."""

    arrived: dict[str, list[float]] = field(default_factory=dict)

    def most(self, chat: str | None, seconds: float) -> int:
        times = sorted(
            time for at, times in self.arrived.items() if chat in (None, at) for time in times
        )
        return max((sum(t <= each < t + seconds for each in times) for t in times), default=0)


STEPS = st.lists(
    st.tuples(
        st.sampled_from([ANN, BEN, GROUP]),
        st.sampled_from(["post", "edit"]),
        st.booleans(),  # fleeting
        st.floats(0, 1.5),  # how long after the one before
        st.floats(0, 2),  # how long it travels
        st.floats(0, 2),  # how long its answer does
    ),
    max_size=60,
)


@given(STEPS)
def test_no_window_of_the_platform_ever_holds_more_than_its_limit(
    steps: list[tuple[Conversation, str, bool, float, float, float]],
) -> None:
    clock, platform = Clock(), Platform()
    pacer = Pacer(RATE, clock)
    running: list[tuple[float, Callable[[], None]]] = []
    for to, kind, fleeting, pause, there, back in steps:
        until = clock.now + pause
        while due := sorted((at for at, _ in running if at <= until)):
            clock.now = due[0]
            for at, end in [each for each in running if each[0] == due[0]]:
                end()
                running.remove((at, end))
        clock.now = until
        if pacer.wait(to, kind, fleeting=fleeting) <= 0:
            running.append((until + there + back, pacer.take(to, kind)))
            platform.arrived.setdefault(to.chat, []).append(until + there)
    assert platform.most("1", 3.0) <= 3
    assert platform.most("2", 3.0) <= 3
    assert platform.most("-5", 3.0) <= 3
    assert platform.most("-5", 20.0) <= 6
    assert platform.most(None, 1.0) <= 5


@given(st.lists(st.sampled_from([ANN, BEN, GROUP]), min_size=1, max_size=30))
def test_whoever_waits_as_long_as_it_says_may_send(places: list[Conversation]) -> None:
    clock = Clock()
    pacer = Pacer(RATE, clock)
    for to in places:
        clock.now += pacer.wait(to, "post") + 1e-9
        assert pacer.wait(to, "post") == 0
        pacer.take(to, "post")()


def test_a_burst_goes_at_once_and_what_follows_waits() -> None:
    pacer = Pacer(RATE, Clock())
    waits = []
    for _ in range(4):
        waits.append(pacer.wait(ANN, "post"))
        pacer.take(ANN, "post")()
    assert waits == [0, 0, 0, 3]
    assert pacer.wait(BEN, "post") == 0


def test_what_is_fleeting_leaves_room_for_what_lasts() -> None:
    pacer = Pacer(RATE, Clock())
    for _ in range(2):
        pacer.take(ANN, "edit")()
    assert pacer.wait(ANN, "edit", fleeting=True) > 0
    assert pacer.wait(ANN, "post") == 0


def test_while_one_is_under_way_nobody_knows_when_there_is_room() -> None:
    clock = Clock()
    pacer = Pacer(RATE, clock)
    ends = [pacer.take(ANN, "post") for _ in range(3)]
    assert pacer.wait(ANN, "post") == math.inf
    clock.now = 10.0
    ends[0]()
    assert pacer.wait(ANN, "post") == 3.0


def test_a_platform_that_says_wait_is_obeyed_there_alone_or_everywhere() -> None:
    clock = Clock()
    pacer = Pacer(RATE, clock)
    pacer.block(ANN, "post", 30.0, everywhere=False)
    assert (pacer.wait(ANN, "edit"), pacer.wait(BEN, "post")) == (30, 0)
    pacer.block(ANN, "post", 7.0, everywhere=True)
    assert (pacer.wait(ANN, "post"), pacer.wait(BEN, "post")) == (30, 7)
    clock.now = 30.0
    assert (pacer.wait(ANN, "post"), pacer.wait(BEN, "post")) == (0, 0)


def test_topics_share_what_their_group_may_and_typing_is_counted_for_itself() -> None:
    pacer = Pacer(RATE, Clock())
    for topic in ("1", "2", "3"):
        pacer.take(Conversation("telegram", "-5", topic), "post")()
    assert pacer.wait(Conversation("telegram", "-5", "4"), "edit") > 0
    assert pacer.wait(GROUP, "typing") == 0


def test_a_draft_is_counted_like_the_message_that_follows_it() -> None:
    pacer = Pacer(RATE, Clock())
    for _ in range(3):
        pacer.take(ANN, "draft")()
    assert pacer.wait(ANN, "post") == 3.0


def test_chats_that_were_silent_for_long_are_forgotten() -> None:
    clock = Clock()
    pacer = Pacer(RATE, clock)
    for chat in range(3 * MANY):
        clock.now += 1.0
        pacer.take(Conversation("telegram", str(chat)), "post")()
    assert len(pacer._chats) <= MANY


def test_the_platforms_rates_are_within_what_is_published() -> None:
    telegram, discord = TELEGRAM.rates, DISCORD.rates
    assert telegram is not None and discord is not None and TERMINAL.rates is None
    assert all(each.count <= 30 * each.seconds for each in telegram.whole)
    assert all(each.count <= each.seconds for each in telegram.private)
    assert any(each.count <= 20 and each.seconds >= 60 for each in telegram.group)
    assert all(each.count <= 50 * each.seconds for each in discord.whole)
    for chat, is_group in {"-100123": True, "@name": True, "1001": False}.items():
        assert bool(telegram.groups.fullmatch(chat)) is is_group


def test_a_server_that_does_not_count_is_not_waited_for() -> None:
    sections = {"telegram": {"token": "1:a", "paced": False}, "discord": {"token": "a"}}
    assert list(rates_of(PlatformSettings.model_validate(sections))) == ["discord"]
