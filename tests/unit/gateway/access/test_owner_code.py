from gateway.access.owner_code import KEPT, OwnerCode
from tests.support.stores import Clock


def made() -> tuple[OwnerCode, str, Clock]:
    clock = Clock()
    owner_code = OwnerCode(clock)
    return owner_code, owner_code.make(), clock


def test_there_is_no_code_until_one_is_made() -> None:
    owner_code = OwnerCode(Clock())
    assert not owner_code.open
    assert not owner_code.fits("ABCD-EFGH", "telegram:1")


def test_the_code_fits_until_it_is_void() -> None:
    owner_code, code, _ = made()
    assert owner_code.fits(code.lower(), "telegram:1")
    owner_code.void()
    assert not owner_code.fits(code, "telegram:1")


def test_the_code_is_good_for_a_day() -> None:
    owner_code, code, clock = made()
    clock.now += KEPT
    assert not owner_code.open
    assert not owner_code.fits(code, "telegram:1")


def test_a_persons_sixth_guess_is_not_looked_at_even_where_it_is_right() -> None:
    owner_code, code, clock = made()
    for _ in range(5):
        assert not owner_code.fits("AAAA-AAAA", "telegram:1")
    assert not owner_code.fits(code, "telegram:1")
    assert owner_code.fits(code, "telegram:2")
    clock.now += 3_600
    assert owner_code.fits(code, "telegram:1")


def test_twenty_wrong_guesses_in_an_hour_make_it_void_and_that_is_said_once() -> None:
    owner_code, code, _ = made()
    for number in range(20):
        assert owner_code.open
        owner_code.fits("AAAA-AAAA", f"telegram:{number}")
    assert not owner_code.open
    assert not owner_code.fits(code, "telegram:99")
    assert owner_code.spoilt()
    assert not owner_code.spoilt()


def test_a_new_code_makes_the_one_before_void() -> None:
    owner_code, before, _ = made()
    code = owner_code.make()
    assert not owner_code.fits(before, "telegram:1")
    assert owner_code.fits(code, "telegram:1")
