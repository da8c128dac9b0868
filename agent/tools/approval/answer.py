"""What people may answer when a call asks for approval, and what comes of it. Pure."""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import assert_never

from agent.text.fencing import fence
from agent.text.untrusted import quote
from agent.tools.base import Call, Requested
from storage.records.entries import Json
from storage.records.questions import WORDS, Choice, Question, QuestionState
from storage.records.tools.grants import ANY, Grant, GrantDraft

KIND = "approval"
"""Of the question."""
ONCE, HOUR, CONVERSATION, DENY = "once", "hour", "conversation", "deny"
SECONDS_OF_HOUR = 3_600.0
CHOICES = (
    Choice(ONCE, "Once", "primary", "it runs this one time"),
    Choice(
        HOUR,
        "For 1 hour",
        "plain",
        "it runs, and for an hour this very call runs here without asking",
    ),
    Choice(
        CONVERSATION,
        "For this conversation",
        "plain",
        "it runs, and while you may approve, this very call runs here without asking; /tools takes "
        "that back",
    ),
    Choice(DENY, "Deny", "danger", "it does not run"),
    Choice(
        WORDS,
        "Answer in words",
        "plain",
        "it does not run; the agent gets your words, as your instruction",
    ),
)
SHOWN = 200
"""Characters of a call where it is one of several."""


def call_hash(tool: str, arguments: Json, where: str) -> str:
    """The same for exactly the same call."""
    exact = json.dumps([tool, arguments, where], sort_keys=True, ensure_ascii=False)
    return sha256(exact.encode("utf-8", "surrogatepass")).hexdigest()


def subject(
    tool: str, hash: str, home: int, requested: Requested, files: Mapping[str, str]
) -> Json:
    """What the question keeps of the call that it is about. `home`: the chat's session; `files`:
    see Bound.digests."""
    shown = quote(requested.shown, SHOWN)[1:-1]
    about = {"tool": tool, "hash": hash, "home": home, "shown": shown}
    return about | {"runs": requested.runs, "files": dict(files)}


def files_of(asked: Question) -> Mapping[str, str]:
    """With what files a call was approved. Questions from before files were compared have none."""
    return dict(asked.subject.get("files") or {})


def own_question(call: Call) -> Question | None:
    """The approval that this very call waited for, where it did: a delegation is run again with
    what its children asked too."""
    asked = call.asked
    if asked is None or asked.kind != KIND:
        return None
    about = asked.subject
    mine = about.get("call_entry") == call.entry and about.get("call_id") == call.id
    return asked if mine else None


def asks_in(question: Question, home: int) -> bool:
    """Whether it is an approval of a call in a chat's session, or of its children."""
    return question.kind == KIND and question.subject.get("home") == home


def approves(asked: Question) -> bool:
    """Only a person's press does."""
    return asked.state is QuestionState.DECIDED and asked.choice in (ONCE, HOUR, CONVERSATION)


def granted(asked: Question) -> GrantDraft | None:
    """What a decision allows from now on."""
    if asked.kind != KIND or not approves(asked) or asked.choice not in (HOUR, CONVERSATION):
        return None
    about, decided = asked.subject, asked.decided_at or 0.0
    return GrantDraft(
        session=about["home"],
        address=asked.address,
        tool=about["tool"],
        hash=about["hash"],
        shown=about["shown"],
        granted_by=asked.decided_by,
        granted_name=asked.decided_name,
        until=decided + SECONDS_OF_HOUR if asked.choice == HOUR else None,
        runs=str(about.get("runs") or ""),
        files=dict(files_of(asked)),
    )


def holds(grant: Grant, now: float, may_approve: Callable[[str], bool]) -> bool:
    """Whether a grant still lets calls run: its time is not over, and who gave it may still
    approve."""
    return (grant.until is None or now < grant.until) and may_approve(grant.granted_by)


def covers(grant: Grant, files: Mapping[str, str]) -> bool:
    """Whether a grant is for these files as they are. One from before files were compared covers
    whatever they hold."""
    return grant.files in (ANY, files)


def refusal(asked: Question) -> str:
    """What the model is told of a call that is not run."""
    who = quote(asked.decided_name or asked.decided_by)[1:-1]
    match asked.state:
        case QuestionState.DECIDED if asked.choice == WORDS:
            words = fence("answer", asked.words, by=who)
            return (
                f"Error: not run. Instead of approving it, {who} answered in words. This is the "
                f"instruction of a person who may decide; follow it:\n{words}"
            )
        case QuestionState.DECIDED:
            return f"Error: Denied by {who}. It was not run; do not try to get there another way."
        case QuestionState.EXPIRED:
            return "Error: not run. Nobody decided in time."
        case QuestionState.WITHDRAWN:
            return "Error: not run. It was stopped before anybody decided."
        case QuestionState.OPEN:
            return "Error: not run. Nobody has decided yet."
        case _:
            assert_never(asked.state)
