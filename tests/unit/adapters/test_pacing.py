import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from adapters.events import Conversation
from adapters.pacing import CAUTION, MANY, Bursts, Limit, Pacer, Rates, Urgency
from adapters.platforms import DISCORD, TELEGRAM, TERMINAL, rates_of
from adapters.settings import PlatformSettings

ANN, BEN, GROUP = (Conversation("telegram", chat) for chat in ("1", "2", "-5"))
RATE = Rates(
    private=(Limit(3, 3.0, kept=1),),
    group=(Limit(3, 3.0, kept=1), Limit(6, 20.0, kept=2)),
    whole=Limit(5, 1.0, kept=2),
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
        st.sampled_from(Urgency),
        st.floats(0, 1.5),  # how long after the one before
        st.floats(0, 2),  # how long it travels
        st.floats(0, 2),  # how long its answer does
    ),
    max_size=60,
)


@given(STEPS)
def test_no_window_of_the_platform_ever_holds_more_than_its_limit(
    steps: list[tuple[Conversation, str, Urgency, float, float, float]],
) -> None:
    clock, platform = Clock(), Platform()
    pacer = Pacer(RATE, clock)
    running: list[tuple[float, Callable[[bool], None]]] = []
    for to, kind, urgency, pause, there, back in steps:
        until = clock.now + pause
        while due := sorted((at for at, _ in running if at <= until)):
            clock.now = due[0]
            for at, end in [each for each in running if each[0] == due[0]]:
                end(True)
                running.remove((at, end))
        clock.now = until
        if pacer.wait(to, kind, urgency) <= 0:
            running.append((until + there + back, pacer.take(to, kind, urgency)))
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
        pacer.take(to, "post")(True)


def test_a_burst_goes_at_once_and_what_follows_waits() -> None:
    pacer = Pacer(RATE, Clock())
    waits = []
    for _ in range(4):
        waits.append(pacer.wait(ANN, "post"))
        pacer.take(ANN, "post")(True)
    assert waits == [0, 0, 0, 3]
    assert pacer.wait(BEN, "post") == 0


def test_what_is_fleeting_leaves_room_for_what_lasts() -> None:
    pacer = Pacer(RATE, Clock())
    for _ in range(2):
        pacer.take(ANN, "edit")(True)
    assert pacer.wait(ANN, "edit", Urgency.FLEETING) > 0
    assert pacer.wait(ANN, "post") == 0


def test_while_one_is_under_way_nobody_knows_when_there_is_room() -> None:
    clock = Clock()
    pacer = Pacer(RATE, clock)
    ends = [pacer.take(ANN, "post") for _ in range(3)]
    assert pacer.wait(ANN, "post") == math.inf
    clock.now = 10.0
    ends[0](True)
    assert pacer.wait(ANN, "post") == 3.0


def test_a_platform_that_says_wait_is_obeyed_there_alone_or_everywhere() -> None:
    clock = Clock()
    pacer = Pacer(RATE, clock)
    pacer.refused(ANN, "post", 30.0, everywhere=False)
    assert (pacer.wait(ANN, "edit"), pacer.wait(BEN, "post")) == (30, 0)
    pacer.refused(ANN, "post", 7.0, everywhere=True)
    assert (pacer.wait(ANN, "post"), pacer.wait(BEN, "post")) == (30, 7)
    clock.now = 30.0
    assert (pacer.wait(ANN, "post"), pacer.wait(BEN, "post")) == (0, 0)


BURSTS = Rates(
    private=(Bursts(3, 1.0, kept=1),),
    group=(Bursts(3, 1.0, kept=1), Limit(20, 60.0)),
    whole=Limit(28, 1.0, kept=10),
    groups=re.compile("-.*"),
    learns=True,
)


@dataclass
class Bucket:
    """As a platform counts that lets bursts through: so many, and one more for each second."""

    size: float
    left: float = math.nan
    at: float = 0.0

    def admits(self, now: float) -> bool:
        left = self.size if math.isnan(self.left) else self.left + now - self.at
        self.left, self.at = min(self.size, left) - 1.0, now
        return self.left >= -1e-6


@given(
    st.lists(
        st.tuples(st.sampled_from(Urgency), st.floats(0, 1.5), st.floats(0, 2), st.floats(0, 2)),
        max_size=60,
    )
)
def test_bursts_are_within_what_a_platform_that_lets_them_through_counts(
    steps: list[tuple[Urgency, float, float, float]],
) -> None:
    clock, arrived = Clock(), []
    pacer = Pacer(BURSTS, clock)
    running: list[tuple[float, Callable[[bool], None]]] = []
    for urgency, pause, there, back in steps:
        until = clock.now + pause
        for each in sorted((one for one in running if one[0] <= until), key=lambda one: one[0]):
            clock.now = each[0]
            each[1](True)
            running.remove(each)
        clock.now = until
        if pacer.wait(ANN, "post", urgency) <= 0:
            running.append((until + there + back, pacer.take(ANN, "post", urgency)))
            arrived.append(until + there)
    bucket = Bucket(3)
    assert all(bucket.admits(at) for at in sorted(arrived))


def test_three_in_a_row_go_at_once_and_then_one_each_second() -> None:
    clock = Clock()
    pacer = Pacer(BURSTS, clock)
    waits = []
    for _ in range(5):
        waits.append(pacer.wait(ANN, "post"))
        clock.now += waits[-1]
        pacer.take(ANN, "post")(True)
    assert waits == [0, 0, 0, 1, 1]


def test_signs_of_life_and_notices_leave_a_chat_room_for_an_answer() -> None:
    pacer = Pacer(BURSTS, Clock())
    for urgency in (Urgency.FLEETING, Urgency.NOTICE):
        assert pacer.wait(ANN, "post", urgency) == 0
        pacer.take(ANN, "post", urgency)(True)
    assert pacer.wait(ANN, "post", Urgency.NOTICE) == pacer.wait(ANN, "draft", Urgency.FLEETING) > 0
    assert pacer.wait(ANN, "post", Urgency.ANSWER) == 0


class Telegram:
    """A bot that always has an answer for somebody, and what it is refused: `most` in any second,
    of which each takes `travel` seconds, there and back."""

    def __init__(self, most: int, travel: float = 0.02) -> None:
        self.clock = Clock()
        self.pacer = Pacer(BURSTS, self.clock)
        self.most, self.travel = most, travel
        self.times: list[float] = []
        self.refused: list[float] = []
        self._chat = 0

    def talk(self, seconds: float, urgency: Urgency = Urgency.ANSWER) -> int:
        """How many were accepted."""
        until, before = self.clock.now + seconds, len(self.times)
        while self.clock.now < until:
            begun = []
            while self.pacer.wait(to := self._next(), "post", urgency) <= 0:
                begun.append((to, self.pacer.take(to, "post", urgency)))
            self.clock.now += self.travel
            for to, end in begun:
                self._answer(to, end)
        return len(self.times) - before

    def _next(self) -> Conversation:
        self._chat += 1
        return Conversation("telegram", str(self._chat))

    def _answer(self, to: Conversation, end: Callable[[bool], None]) -> None:
        now = self.clock.now
        recent = [at for at in self.times[-self.most :] if at > now - 1.0]
        accepted = len(recent) < self.most
        if accepted:
            self.times.append(now)
        else:
            self.refused.append(now)
            self.pacer.refused(to, "post", math.ceil(recent[0] + 1.0 - now), everywhere=False)
        end(accepted)


def test_answers_grow_beyond_what_is_published_while_nothing_is_refused() -> None:
    telegram = Telegram(most=10_000)
    assert telegram.talk(3.0) > 3 * 60
    assert telegram.talk(3.0) > 3 * 100


def test_what_no_person_waits_for_never_grows() -> None:
    telegram = Telegram(most=10_000)
    telegram.talk(5.0)
    telegram.clock.now += 2.0
    assert telegram.talk(10.0, Urgency.NOTICE) <= 10 * 28


def test_at_most_one_of_a_hundred_is_refused_where_thirty_a_second_are_enforced() -> None:
    telegram = Telegram(most=30)
    accepted = telegram.talk(300.0)
    assert 0 < len(telegram.refused) <= accepted / 100
    assert accepted > 300 * 24, "and nearly all that is allowed is used"


def test_a_refusal_halves_what_is_sent_and_is_obeyed_to_the_second() -> None:
    telegram = Telegram(most=30)
    while not telegram.refused:
        telegram.talk(telegram.travel)
    assert telegram.pacer.whole.count == 30 / 2
    clock = telegram.clock
    assert telegram.pacer.wait(ANN, "post") == telegram.pacer.held(ANN, "post") > 0
    clock.now += telegram.pacer.held(ANN, "post")
    assert telegram.pacer.wait(ANN, "post") == 0


def test_what_was_refused_is_not_tried_again_for_a_while() -> None:
    telegram = Telegram(most=30)
    telegram.talk(CAUTION / 2)
    assert len(telegram.refused) == 1


def test_a_chat_that_refuses_a_burst_gets_none_for_a_while_and_no_other_waits() -> None:
    clock = Clock()
    pacer = Pacer(BURSTS, clock)
    pacer.take(ANN, "post")(True)
    end = pacer.take(ANN, "post")
    pacer.refused(ANN, "post", 1.0, everywhere=False)
    end(False)
    assert (pacer.wait(BEN, "post"), pacer.whole.count) == (0, 28)
    clock.now += 10.0
    pacer.take(ANN, "post")(True)
    assert pacer.wait(ANN, "post") == 1.0
    clock.now += CAUTION
    pacer.take(ANN, "post")(True)
    assert pacer.wait(ANN, "post") == 0


def test_a_refusal_that_no_use_of_ours_explains_is_the_chats_own() -> None:
    pacer = Pacer(BURSTS, Clock())
    end = pacer.take(ANN, "post")
    pacer.refused(ANN, "post", 600.0, everywhere=False)
    end(False)
    assert (pacer.wait(ANN, "post"), pacer.wait(BEN, "post"), pacer.whole.count) == (600, 0, 28)


def test_topics_share_what_their_group_may_and_typing_is_counted_for_itself() -> None:
    pacer = Pacer(RATE, Clock())
    for topic in ("1", "2", "3"):
        pacer.take(Conversation("telegram", "-5", topic), "post")(True)
    assert pacer.wait(Conversation("telegram", "-5", "4"), "edit") > 0
    assert pacer.wait(GROUP, "typing") == 0


def test_a_draft_is_counted_like_the_message_that_follows_it() -> None:
    pacer = Pacer(RATE, Clock())
    for _ in range(3):
        pacer.take(ANN, "draft")(True)
    assert pacer.wait(ANN, "post") == 3.0


def test_chats_that_were_silent_for_long_are_forgotten() -> None:
    clock = Clock()
    pacer = Pacer(RATE, clock)
    for chat in range(3 * MANY):
        clock.now += 1.0
        pacer.take(Conversation("telegram", str(chat)), "post")(True)
    assert len(pacer._chats) <= MANY


def test_the_platforms_rates_are_within_what_is_published() -> None:
    telegram, discord = TELEGRAM.rates, DISCORD.rates
    assert telegram is not None and discord is not None and TERMINAL.rates is None
    assert telegram.whole.count <= 30 * telegram.whole.seconds
    assert telegram.private == (Bursts(3, 1.0, kept=1),)
    assert any(each.count <= 20 and each.seconds >= 60 for each in telegram.group)
    assert discord.whole.count <= 50 * discord.whole.seconds and not discord.learns
    for chat, is_group in {"-100123": True, "@name": True, "1001": False}.items():
        assert bool(telegram.groups.fullmatch(chat)) is is_group


def test_a_server_that_does_not_count_is_not_waited_for() -> None:
    sections = {"telegram": {"token": "1:a", "paced": False}, "discord": {"token": "a"}}
    assert list(rates_of(PlatformSettings.model_validate(sections))) == ["discord"]
