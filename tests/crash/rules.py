"""What the models say in these tests. A person's first word decides:

- "delegate GOAL": a worker along a branch table; the goal decides what it sees. "fine" is a match,
  "careful" too, after a thought; "gone" must be decided by a person, "odd" by an overseer. For
  "new" the overseer extends the table, and the worker then matches. "short" has one step. For
  "vague" the overseer talks, and then writes its decision into a text.
- "tell NAME": a long answer, of PARTS messages on Telegram.
- anything else: "answer to …".

Whoever is told to condense something answers SUMMARY.
"""

from typing import Any

from agent.models.scripted import Rule

Written = dict[str, Any]

PARTS = 3
PEOPLE_ONLY = {"action": "escalate", "tier": "human", "prompt": "Nobody but you knows"}
TABLE = {
    "conditions": [
        {"description": "It is there", "branch": {"action": "report"}},
        {
            "description": "It is gone",
            "branches": {"match": PEOPLE_ONLY, "moved": {"action": "report"}},
        },
    ],
    "default": {"action": "escalate", "tier": "overseer"},
}
ONE_STEP = {"max_iterations": 1}
NEW = [{"description": "It is new", "branch": {"action": "report"}}]
WRITTEN = 'So: {"resolve": {"summary": "known", "evidence": "the log"}}'
BUTTONS = ["Moved", "Answer in words", "Try again", "Stop", "Other outcomes…"]
SUMMARY = "what there was to say of it"


def long_text(name: str) -> str:
    """Paragraphs that all differ, so that each message of it is told from the others."""
    return "\n\n".join(f"{name} {part}: {'word ' * 700}." for part in range(1, PARTS + 1))


def _call(tool: str, arguments: Written, **when: Any) -> Written:
    return {"when": when, "reply": {"tool_calls": [{"name": tool, "arguments": arguments}]}}


def _says(tier: str, last: str, text: str) -> Written:
    return {"when": {"tier": tier, "last": last}, "reply": {"text": text}}


def _report(goal: str, condition: int | str, **when: Any) -> Written:
    arguments = {"condition": condition, "branch": "match", "evidence": f"saw {goal}"}
    return _call("report_outcome", arguments, tier="worker", **{"last": f"Task: {goal}"} | when)


def rules(delay: float = 0.0) -> list[Written]:
    """As in a file of agent.models.scripted. `delay`: seconds before each reply."""
    delegate = {"goal": "{1}", "branch_table": TABLE}
    ended = r'"task": "([^"]*)", "status": "(\w+)"'
    parent = [
        {"when": {"system": "^You condense"}, "reply": {"text": SUMMARY}},
        _call("delegate_task", delegate | ONE_STEP, tier="parent", last="^delegate (short)"),
        _call("delegate_task", delegate, tier="parent", last="^delegate (.+)"),
        {
            "when": {"last": rf'{ended}.*"resolved_by": "(\w+)'},
            "reply": {"text": "{1} is {2} by {3}"},
        },
        {"when": {"last": ended}, "reply": {"text": "{1} is {2}"}},
        {"when": {"last": r"^tell (\w+)"}, "reply": {"text": long_text("{1}")}},
        {"when": {"tier": "parent"}, "reply": {"text": "answer to {last}"}},
    ]
    others = [
        _report("words", 1, last="in the attic"),
        _report("fine", 1),
        _report("gone", 2),
        _report("odd", "default"),
        _report("vague", "default"),
        _report("new", "default"),
        _report("new", "It is new", last="branch table was extended"),
        _says("worker", "^You have used up", "half of it"),
        _call("think", {"thought": "let me see"}, tier="worker", last="Task: short"),
        _call("extend_table", {"conditions": NEW}, tier="overseer", last='"task": "new"'),
        _says("overseer", '"task": "vague"', "Hard to say."),
        _says("overseer", "no decision", WRITTEN),
        _call("think", {"thought": "let me see"}, tier="worker", last="Task: careful"),
        _report("careful", 1, last="."),
        _call("resolve", {"summary": "known", "evidence": "the log"}, tier="overseer"),
    ]
    for rule in (*parent, *others):
        rule["reply"]["delay"] = delay
    return [*parent, *others]


def parsed_rules() -> list[Rule]:
    return [Rule.model_validate(rule) for rule in rules()]
