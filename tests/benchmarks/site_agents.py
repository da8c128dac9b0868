"""What the simulated agents decide about the saved sites, each by what stands in its request.

All children look at the same files in the same order, as many in each round, whichever way they
were delegated to. What differs:

- an open-ended child says in every round what it makes of what it sees (THOUGHT characters, about
  200 tokens) and ends with an account (ACCOUNT); a worker with a branch table says what it does
  next (REMARK) and ends with a report that quotes its evidence (EVIDENCE at the most);
- a child on the parent's model has judgement: it knows a button under another name, follows a
  hint to another file, sees that a domain for sale is no web shop. One on the cheap model takes
  what it sees literally, and where it finds no button it looks into the changelog instead;
- a worker is as literal, but has a table to say so with. The overseer has judgement, and so has
  the person, who is asked about addresses that lead elsewhere.
"""

import json
import re
from collections.abc import Iterator

from agent.models.base import Request
from storage.records.entries import Json
from tests.benchmarks.simulation import PARENT_TOOL, Call, Move, calls_made, offered, shown_text
from tests.benchmarks.sites import ARCHIVE, BUTTON, HANDLER, MOVED, RENAMED, SETTINGS, Site

THOUGHT = 800
ACCOUNT = 1_600
REMARK = 100
EVIDENCE = 400
PLAN = 1_600
"""Characters the parent thinks before it writes a table."""

CONTEXT = (
    "Each site is a folder: response.txt is how its server answered for the page with the orders, "
    "page.html that page, app.js its script, changelog.md what the makers say. What people can do "
    "counts, not what the makers say. End with one of: Answer: supported, Answer: unsupported, "
    "Answer: broken (there is a button, but it does nothing), Answer: login (not to be seen "
    "without one), Answer: gone (there is no such site any more)."
)
CRITERIA = (
    "It names exactly one of the answers supported, unsupported, broken, login, gone. It quotes "
    "what on the page, in the script or in the server's response shows it."
)
TABLE: Json = {
    "conditions": [
        {
            "description": "The page loads",
            "checks": [
                "The page has a button that exports the orders as CSV",
                "app.js handles a click on it",
            ],
            "branches": {
                "ok": {"action": "report", "format": "Answer: supported. {evidence}"},
                "broken": {"action": "report", "format": "Answer: broken. {evidence}"},
                "not_found": {
                    "action": "escalate",
                    "tier": "overseer",
                    "prompt": "No such button: renamed, moved, or not there?",
                },
            },
        },
        {
            "description": "The site asks for a login",
            "branch": {"action": "report", "format": "Answer: login. {evidence}"},
        },
        {
            "description": "The address leads elsewhere",
            "branches": {
                "gone": {"action": "report", "format": "Answer: gone. {evidence}"},
                "unsure": {
                    "action": "escalate",
                    "tier": "human",
                    "prompt": "Is this still the site? {observed_state}",
                },
            },
        },
    ],
    "default": {
        "action": "escalate",
        "tier": "overseer",
        "prompt": "Not foreseen: {observed_state}",
    },
}
EXTENSIONS = {
    ARCHIVE: f"The page names a saved copy: judge {ARCHIVE} and app.js instead",
    SETTINGS: f"The changelog says that the export has moved: judge {SETTINGS} instead of the page",
}
"""What a text names → the condition that an overseer adds for it."""
FURTHER = {ARCHIVE: (ARCHIVE, "app.js"), SETTINGS: (SETTINGS,), "": ("changelog.md",)}
"""The same → the files that are looked into."""


class SiteAgents:
    """Decides for all agents of one run. `common` are the fields that all tasks share."""

    def __init__(self, sites: tuple[Site, ...], common: Json) -> None:
        self._sites = sites
        self._common = common

    def decide(self, request: Request) -> Move:
        tools = offered(request)
        if PARENT_TOOL in tools:
            return self._parent(request)
        if "give_verdict" in tools:
            arguments = {"verdict": "PASS", "reasoning": prose(200)}
            return Move("", (Call("give_verdict", arguments),))
        if "resolve" in tools:
            return overseer(request)
        return worker(request) if "report_outcome" in tools else child(request)

    def _parent(self, request: Request) -> Move:
        if not calls_made(request):
            tasks = [
                {"goal": f"Find out: does {s.name} export orders as CSV?"} for s in self._sites
            ]
            arguments = {"tasks": tasks, "context": CONTEXT, **self._common}
            plan = prose(PLAN if "branch_table" in self._common else THOUGHT)
            return Move(plan, (Call(PARENT_TOOL, arguments),))
        text = str(request.messages[-1]["content"])
        results = json.JSONDecoder().raw_decode(text[text.index('{"results"') :])[0]["results"]
        return Move("Checked:\n" + "\n".join(map(_line, results)))


def child(request: Request) -> Move:
    """An open-ended one."""
    has_judgement = request.spec.name == "parent"
    seen = shown_text(request)
    looks = next_looks(request, _further(seen, has_judgement))
    if looks:
        return Move(prose(THOUGHT), looks)
    return Move(f"{prose(ACCOUNT)}\n\n{evidence(seen)}\n\nAnswer: {answer(seen, has_judgement)}")


def _further(seen: str, has_judgement: bool) -> tuple[str, ...]:
    """Files that an open-ended child looks into where it finds no button."""
    if "HTTP/1.1 " not in seen or any(s in seen for s in (BUTTON, "1.1 401", "1.1 301")):
        return ()
    hints = (ARCHIVE, MOVED) if has_judgement else ()
    hint = next((hint for hint in hints if hint in seen), "")
    return FURTHER[SETTINGS if hint == MOVED else hint]


def answer(seen: str, has_judgement: bool) -> str:
    if "1.1 401" in seen:
        return "login"
    if BUTTON in seen:
        return "supported" if HANDLER in seen else "broken"
    if has_judgement and "1.1 301" in seen:
        return "gone"
    return "supported" if has_judgement and RENAMED in seen else "unsupported"


def worker(request: Request) -> Move:
    """One with a branch table, which an overseer may have extended."""
    told, seen = str([m["content"] for m in request.messages]), shown_text(request)
    extended = next((name for name, text in EXTENSIONS.items() if text in told), "")
    looks = next_looks(request, FURTHER[extended] if extended else ())
    return Move(prose(REMARK), looks or (Call("report_outcome", _report(seen, extended)),))


def _report(seen: str, extended: str) -> Json:
    has_button, has_handler = BUTTON in seen, HANDLER in seen
    found = {"evidence": evidence(seen), "confidence": 0.9}
    if "1.1 401" in seen:
        return {"condition": "2", "branch": "match", **found}
    if "1.1 301" in seen:
        return {"condition": "3", "branch": "unsure", "observed_state": evidence(seen), **found}
    if extended:
        branch = "ok" if has_button and has_handler else "missing"
        return {"condition": EXTENSIONS[extended], "branch": branch, **found}
    if "1.1 503" in seen:
        state = {"observed_state": evidence(seen)}
        return {"condition": "default", "branch": "default", **state, **found}
    branch = ("ok" if has_handler else "broken") if has_button else "not_found"
    checks = {"1": has_button, "2": has_handler}
    return {"condition": "1", "branch": branch, "checks": checks, **found}


def overseer(request: Request) -> Move:
    """Decides by what the worker quoted. A button under another name counts."""
    brief, thought = shown_text(request), prose(THOUGHT)
    for hint, description in EXTENSIONS.items():
        if hint in brief:
            arguments = {"conditions": [_condition(description)], "reason": prose(REMARK)}
            return Move(thought, (Call("extend_table", arguments),))
    word = "supported" if "Download spreadsheet" in brief else "unsupported"
    summary = f"Answer: {word}. {prose(EVIDENCE)}"
    return Move(thought, (Call("resolve", {"summary": summary, "evidence": prose(REMARK)}),))


def _condition(description: str) -> Json:
    return {
        "description": description,
        "branches": {
            "ok": {"action": "report", "format": "Answer: supported. {evidence}"},
            "missing": {"action": "report", "format": "Answer: unsupported. {evidence}"},
        },
    }


def next_looks(request: Request, further: tuple[str, ...]) -> tuple[Call, ...]:
    """The calls of the next round; none where everything was looked at. `further` are files that
    come last."""
    folder = re.search(r"site-\d\d", shown_text(request))
    assert folder is not None
    loads = "HTTP/1.1 200" in shown_text(request)
    made = calls_made(request)
    for step in _steps(folder[0], loads, further):
        if not all(call in made for call in step):
            return step
    return ()


def _steps(folder: str, loads: bool, further: tuple[str, ...]) -> Iterator[tuple[Call, ...]]:
    yield (Call("list_files", {"path": folder}),)
    yield _reads(folder, "response.txt", "page.html")
    if loads:
        yield _reads(folder, "app.js")
        changes = {"pattern": "(?i)csv|spreadsheet", "path": f"{folder}/changelog.md"}
        yield (Call("search_files", changes),)
    if further:
        yield _reads(folder, *further)


def _reads(folder: str, *files: str) -> tuple[Call, ...]:
    return tuple(Call("read_file", {"path": f"{folder}/{file}"}) for file in files)


def evidence(seen: str) -> str:
    """Quotations: how the server answered, headings, buttons, what the changelog says of it."""
    marks = ("HTTP/1.1", "Location:", "<button", "<p>", "<h1>", "export", MOVED)
    lines = [line for line in seen.splitlines() if any(mark in line for mark in marks)]
    quoted = "\n".join(dict.fromkeys(line for line in lines if "Answer:" not in line))
    return quoted[:EVIDENCE]


def prose(length: int) -> str:
    """So many characters. What they say does not matter, only that they are written and read."""
    sentence = "So far this is what can be seen, and this is what it may mean for the question. "
    return (sentence * (length // len(sentence) + 1))[:length].rstrip()


def _line(result: Json) -> str:
    found = re.search(r"Answer: (\w+)", result["summary"])
    name = re.search(r"site-\d\d", result["task"])
    assert name is not None
    return f"- {name[0]}: {found[1] if found else result['status']}"
