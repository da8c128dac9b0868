"""Branch tables from outside: read, checked, extended. Pure.

A table is written as an object, as a list of conditions, or as YAML or JSON text of either; all
come out as one BranchTable. What is wrong with it comes out as one TableError.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

from agent.delegation.tables.model import (
    CHECKED_BRANCH,
    DEFAULT,
    SINGLE_BRANCH,
    Action,
    ActionKind,
    Branch,
    BranchTable,
    Condition,
    EscalationTier,
    describe,
    fold,
    position,
    report_branches,
    to_json,
)
from agent.text.templates import faults_in
from agent.text.untrusted import Pairs, PlainError, join, kind_of, plain, quote, read_text

__all__ = [
    "CHECKED_BRANCH",
    "DEFAULT",
    "MAX_BRANCHES",
    "MAX_BYTES",
    "MAX_CONDITIONS",
    "SINGLE_BRANCH",
    "Action",
    "ActionKind",
    "Branch",
    "BranchTable",
    "Condition",
    "EscalationTier",
    "TableError",
    "describe",
    "extend",
    "fold",
    "parse_table",
    "position",
    "report_branches",
    "to_json",
]

MAX_BYTES = 65_536
"""UTF-8 bytes of a table's text, or of its JSON."""
MAX_CONDITIONS = 100
MAX_BRANCHES = 50
"""In one condition."""
SHOWN_FAULTS = 8

FILLED_DEFAULT = Action(ActionKind.ESCALATE, EscalationTier.OVERSEER)
NO_DEFAULT = "the branch table has no default; what it does not foresee goes to the overseer"

_WRAPPER = "branch_table"
_TASK_KEYS = ("goal", "context")
"""What may stand beside a wrapped table and is not read: the rest of the task it belongs to."""
_TABLE_KEYS = ("conditions", DEFAULT, "escalation_model", "max_escalation_depth")
_CONDITION_KEYS = ("description", "condition", "checks", "branches", "branch")
_ACTION_KEYS = ("action", "tier", "prompt", "format")
_EXTRA_KEYS: dict[ActionKind, tuple[str, ...]] = {
    ActionKind.REPORT: ("format",),
    ActionKind.REPORT_WITH_EVIDENCE: ("format",),
    ActionKind.ESCALATE: ("tier", "prompt"),
    ActionKind.EXPAND: ("prompt",),
}

Word = TypeVar("Word", bound=StrEnum)


class TableError(ValueError):
    """The table cannot be used. The text is for the model that wrote it: each fault and its place,
    SHOWN_FAULTS of them at most."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        shown = "; ".join(self.faults[:SHOWN_FAULTS])
        hidden = len(self.faults) - SHOWN_FAULTS
        super().__init__(shown + (f"; and {hidden} more" if hidden > 0 else ""))


def parse_table(source: object, *, require_default: bool = False) -> BranchTable:
    """The table that an object, a list or a text describes. TableError for anything else.

    Where there is no default, it is escalation to the overseer, with a warning in the table; with
    `require_default` that is a fault.
    """
    reader = _Reader()
    return reader.finish(reader.table(reader.load(source), require_default))


def extend(table: BranchTable, conditions: object) -> BranchTable:
    """The table with further conditions: a list of them, one, or text. TableError on faults.

    A condition with the description of an existing one replaces it and keeps its number; others
    are added at the end. The default stays as it is, and giving one is a fault.
    """
    reader = _Reader()
    value = reader.load(conditions)
    if isinstance(value, dict) and "conditions" in value:
        value = reader.fields(value, "", ("conditions",)).get("conditions")
    elif isinstance(value, dict):
        value = [value]
    new, defaults = reader.conditions(value)
    for at, _ in defaults:
        reader.fault(at, "the table keeps its default; give conditions only")
    return reader.finish(replace(table, conditions=_merged(table.conditions, new)))


def _merged(old: Iterable[Condition], new: Iterable[Condition]) -> tuple[Condition, ...]:
    by_name = {fold(condition.description): condition for condition in (*old, *new)}
    return tuple(replace(c, number=number) for number, c in enumerate(by_name.values(), 1))


class _Reader:
    """Reads plain values into a table. A fault is noted and reading goes on, so that one message
    can name them all; what comes out beside a fault is never used."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def fault(self, place: str, text: str) -> None:
        self.faults.append(f"{place}: {text}" if place else text)

    def finish(self, table: BranchTable | None) -> BranchTable:
        """The table, where nothing was wrong and its normal form can be read again."""
        if table is not None and len(table.conditions) > MAX_CONDITIONS:
            self.fault("conditions", _too_many(len(table.conditions), MAX_CONDITIONS))
        if table is None or self.faults:
            raise TableError(dict.fromkeys(self.faults))
        _check_size(_json_bytes(to_json(table)))
        return table

    def load(self, source: object) -> Any:
        """The source as a plain value, out of its wrapper. TableError where nothing is left that
        could be read any further."""
        try:
            source = _read(self._unwrapped(_read(source)))
            if isinstance(source, list | tuple) and not isinstance(source, Pairs):
                source = {"conditions": source}
            value, faults = plain(source)
        except PlainError as error:
            raise TableError([str(error)]) from None
        _check_size(_json_bytes(value))
        self.faults += faults
        return value

    def _unwrapped(self, source: object) -> object:
        match source:
            case Pairs():
                pairs = list(source)
            case Mapping():
                pairs = list(source.items())
            case _:
                return source
        inner = [value for key, value in pairs if key == _WRAPPER]
        if not inner:
            return source
        if len(inner) > 1:
            self.fault("", f"the key {_WRAPPER!r} stands twice")
        for key, _ in pairs:
            if key not in (_WRAPPER, *_TASK_KEYS):
                what = quote(key) if isinstance(key, str) else kind_of(key)
                self.fault("", f"unknown key {what} beside {_WRAPPER!r}; move it into the table")
        return inner[0]

    def fields(self, value: dict[str, Any], place: str, known: tuple[str, ...]) -> dict[str, Any]:
        """The known keys that are not null; unknown ones are faults."""
        for key in value:
            if key not in known:
                self.fault(place, f"unknown key {quote(key)}; known are {', '.join(known)}")
        return {key: value[key] for key in known if value.get(key) is not None}

    def table(self, value: Any, require_default: bool) -> BranchTable | None:
        if not isinstance(value, dict):
            self.fault("", f"a table is an object or a list of conditions, not {kind_of(value)}")
            return None
        fields = self.fields(value, "", _TABLE_KEYS)
        conditions, defaults = self.conditions(fields.get("conditions"))
        if DEFAULT in fields:
            defaults = [*defaults, (DEFAULT, fields[DEFAULT])]
        default, warnings = self._default(defaults, require_default)
        return BranchTable(
            conditions=conditions,
            default=default,
            escalation_model=self._text(fields, "escalation_model", ""),
            max_escalation_depth=self._depth(fields.get("max_escalation_depth")),
            warnings=warnings,
        )

    def _default(
        self, given: list[tuple[str, Any]], required: bool
    ) -> tuple[Action, tuple[str, ...]]:
        for at, _ in given[1:]:
            self.fault(at, "a second default; a table has one")
        if given:
            at, value = given[0]
            return self._action(value, at), ()
        if required:
            self.fault("", "default is missing: say what is to be done where no condition fits")
        return FILLED_DEFAULT, (NO_DEFAULT,)

    def _depth(self, value: Any) -> int | None:
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        self.fault("max_escalation_depth", f"{quote(value)} is not a whole number from 0 up")
        return None

    def conditions(self, value: Any) -> tuple[tuple[Condition, ...], list[tuple[str, Any]]]:
        """The conditions of a list, numbered from 1, and the defaults in it with their places."""
        if not isinstance(value, list):
            if value is None:
                self.fault("conditions", "missing; give at least one")
            else:
                self.fault("conditions", f"must be a list of conditions, not {kind_of(value)}")
            return (), []
        placed = [(f"conditions[{i}]", item) for i, item in enumerate(value)]
        defaults = [
            (join(at, DEFAULT), item[DEFAULT])
            for at, item in placed
            if isinstance(item, dict) and list(item) == [DEFAULT]
        ]
        given = [(at, i) for at, i in placed if not isinstance(i, dict) or list(i) != [DEFAULT]]
        if not given:
            self.fault("conditions", "empty; give at least one")
        if len(given) > MAX_CONDITIONS:
            self.fault("conditions", _too_many(len(given), MAX_CONDITIONS))
            return (), defaults
        read = [(at, self._condition(item, at)) for at, item in given]
        self._refuse_twice([(at, c.description) for at, c in read if c.description])
        return tuple(replace(c, number=i) for i, (_, c) in enumerate(read, 1)), defaults

    def _condition(self, item: Any, at: str) -> Condition:
        if not isinstance(item, dict):
            self.fault(at, f"a condition is an object, not {kind_of(item)}")
            return Condition(0, "", (), ())
        fields = self.fields(item, at, _CONDITION_KEYS)
        return Condition(
            number=0,
            description=self._description(fields, at),
            checks=self._checks(fields.get("checks", []), join(at, "checks")),
            branches=self._branches(fields, at),
        )

    def _description(self, fields: dict[str, Any], at: str) -> str:
        keys = [key for key in ("description", "condition") if key in fields]
        if len(keys) != 1:
            self.fault(at, "needs a description (or condition, which is the same), and only one")
            return ""
        text = self._text(fields, keys[0], at) or ""
        if fold(text) == DEFAULT:
            self.fault(join(at, keys[0]), _RESERVED)
        return text

    def _checks(self, value: Any, at: str) -> tuple[str, ...]:
        if not isinstance(value, list):
            self.fault(at, f"must be a list of texts, not {kind_of(value)}")
            return ()
        texts = [self._name(check, f"{at}[{i}]") for i, check in enumerate(value)]
        return tuple(text for text in texts if text)

    def _branches(self, fields: dict[str, Any], at: str) -> tuple[Branch, ...]:
        if ("branches" in fields) == ("branch" in fields):
            self.fault(at, "needs branches, or branch where there is only one, and not both")
            return ()
        if "branch" in fields:
            return (Branch(SINGLE_BRANCH, self._action(fields["branch"], join(at, "branch"))),)
        value, at = fields["branches"], join(at, "branches")
        if not isinstance(value, dict):
            self.fault(at, f"must be an object of branch name to action, not {kind_of(value)}")
            return ()
        if not value:
            self.fault(at, "empty; give at least one")
        if len(value) > MAX_BRANCHES:
            self.fault(at, _too_many(len(value), MAX_BRANCHES))
            return ()
        self._refuse_twice([(at, name) for name in value])
        return tuple(self._branch(name, action, at) for name, action in value.items())

    def _branch(self, name: str, action: Any, at: str) -> Branch:
        if fold(name) == DEFAULT:
            self.fault(at, _RESERVED)
        return Branch(self._name(name, at), self._action(action, join(at, name)))

    def _refuse_twice(self, placed: list[tuple[str, str]]) -> None:
        seen: set[str] = set()
        for at, text in placed:
            if fold(text) in seen:
                self.fault(at, f"{quote(text)} stands twice (upper and lower case are the same)")
            seen.add(fold(text))

    def _action(self, value: Any, at: str) -> Action:
        if isinstance(value, str):
            value = {"action": value}
        if not isinstance(value, dict):
            self.fault(
                at, f'an action is an object like {{"action": "report"}}, not {kind_of(value)}'
            )
            return FILLED_DEFAULT
        fields = self.fields(value, at, _ACTION_KEYS)
        kind = self._word(ActionKind, "an action", fields.get("action"), join(at, "action"))
        tier = None
        if "tier" in fields:
            tier = self._word(EscalationTier, "a tier", fields["tier"], join(at, "tier"))
        prompt, format_ = self._template(fields, "prompt", at), self._template(fields, "format", at)
        if kind is None:
            return FILLED_DEFAULT
        for key in fields:
            if key not in ("action", *_EXTRA_KEYS[kind]):
                extra = " and ".join(_EXTRA_KEYS[kind])
                self.fault(join(at, key), f"does not belong to {kind}, which takes only {extra}")
        if kind is ActionKind.ESCALATE and tier is None:
            tier = EscalationTier.OVERSEER
        return Action(kind, tier, prompt, format_)

    def _word(self, words: type[Word], what: str, value: Any, at: str) -> Word | None:
        known = [word.value for word in words]
        if value in known:
            return words(value)
        use = f"use {', '.join(known[:-1])} or {known[-1]}"
        self.fault(
            at, f"missing; {use}" if value is None else f"{quote(value)} is not {what}; {use}"
        )
        return None

    def _template(self, fields: dict[str, Any], key: str, at: str) -> str:
        value, at = fields.get(key, ""), join(at, key)
        if not isinstance(value, str):
            hint = "; put it in quotes" if isinstance(value, dict) else ""
            self.fault(at, f"must be text, not {kind_of(value)}{hint}")
            return ""
        for fault in faults_in(value):
            self.fault(at, fault)
        return value.strip()

    def _text(self, fields: dict[str, Any], key: str, at: str) -> str | None:
        return self._name(fields[key], join(at, key)) if key in fields else None

    def _name(self, value: Any, at: str) -> str:
        if isinstance(value, str) and value.strip():
            return value.strip()
        self.fault(at, "empty" if isinstance(value, str) else f"must be text, not {kind_of(value)}")
        return ""


_RESERVED = f"{DEFAULT!r} is what a worker reports where nothing fits; use another name"


def _read(source: object) -> object:
    if not isinstance(source, str):
        return source
    _check_size(len(source.encode(errors="replace")))
    return read_text(source)


def _json_bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise TableError([f"{size:,} bytes are too many; a table has at most {MAX_BYTES:,}"])


def _too_many(count: int, limit: int) -> str:
    return f"{count} are too many; at most {limit}"
