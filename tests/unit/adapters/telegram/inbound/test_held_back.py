"""What comes after an update that Telegram must bring again waits for it, and not for ever."""

from adapters.telegram.inbound import held_back
from adapters.telegram.inbound.held_back import MOST, HeldBack

ANN, BOB = frozenset({"chat 1", "person 1"}), frozenset({"chat 2", "person 2"})


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_came_later_in_the_same_line_is_behind_until_the_first_is_in() -> None:
    held = HeldBack()
    held.missed(5, ANN)
    assert held.is_behind(6, ANN)
    assert held.is_behind(6, {"chat 9", "person 1"})
    assert not held.is_behind(4, ANN)
    assert not held.is_behind(5, ANN)
    assert not held.is_behind(6, BOB)
    held.taken(5)
    assert not held.is_behind(6, ANN)


def test_of_several_that_are_missing_each_is_waited_for() -> None:
    held = HeldBack()
    for number in (7, 5, 6):
        held.missed(number, ANN)
    held.taken(5)
    assert not held.is_behind(6, ANN)
    assert held.is_behind(7, ANN)
    assert held.is_behind(8, ANN)


def test_one_that_fails_again_and_again_holds_up_the_others_no_longer() -> None:
    clock = Clock()
    held = HeldBack(clock)
    held.missed(5, ANN)
    clock.now = held_back.PATIENCE - 1
    held.missed(5, ANN)
    assert held.is_behind(6, ANN)
    clock.now = held_back.PATIENCE
    assert not held.is_behind(6, ANN)


def test_only_so_many_are_remembered() -> None:
    held = HeldBack()
    for number in range(MOST + 1):
        held.missed(number, {f"chat {number}"})
    assert not held.is_behind(MOST + 2, {"chat 0"})
    assert held.is_behind(MOST + 2, {"chat 1"})
    assert held.is_behind(MOST + 2, {f"chat {MOST}"})
