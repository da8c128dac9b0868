"""What a person is asked: whatever a model or a worker wrote, it is shown as theirs."""

import re

from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.render import render as for_discord
from adapters.telegram.render import render as for_telegram
from agent.delegation.core.events import Answered, Asked, AskHuman, Reported, Task
from agent.delegation.core.human_tier import MOST_CHOICES, choices
from agent.delegation.core.machine import advance, begin
from agent.delegation.question_text import question_details, question_text
from agent.delegation.tables.parse import parse_table
from agent.text.untrusted import visible
from storage.records.entries import Json
from storage.records.questions import Choice

TABLE = parse_table(
    [
        {"condition": "Gone", "branch": {"action": "report"}},
        {
            "default": {
                "action": "escalate",
                "tier": "human",
                "prompt": "Seen {observed_state} by {goal}. Go on?",
            }
        },
    ]
)
PIECES = (
    "✅ Olga decided: Stop",
    "\n",
    "\n\n",
    "\u202e",
    "https://evil.example",
    "@olga",
    "`",
    "```",
    "”]",
    "> ",
    "**",
    "[x](http://y.zz)",
    "<@1>",
    "/stop",
    "# ",
    "1. ",
    "|",
    "שלום",
    "\u2028",
)
NASTY = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join)


def question(goal: str, observed: str, evidence: str) -> str:
    task = Task(goal, "", "worker", "overseer", 50, 2, TABLE)
    report = {
        "condition": "default",
        "branch": "default",
        "evidence": evidence or "x",
        "observed_state": observed or "x",
    }
    state = advance(begin(task), Reported(report, ""))
    assert isinstance(state.step, AskHuman)
    return f"{question_text(state, state.step.text)}\n\n{question_details(state, {})}"


@given(NASTY, NASTY, NASTY)
def test_nothing_foreign_is_a_line_of_the_bots_own(goal: str, observed: str, seen: str) -> None:
    text = question(goal, observed, seen)
    own = text.replace("\u2068", "").replace("\u2069", "")
    assert visible(own) == own
    starts = {line[:4] for line in own.splitlines() if line}
    assert starts <= {"**De", "> Se", "**Ex", "**Fo", "**Se", "**Ev", "**Co"}


@given(NASTY, NASTY, NASTY)
def test_no_client_finds_a_link_in_it(goal: str, observed: str, seen: str) -> None:
    text = question(goal, observed, seen)
    for body in for_telegram(text):
        assert {entity["type"] for entity in body["entities"]} <= {"bold", "code", "blockquote"}
        units = body["text"].encode("utf-16-le")
        for entity in sorted(body["entities"], key=lambda one: -one["offset"]):
            if entity["type"] == "code":
                start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
                units = units[:start] + units[end:]
        left = units.decode("utf-16-le")
        assert not re.search(r"://|@\w|evil\.example|(?<![\w/<])/\w", left)
    for body in for_discord(text):
        assert not re.search(r"https?://|<@", re.sub(r"(?<!\\)`[^`\n]+`", "", body["text"]))


def test_what_the_worker_saw_is_told_from_the_tables_words() -> None:
    shown = question("the page", "fine”]. The bot says: “yes", "x")
    assert '> Seen \\[worker: “fine"). The bot says: "yes”\\] by the page. Go on?' in shown


def choices_of(
    table: list[Json], condition: str = "default", branch: str = "default"
) -> list[Choice]:
    parsed = parse_table([*table, {"default": {"action": "escalate", "tier": "human"}}])
    report = {"condition": condition, "branch": branch, "evidence": "x"}
    task = Task("g", "", "worker", "overseer", 50, 2, parsed)
    state = advance(begin(task), Reported(report, ""))
    assert isinstance(state.step, AskHuman)
    return list(state.step.choices)


MAIL = [
    {
        "condition": "A lawyer writes",
        "branches": {
            "needs_word": {"action": "escalate", "tier": "human"},
            "send_on": {"action": "report", "label": "To our lawyers"},
            "ignore": "report",
        },
    },
    {"condition": "Refund, by the book", "branch": {"action": "report", "format": "Paid {goal}"}},
]


def test_the_condition_that_was_reached_comes_first_and_others_are_shown_on_demand() -> None:
    shown = choices_of(MAIL, "A lawyer writes", "needs_word")
    assert [choice.label for choice in shown if not choice.other] == [
        "To our lawyers",
        "Ignore",
        "Answer in words",
        "Try again",
        "Stop",
    ]
    (other,) = [choice for choice in shown if choice.other]
    assert (other.label, other.key) == ("Refund, by the book", "report:2:match")
    assert other.effect == "ends the task, and reports “Paid …”"
    assert shown[0].effect == "ends the task as “A lawyer writes”"


def test_where_nothing_was_reached_no_outcome_is_offered_at_first() -> None:
    first = [choice.label for choice in choices_of(MAIL) if not choice.other]
    assert first == ["Answer in words", "Try again", "Stop"]


def test_two_branches_of_one_name_are_told_apart_by_their_conditions() -> None:
    table = [{"condition": f"It is {n}", "branches": {"ok": "report"}} for n in ("red", "blue")]
    others = [choice.label for choice in choices_of(table) if choice.other]
    assert others == ["Ok: It is red", "Ok: It is blue"]


def test_so_many_buttons_as_every_platform_shows_and_the_rest_on_demand() -> None:
    branches = {f"way {n}": "report" for n in range(30)} | {
        "odd": {"action": "escalate", "tier": "human"}
    }
    shown = choices_of([{"condition": "Many", "branches": branches}], "Many", "odd")
    assert len([choice for choice in shown if not choice.other]) == MOST_CHOICES
    assert len([choice for choice in shown if choice.other]) == 30 - (MOST_CHOICES - 3)


def test_a_choice_that_reads_like_one_of_our_own_is_told_from_it() -> None:
    options = ["Stор", "try again", "Wait", "answer in w0rds", "Other outcomes"]
    labels = [choice.label for choice in choices(TABLE, options, "Gone")]
    assert labels == [
        "Gone",
        "Proposal: Stор",
        "Proposal: try again",
        "Wait",
        "Proposal: answer in w0rds",
        "Proposal: Other outcomes",
        "Answer in words",
        "Try again",
        "Stop",
    ]


def asked(report: Json, table: list[Json]) -> str:
    """Question and details of a report, after a correction where it takes one."""
    parsed = parse_table([*table, {"default": {"action": "escalate", "tier": "human"}}])
    state = begin(Task("the mail", "", "worker", "overseer", 50, 0, parsed))
    for _ in range(2):
        state = advance(state, Reported(report, ""))
    assert isinstance(state.step, AskHuman)
    return f"{question_text(state, state.step.text)}\n{question_details(state, {})}"


def test_without_a_prompt_a_person_is_asked_in_plain_words() -> None:
    reached = asked({"condition": 1, "branch": "needs_word", "evidence": "a letter"}, MAIL)
    assert "\n> The worker found “A lawyer writes”. How should it go on?\n" in reached
    assert "needs_word" not in reached
    none = asked({"condition": "default", "branch": "default", "evidence": "tea"}, MAIL)
    assert "\n> The worker found none of what is expected. How should it go on?\n" in none
    assert "\n**Found, says the worker:** none of it\n" in none
    unclear = asked({"condition": "odd", "branch": "odd", "evidence": "x"}, MAIL)
    assert "> The worker's report was not clear. How should it go on?\n" in unclear
    assert "none of it: `the worker's report was not clear`" in unclear
    assert not any(word in none + unclear for word in ("default", "branch", "table"))


def test_what_was_tried_before_stands_apart_from_what_it_cost() -> None:
    parsed = parse_table([*MAIL, {"default": {"action": "escalate", "tier": "human"}}])
    state = begin(Task("the mail", "", "worker", "overseer", 50, 0, parsed))
    none = Reported({"condition": "default", "branch": "default", "evidence": "tea"}, "")
    state = advance(state, none)
    assert "Tried so far" not in question_details(state, {})
    again = advance(advance(state, Asked(1)), Answered("retry", "Olga"))
    (body,) = for_telegram(question_details(advance(again, none), {}))
    before = "Attempt 1: the worker found none of what is expected: tea"
    tried, cost = body["text"].split("Tried so far:\n")[1].split("\n\n")
    assert tried == f"• {before}\n• Olga had it tried again"
    assert cost == "Cost so far: 0 model calls"
