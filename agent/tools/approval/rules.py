"""`[[tools.rules]]`: the first that matches a call decides whether it runs, is asked for, or never.

A rule that forbids or asks matches anywhere in a line, and in each part of a chain. One that allows
matches a chain of commands only where its pattern names what joins them, and of arguments only what
stands at the top: an argument of the same name within another is text to it. Lines come from models
and patterns from people who test them on short ones, so each search has a time after which it is
given up; what nobody could look through is asked for.
"""

import json
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial

import regex

from agent.fairness import FairThreads
from agent.settings import ToolRule
from agent.tools.approval.operators import has_operators, operators_of, pieces
from agent.tools.approval.patterns import guarded, means_anything
from agent.tools.base import Syntax

log = logging.getLogger(__name__)

LONGEST_LINE = 50_000
"""Characters of what patterns are looked for in."""
SECONDS = 0.25
"""For all that is looked for in one call."""
_THREADS = FairThreads(4, "rules that are tried")


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Line:
    """What a call would do, as rules see it."""

    tool: str
    text: str
    syntax: Syntax = ""


@dataclass(frozen=True, slots=True)
class Decided:
    decision: Decision
    rule: int
    """From 1, as the configuration lists them; 0: no rule, but none could be tried to its end."""
    by_match: bool = False
    """Its pattern says which calls it is about."""


class _Untold(Exception):
    """Nobody knows whether the rule matches."""


class Rules:
    def __init__(self, rules: Iterable[ToolRule], *, seconds: float = SECONDS) -> None:
        self._rules = tuple(_Rule(number, rule) for number, rule in enumerate(rules, 1))
        self._seconds = seconds

    async def decide(self, line: Line, whose: str = "") -> Decided | None:
        """What the first rule says that matches; None where none does. Never blocks the loop.
        `whose`: the conversation's address."""
        rules = [rule for rule in self._rules if fnmatchcase(line.tool, rule.tool)]
        if all(rule.anything for rule in rules[:1]):
            return Decided(rules[0].decision, rules[0].number) if rules else None
        return await _THREADS.run(whose, partial(_first, rules, line, self._seconds))

    def decide_now(self, line: Line) -> Decided | None:
        """The same in a thread of the caller's. Blocks."""
        rules = [rule for rule in self._rules if fnmatchcase(line.tool, rule.tool)]
        return _first(rules, line, self._seconds)

    def allows_some(self, tools: Collection[str]) -> int:
        """The number of the first rule that lets calls of one of these tools run unasked; 0 where
        none does."""
        for tool in tools:
            for rule in self._rules:
                if not fnmatchcase(tool, rule.tool):
                    continue
                if rule.decision is Decision.ALLOW:
                    return rule.number
                if rule.anything:
                    break
        return 0

    def of(self, tool: str) -> Sequence[ToolRule]:
        """The rules for a tool, up to the first that matches every call of it."""
        found = []
        for rule in self._rules:
            if fnmatchcase(tool, rule.tool):
                found.append(rule.given)
                if rule.anything:
                    break
        return found


class _Rule:
    def __init__(self, number: int, given: ToolRule) -> None:
        self.given, self.number, self.tool = given, number, given.tool
        self.decision = Decision(given.decision)
        self._pattern = given.match or ""
        self.anything = means_anything(self._pattern)

    def matches(self, line: Line, deadline: float) -> bool:
        """_Untold where that takes longer than until then, on the monotonic clock."""
        if self.anything:
            return True
        if len(line.text) > LONGEST_LINE:
            raise _Untold
        if self.decision is not Decision.ALLOW:
            return any(_found(self._pattern, part, deadline) for part in _parts(line))
        if line.syntax == "json":
            return _found(self._pattern, _outermost(line.text), deadline)
        if not has_operators(line.text, line.syntax):
            return _found(self._pattern, line.text, deadline)
        operators = operators_of(line.syntax)
        pattern = guarded(self._pattern, operators)
        # An open quote, a comment: there is nothing that a pattern could name.
        nameless = not any(one in line.text for one in operators)
        if pattern is None or nameless:
            return False
        return _found(pattern, line.text, deadline, whole=True)


def _first(rules: Iterable[_Rule], line: Line, seconds: float) -> Decided | None:
    untold, deadline = False, time.monotonic() + seconds
    for rule in rules:
        try:
            if not rule.matches(line, deadline):
                continue
        except _Untold:
            log.warning("rule %d of tools.rules could not be tried on a call", rule.number)
            untold = True
            continue
        if untold and rule.decision is Decision.ALLOW:
            return Decided(Decision.ASK, 0)
        return Decided(rule.decision, rule.number, by_match=not rule.anything)
    return Decided(Decision.ASK, 0) if untold else None


def _parts(line: Line) -> Iterator[str]:
    """What a rule that forbids is tried on. Of arguments also each by itself: no other that is sent
    along hides where it begins or ends, or stands for it."""
    yield line.text
    if line.syntax == "shell":
        yield from pieces(line.text)
    elif line.syntax == "json":
        yield _outermost(line.text)
        for name, value in json.loads(line.text).items():
            yield _json({name: value})


def _outermost(line: str) -> str:
    """Arguments as one line in which what has names of its own stands as text, in quotes: there no
    `"path": ` is an argument's but one of the call itself."""
    given = json.loads(line)
    return _json({name: _json(v) if _has_names(v) else v for name, v in given.items()})


def _has_names(value: object) -> bool:
    match value:
        case dict():
            return True
        case list():
            return any(isinstance(one, dict | list) for one in value)
        case _:
            return False


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _found(pattern: str, text: str, deadline: float, *, whole: bool = False) -> bool:
    """In a thread: while it searches, others go on."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise _Untold
    try:
        compiled = regex.compile(pattern)
        search = compiled.fullmatch if whole else compiled.search
        return search(text, timeout=left, concurrent=True) is not None
    except (TimeoutError, regex.error):
        # The configuration was checked with Python's own engine, which takes a little more.
        raise _Untold from None
