"""What a person is asked: whatever a model or a worker wrote, it is shown as theirs."""

import re

from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.render import render as for_discord
from adapters.telegram.render import render as for_telegram
from agent.delegation.core.events import AskHuman, Reported, Task
from agent.delegation.core.human_tier import MOST_CHOICES, choices
from agent.delegation.core.machine import advance, begin
from agent.delegation.prompts import human_question
from agent.delegation.tables.parse import parse_table
from agent.text.untrusted import visible

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
    return human_question(state, state.step.text)


@given(NASTY, NASTY, NASTY)
def test_nothing_foreign_is_a_line_of_the_bots_own(goal: str, observed: str, seen: str) -> None:
    text = question(goal, observed, seen)
    own = text.replace("\u2068", "").replace("\u2069", "")
    assert visible(own) == own
    starts = {line[:4] for line in own.splitlines() if line}
    assert starts <= {"**De", "> Se", "Seen", "- `A"}


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


def test_outcomes_without_a_button_are_said() -> None:
    conditions = [{"condition": f"It is {n}", "branches": {"x": "report"}} for n in range(30)]
    table = parse_table([*conditions, {"default": {"action": "escalate", "tier": "human"}}])
    report = {"condition": "default", "branch": "default", "evidence": "x"}
    state = advance(begin(Task("g", "", "worker", "overseer", 50, 2, table)), Reported(report, ""))
    assert len(choices(table, ())) == MOST_CHOICES
    assert "7 more outcomes of the table have no button here." in human_question(state, "?")


def test_a_choice_that_reads_like_one_of_our_own_is_told_from_it() -> None:
    labels = [choice.label for choice in choices(TABLE, ["Stор", "try again", "Wait"])]
    assert labels == ["Gone", "Proposal: Stор", "Proposal: try again", "Wait", "Try again", "Stop"]
