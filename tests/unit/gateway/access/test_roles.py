from dataclasses import replace

from gateway.access.roles import LOCAL, Access
from gateway.configuration.config import (
    AccessConfig,
    Config,
    EscalationConfig,
    GatewayToolsConfig,
    Level,
)
from gateway.configuration.current import Current
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


def access_of(
    lists: AccessConfig, levels: tuple[Level, ...] = (), approvers: tuple[str, ...] = ()
) -> Access:
    escalation, tools = EscalationConfig(levels=levels), GatewayToolsConfig(approvers=approvers)
    return Access(Current(Config(access=lists, escalation=escalation, tools=tools)))


def access(levels: tuple[Level, ...] = (), **lists: tuple[str, ...]) -> Access:
    return access_of(AccessConfig.model_validate(lists), levels)


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


def test_calls_may_have_approvers_of_their_own_who_lose_to_no_level() -> None:
    lists = AccessConfig(owners=("telegram:1",), approvers=("telegram:2",))
    levels = (Level(approvers=("telegram:3",)),)
    approval, four = replace(OPEN, kind="approval", level=1), "telegram:4"
    usual = access_of(lists, levels)
    assert [usual.may_decide(f"telegram:{n}", approval) for n in (1, 2, 3, 4)] == [
        False,
        True,
        True,
        False,
    ]
    narrow = access_of(lists, levels, (four,))
    assert [narrow.may_decide(f"telegram:{n}", approval) for n in (1, 2, 3, 4)] == [
        False,
        False,
        False,
        True,
    ]
    assert narrow.may_decide(LOCAL, approval)
    assert not narrow.may_decide(four, OPEN)
    assert narrow.may_command(four)
    assert narrow.may_approve(four)
    assert not narrow.may_approve("telegram:2")
    assert usual.may_approve("telegram:2")
    assert access_of(AccessConfig(), (), (four,)).someone_approves()
    assert not access_of(AccessConfig()).someone_approves()


ASKED = replace(OPEN, kind="clarify", subject={"person": "telegram:5"})


def test_what_the_agent_asks_somebody_they_or_an_owner_answer() -> None:
    rules = access(
        allow=("telegram:5", "telegram:6"), owners=("telegram:1",), approvers=("discord:2",)
    )
    for identity, may in (("telegram:5", True), ("telegram:1", True), ("telegram:6", False)):
        assert rules.may_decide(identity, ASKED) is may
        assert rules.concerns(identity, ASKED) is may
    assert rules.may_decide(LOCAL, ASKED)
    assert not rules.may_decide("discord:2", ASKED)


def test_who_may_not_talk_any_more_answers_nothing() -> None:
    assert not access(owners=("telegram:1",)).may_decide("telegram:5", ASKED)


def test_where_nobody_began_the_turn_whoever_may_talk_answers_and_it_is_for_nobody() -> None:
    rules = access(allow=("telegram:6",))
    for subject in ({}, {"person": ""}):
        unknown = replace(ASKED, subject=subject)
        assert rules.may_decide("telegram:6", unknown)
        assert not rules.may_decide("telegram:7", unknown)
        assert not rules.concerns("telegram:6", unknown)
