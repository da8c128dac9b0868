"""What strangers, and presses that do nothing, may cost."""

from gateway.access.strangers import ANSWERS, JUNK, PERIOD, REFUSALS, Limit, Strangers
from tests.support.stores import Clock


def admitted(limit: Limit, who: str, count: int) -> int:
    return sum(limit.admits(who) for _ in range(count))


def test_one_person_uses_up_their_own_part_only() -> None:
    limit = Limit(ANSWERS, Clock())
    assert admitted(limit, "a", 100) == ANSWERS.each[0]
    assert admitted(limit, "b", 1) == 1


def test_all_together_have_a_limit_too() -> None:
    limit = Limit(ANSWERS, Clock())
    assert sum(limit.admits(str(number)) for number in range(1000)) == ANSWERS.total[0]


def test_who_is_refused_uses_up_nothing() -> None:
    limit = Limit(JUNK, Clock())
    admitted(limit, "a", 1000)
    assert sum(limit.admits(str(number)) for number in range(1000)) == (
        JUNK.total[0] - JUNK.each[0]
    )


def test_time_brings_it_back_and_never_more_than_there_was() -> None:
    clock = Clock()
    limit = Limit(ANSWERS, clock)
    admitted(limit, "a", 100)
    clock.now += ANSWERS.each[1]
    assert admitted(limit, "a", 100) == 1
    clock.now += 10**6
    assert admitted(limit, "a", 100) == ANSWERS.each[0]


def test_junk_does_not_cover_presses_on_real_buttons_nor_strangers_known_people() -> None:
    strangers = Strangers(Clock())
    junk = strangers.presses(junk=True, known=False)
    assert sum(junk.admits(str(number)) for number in range(500)) == JUNK.total[0]
    assert strangers.presses(junk=False, known=False).admits("499")
    assert strangers.presses(junk=True, known=True).admits("499")
    assert REFUSALS.total[0] >= JUNK.total[0]


def test_what_was_ignored_is_summed_up_once_a_period() -> None:
    clock = Clock()
    strangers = Strangers(clock)
    for number in range(300):
        strangers.ignored("presses", str(number % 30))
    strangers.ignored("messages", "1")
    assert strangers.summary() == []
    clock.now += PERIOD
    rows = dict(strangers.summary())
    assert rows["messages"] == {"ignored": 1, "people": 1, "most": {"1": 1}}
    assert (rows["presses"]["ignored"], rows["presses"]["people"]) == (300, 30)
    assert len(rows["presses"]["most"]) == 10
    assert strangers.summary(now=True) == []
