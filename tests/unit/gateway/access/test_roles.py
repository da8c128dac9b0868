from dataclasses import replace

from gateway.access.roles import LOCAL, Access
from gateway.config import AccessConfig, EscalationConfig, Level
from storage.records.questions import Choice, Question, QuestionState

OPEN = Question(
    id=1,
    kind="escalation",
    text="?",
    choices=(Choice("a", "A"),),
    session=1,
    address="telegram:1",
    subject={},
    expires=None,
    created=0.0,
    state=QuestionState.OPEN,
    level=0,
    choice=None,
    decided_by="",
    decided_name="",
    decided_at=None,
)


def access(levels: tuple[Level, ...] = (), **lists: tuple[str, ...]) -> Access:
    return Access(AccessConfig(**lists), EscalationConfig(levels=levels))


def test_nobody_is_let_in_by_default() -> None:
    assert not access().may_talk("telegram:1")
    assert not access().may_decide("telegram:1", OPEN)


def test_whoever_sits_at_the_terminal_may_do_everything() -> None:
    assert access().may_talk(LOCAL)
    assert access().may_decide(LOCAL, OPEN)


def test_a_star_lets_in_a_whole_platform_and_no_other() -> None:
    assert access(allow=("telegram:*",)).may_talk("telegram:99")
    assert not access(allow=("telegram:*",)).may_talk("discord:99")


def test_talking_is_not_deciding() -> None:
    rules = access(allow=("telegram:1",), approvers=("telegram:2",))
    assert not rules.may_decide("telegram:1", OPEN)
    assert rules.may_decide("telegram:2", OPEN)
    assert not rules.may_talk("telegram:2")


def test_owners_decide_where_no_approvers_are_named() -> None:
    assert access(owners=("telegram:1",)).may_decide("telegram:1", OPEN)
    assert not access(owners=("telegram:1",), approvers=("telegram:2",)).may_decide(
        "telegram:1", OPEN
    )


def test_who_may_decide_may_ask_what_is_open() -> None:
    rules = access(levels=(Level(approvers=("telegram:3",)),), approvers=("telegram:2",))
    assert rules.may_command("telegram:2")
    assert rules.may_command("telegram:3")
    assert not rules.may_command("telegram:4")


def test_a_level_takes_nobody_s_right_away() -> None:
    rules = access(levels=(Level(approvers=("telegram:1",)),), approvers=("telegram:2",))
    assert rules.may_decide("telegram:2", replace(OPEN, level=1))


def test_a_level_decides_once_it_was_reached() -> None:
    rules = access(
        levels=(Level(approvers=("telegram:1",)), Level(approvers=("telegram:2",), after=60.0))
    )
    first, second = replace(OPEN, level=1), replace(OPEN, level=2)
    assert rules.may_decide("telegram:1", first)
    assert not rules.may_decide("telegram:2", first)
    assert rules.may_decide("telegram:1", second)
    assert rules.may_decide("telegram:2", second)
