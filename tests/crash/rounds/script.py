"""What the model says in a round, and how what people see is told apart by it.

Each answer begins with what was asked for and its number: "say 17", "tell 17 part 2". That is its
mark. A question's is "question 17".
"""

import re
from typing import Any

from agent.models.scripted import Rule

Written = dict[str, Any]

LEDGER = "ledger.txt"
"""Where commands append a line each time they run."""
PARTS = 3
_LONG = {"telegram": 3500, "discord": 1600}
"""Characters of a part, so that each of them is a message of its own."""
_MARK = re.compile(
    r"(?:say|tell|stream|delegate|ask|run|approve|post|remind|due|slow) \d+(?: part \d)?"
)
_ASKED = re.compile(r"\b(?:ask|approve)[ -](\d{3})\b")
_NAMED = re.compile(r"\bplace(\d{3}) is now\b")
_CHILD = re.compile(r"\W+ #\d+ ")
"""A line about what was delegated, as a turn that takes long shows it."""
_THERE = re.compile(r"^You are after #\d+ \D+(\d{3})\b")

TABLE = {
    "conditions": [
        {"description": "It is there", "branch": {"action": "report"}},
        {
            "description": "Nobody knows",
            "branches": {
                "match": {"action": "escalate", "tier": "human", "prompt": "Nobody but you knows"},
                "other": {"action": "report"},
            },
        },
    ],
    "default": {"action": "escalate", "tier": "overseer"},
}


def asks(kind: str) -> bool:
    """Whether a person must press something for it."""
    return kind in ("ask", "approve")


def decided(mark: str) -> bool:
    """Whether it is the answer to what a person decided."""
    return mark.startswith(("ask", "approve"))


def request(kind: str, number: int, platform: str) -> str:
    """What a person says for it."""
    if kind == "tell":
        return f"tell {number} for {platform}"
    return f"{kind} {number}"


def marks(kind: str, number: int) -> tuple[str, ...]:
    """Those that answer it, in the order in which they come."""
    match kind:
        case "tell":
            return tuple(f"tell {number} part {part}" for part in range(1, PARTS + 1))
        case "ask" | "approve":
            return (f"question {number}", f"{kind} {number}")
        case "remind":
            return (f"remind {number}", f"due {number}")
        case "goto":
            return (f"label {number}", f"goto {number}")
        case _:
            return (f"{kind} {number}",)


def late(mark: str) -> bool:
    """Whether it comes when it comes: after a person pressed, at its time, beside all talk."""
    return mark.startswith(("ask", "approve", "due", "label", "goto", "Stopped"))


def mark_of(text: str) -> str:
    """ "" where it has none."""
    text = text.replace("*", "").replace("\\", "").strip()
    if text.startswith("⏰ Late"):  # a note of the bot, above the answer
        text = text.partition("\n\n")[2]
    if _CHILD.match(text):
        return ""
    if "needed" in text.partition("·")[0] or text.startswith(("✅", "⌛")):
        found = _ASKED.search(text)
        return f"question {found[1]}" if found else ""
    if found := _MARK.match(text):
        return found[0]
    for kind, pattern in (("label", _NAMED), ("goto", _THERE)):
        if found := pattern.search(text):
            return f"{kind} {found[1]}"
    return ""


def label_of(number: int) -> str:
    return f"place{number}"


def rules(owner: str) -> list[Rule]:
    """`owner`: a word that stands in what is told to servers that others use too."""
    return [Rule.model_validate(rule) for rule in (*_results(), *_wishes(owner))]


def _results() -> list[Written]:
    """What is said to what a tool brought."""
    tool = r"\b(run|approve|post) (\d{3})\b"
    return [
        _call("report_outcome", _outcome(1), tier="worker", last=r"Task: delegate"),
        _call("report_outcome", _outcome(2), tier="worker", last=r"Task: ask"),
        _says("nothing to say", tier="worker"),
        _says("{1} {2} is {3}", last=r'"task": "(delegate|ask) (\d+)", "status": "(\w+)"'),
        _says("{1} {2} ran", last=r"exit code: 0[\s\S]*\b(run|approve)-(\d+)"),
        _says("post {1} posted", last=r"posted: \S*-(\d+)"),
        _says("remind {1} set", last="^Scheduled", seen=r"remind (\d+)"),
        _says("due {1} came", last=r"<event[\s\S]*Water (\d+)"),
        _says("{1} {2} unknown", last="outcome unknown", seen=tool),
        _says("{1} {2} failed: {last}", last="^(?:Error|exit code)", seen=tool),
    ]


def _wishes(owner: str) -> list[Written]:
    """What is said to people."""
    delegated = {"goal": "{1} {2}", "branch_table": TABLE}
    line = "echo {1}-{2} | tee -a " + LEDGER
    later = {"when": "in 1s", "text": "Water {1}"}
    words = " ".join(f"word{n}" for n in range(20))
    return [
        _call("delegate_task", delegated, last=r"\b(delegate|ask) (\d+)"),
        _call("run_command", {"command": line}, last=r"\b(run|approve) (\d+)"),
        _call("outside__post", {"text": f"{owner}-{{1}}"}, last=r"\bpost (\d+)"),
        _call("schedule", later, last=r"\bremind (\d+)"),
        *(
            _says(_long(size), last=rf"\btell (\d+) for {platform}")
            for platform, size in _LONG.items()
        ),
        _says(f"stream {{1}} {words} end.", pace=0.04, last=r"\bstream (\d+)"),
        _says("slow {1} said", delay=1.0, last=r"\bslow (\d+)"),
        _says("say {1} answered", delay=0.02, last=r"\bsay (\d+)"),
    ]


def _long(size: int) -> str:
    parts = (f"tell {{1}} part {part}: " for part in range(1, PARTS + 1))
    return "\n\n".join(begin + "word " * ((size - len(begin)) // 5) for begin in parts)


def _outcome(condition: int) -> Written:
    return {"condition": condition, "branch": "match", "evidence": "looked"}


def _call(tool: str, arguments: Written, **when: str) -> Written:
    reply = {"tool_calls": [{"name": tool, "arguments": arguments}]}
    return {"when": {"tier": "parent"} | when, "reply": reply}


def _says(text: str, *, delay: float = 0.0, pace: float = 0.0, **when: str) -> Written:
    reply = {"text": text, "delay": delay, "pace": pace}
    return {"when": {"tier": "parent"} | when, "reply": reply}
