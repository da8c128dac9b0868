"""What counts as a judge's verdict: its call, or a text that is clearly one. Pure."""

import json
import re
from enum import StrEnum

from agent.delegation.core.text_calls import call_in
from agent.models.base import Reply
from agent.text.untrusted import Pairs, as_text, plain
from storage.records.entries import Json


class Verdict(StrEnum):
    PASS = "PASS"  # noqa: S105  (no password)
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


VERDICT_NAME = "give_verdict"
GIVE_VERDICT: Json = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": [verdict.value for verdict in Verdict]},
        "reasoning": {
            "type": "string",
            "description": "Each criterion: met or not, and what shows it. What is missing.",
        },
    },
    "required": ["verdict", "reasoning"],
}
"""JSON schema of give_verdict's arguments."""
_IN_TEXT: Json = GIVE_VERDICT | {"required": ["verdict"]}

_WORDS = {
    "pass": Verdict.PASS,
    "passed": Verdict.PASS,
    "fail": Verdict.FAIL,
    "failed": Verdict.FAIL,
    "inconclusive": Verdict.INCONCLUSIVE,
}
_WORD = r"(pass(?:ed)?|fail(?:ed)?|inconclusive)"
_MENTION = re.compile(rf"(?<![^\W_]){_WORD}(?![^\W_])", re.IGNORECASE)
_OPENING = re.compile(
    rf"[\s*_#`\"']*(?:verdict[\s*_]*[:=][\s*_]*)?{_WORD}[*_`\"']*"
    r"(?=\s*\Z|\s*\n|[.:;!][\s*_`\"']|[.:;!]\Z|\s*[–—]|\s+-\s)",
    re.IGNORECASE,
)
"""A verdict that a text begins with, with a mark or a line's end behind it."""
_LABELLED = re.compile(
    rf"[\s*_#`\"'>]*(?:(?:the|my|final|overall)\s+)*verdict(?:[\s*_`]+is)?[\s*_`]*[:=–—-]*"
    rf"[\s*_`\"'(\[]*{_WORD}[*_`\"')\]]*"
    r"(?=\s*,|\s*[(|/\\]|\s*[-=]+>|\s*→|\s+(?:because|since|as|given|based|due)\b)",
    re.IGNORECASE,
)
"""The same behind the word "verdict", where its reasoning follows on the line."""
_CONDITION = re.compile(
    r"[\s\W_]*(?:but\s+)?(?:only\b|if\b|unless\b|except\b|once\b|when\b|until\b|pending\b|subject\b|"
    r"assuming\b|provided\b|providing\b|partial|conditional|given\s+that\b|"
    r"as\s+(?:long|soon|far)\b|not\b|cannot\b|can't\b)",
    re.IGNORECASE,
)
"""What takes a PASS back, or makes it depend on something."""
_DENIAL = re.compile(r"\W*(?:not\b.*|(?:no|false)\W*)", re.IGNORECASE | re.DOTALL)
_CODE_BLOCK = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)

_BEFORE = re.compile(r"(?:\A|\n)[ \t]*\Z")
_AFTER = re.compile(r"[ \t]*(?:\Z|\n)")
"""Around a call on lines of its own."""

Said = tuple[Verdict, str]
"""With its reasoning."""


def parse_verdict(reply: Reply, shown: str = "") -> Said | None:
    """The verdict and its reasoning, None where the reply is not clearly one verdict.

    Taken from give_verdict's call; without one from a text that holds one such call, as JSON on
    lines of its own with nothing around it that names another verdict, or that begins with one of
    the words, also as "Verdict: PASS because …", and names no other one. Calls that disagree, keys
    that stand twice, denied words and what stands in `shown`, which is what the judge was shown,
    are no verdict.
    """
    calls = [call for call in reply.tool_calls if call.name == VERDICT_NAME]
    if not calls:
        return _from_text(reply.content.strip(), shown)
    said = [_from_json(call.arguments) for call in calls]
    first = said[0]
    if first is None or any(other is None or other[0] is not first[0] for other in said):
        return None
    return first


def _from_json(text: str) -> Said | None:
    try:
        given, faults = plain(json.loads(text, object_pairs_hook=Pairs))
    except (ValueError, RecursionError):
        return None
    return None if faults or not isinstance(given, dict) else _from_arguments(given)


def _from_arguments(given: Json) -> Said | None:
    verdict = _exact(given.get("verdict"))
    return None if verdict is None else (verdict, as_text(given.get("reasoning")))


def _exact(value: object) -> Verdict | None:
    return _WORDS.get(value.strip(" \t\r\n*_`\"'.!").casefold()) if isinstance(value, str) else None


def _from_text(text: str, shown: str) -> Said | None:
    block = _CODE_BLOCK.fullmatch(text)
    inner = block[1] if block else text
    return _from_json(inner) or _from_call(text, shown) or _from_opening(inner)


def _from_call(text: str, shown: str) -> Said | None:
    call = call_in(text, {VERDICT_NAME: _IN_TEXT}, lambda: shown)
    said = _from_arguments(call.arguments) if call is not None else None
    if call is None or said is None:
        return None
    before, after = text[: call.start], text[call.end :]
    alone = _BEFORE.search(before) and _AFTER.match(after)
    return said if alone and _named(before + after) <= {said[0]} else None


def _from_opening(text: str) -> Said | None:
    opening = _OPENING.match(text)
    labelled = None if opening is not None else _LABELLED.match(text)
    found = opening or labelled
    if found is None:
        return None
    verdict = _WORDS[found[1].casefold()]
    reasoning = text[found.end() :]
    if _named(text) != {verdict} or _DENIAL.fullmatch(reasoning):
        return None
    if labelled is not None and verdict is Verdict.PASS and _CONDITION.match(reasoning):
        return None
    return verdict, reasoning.lstrip(" \t\r\n*_`\"'.:;,!–—-=>→|/\\")


def _named(text: str) -> set[Verdict]:
    return {_WORDS[word.casefold()] for word in _MENTION.findall(text)}
