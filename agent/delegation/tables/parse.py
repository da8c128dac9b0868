"""Branch tables from outside: read, checked, extended. Pure.

A table is written as an object, as a list of conditions, or as YAML or JSON text of either; all
come out as one BranchTable. What is wrong with it comes out as one TableError: first everything
that has the wrong form, and once the form is right, what does not go together.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from agent.delegation.tables.lenient import Known, TableMending
from agent.delegation.tables.model import (
    DEFAULT,
    SINGLE_BRANCH,
    Action,
    ActionKind,
    Branch,
    BranchTable,
    Condition,
    EscalationTier,
    fold,
    to_json,
)
from agent.delegation.tables.source import TableError, check_size, load
from agent.text.mending import Mending
from agent.text.templates import faults_in
from agent.text.untrusted import join, kind_of, quote

MAX_CONDITIONS = 100
MAX_BRANCHES = 50
"""In one condition."""

FILLED_DEFAULT = Action(ActionKind.ESCALATE, EscalationTier.OVERSEER)
NO_DEFAULT = "the branch table has no default; what it does not foresee goes to the overseer"

_EXTRA_KEYS: dict[ActionKind, tuple[str, ...]] = {
    ActionKind.REPORT: ("format",),
    ActionKind.REPORT_WITH_EVIDENCE: ("format",),
    ActionKind.ESCALATE: ("tier", "prompt"),
    ActionKind.EXPAND: ("prompt",),
}
_RESERVED = f"{DEFAULT!r} is what a worker reports where nothing fits; use another name"


def parse_table(source: object, *, require_default: bool = False) -> BranchTable:
    """The table that an object, a list or a text describes. TableError for anything else.

    What is plain though it is written otherwise is taken, with a warning in the table. Where there
    is no default, it is escalation to the overseer, with a warning too; with `require_default` that
    is a fault.
    """
    mending = Mending()
    value = TableMending(_KNOWN, mending).table(load(source, mending))
    form = _validated(TableForm, value, mending)
    conditions, defaults = form.read(mending.faults)
    if form.default is not None:
        defaults.append((DEFAULT, form.default.read()))
    mending.faults += [f"{at}: a second default; a table has one" for at, _ in defaults[1:]]
    if not defaults and require_default:
        text = "default is missing: say what is to be done where no condition fits"
        mending.faults.append(text)
    table = BranchTable(
        conditions=conditions,
        default=defaults[0][1] if defaults else FILLED_DEFAULT,
        escalation_model=form.escalation_model,
        max_escalation_depth=form.max_escalation_depth,
        warnings=(*(() if defaults else (NO_DEFAULT,)), *mending.warnings()),
    )
    return _finished(table, mending)


def extend(table: BranchTable, conditions: object) -> BranchTable:
    """The table with further conditions: a list of them, one, or text. TableError on faults.

    A condition with the description of an existing one replaces it and keeps its number; others
    are added at the end. The default stays as it is, and giving one is a fault. The warnings are
    the table's, and those about what is new.
    """
    mending = Mending()
    value = load(conditions, mending)
    if not isinstance(value, dict):
        value = {"conditions": value}
    elif all(fold(key) != "conditions" for key in value):
        value = {"conditions": [value]}
    value = TableMending(_KNOWN, mending).table(value)
    new, defaults = _validated(ConditionsForm, value, mending).read(mending.faults)
    kept = "the table keeps its default; give conditions only"
    mending.faults += [f"{at}: {kept}" for at, _ in defaults]
    by_name = {fold(condition.description): condition for condition in (*table.conditions, *new)}
    numbered = tuple(replace(c, number=i) for i, c in enumerate(by_name.values(), 1))
    warnings = (*table.warnings, *mending.warnings())
    return _finished(replace(table, conditions=numbered, warnings=warnings), mending)


def _finished(table: BranchTable, mending: Mending) -> BranchTable:
    """The table, where nothing was wrong and its normal form can be read again."""
    if len(table.conditions) > MAX_CONDITIONS:
        mending.faults.append(f"conditions: {_too_many(len(table.conditions), MAX_CONDITIONS)}")
    if mending.faults:
        raise TableError([*mending.faults, *mending.warnings()])
    check_size(to_json(table))
    return table


def _too_many(count: int, limit: int) -> str:
    return f"{count} are too many; at most {limit}"


# The form of a table, as it is written: null is the same as leaving a key out.


def _name(text: str) -> str:
    if not text.strip():
        raise ValueError("empty")
    return text.strip()


def _unreserved(name: str) -> str:
    if fold(name) == DEFAULT:
        raise ValueError(_RESERVED)
    return name


def _template(text: str) -> str:
    if faults := list(faults_in(text)):
        raise ValueError(*faults)
    return text.strip()


Name = Annotated[str, AfterValidator(_name)]
ConditionName = Annotated[Name, AfterValidator(_unreserved)]
Template = Annotated[str, AfterValidator(_template)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ActionForm(_Form):
    action: ActionKind
    tier: EscalationTier | None = None
    prompt: Template | None = None
    format: Template | None = None
    label: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        return {"action": value} if isinstance(value, str) else value

    @field_validator("tier", "prompt", "format", mode="before")
    @classmethod
    def _belongs(cls, value: object, info: ValidationInfo) -> object:
        kind = info.data.get("action")
        if value is not None and kind is not None and info.field_name not in _EXTRA_KEYS[kind]:
            extra = " and ".join(_EXTRA_KEYS[kind])
            raise ValueError(f"does not belong to {kind}, which takes only {extra}")
        return value

    def read(self) -> Action:
        escalates = self.action is ActionKind.ESCALATE
        tier = self.tier or EscalationTier.OVERSEER if escalates else None
        return Action(self.action, tier, self.prompt or "", self.format or "")

    def branch(self, name: str) -> Branch:
        return Branch(name.strip(), self.read(), " ".join((self.label or "").split()))


def _by_name(given: object) -> object:
    """Branches given as a list of {name, action, …} as an object of name to the rest."""
    if not isinstance(given, list) or not given:
        return given
    named: dict[str, Any] = {}
    faults = []
    for number, item in enumerate(given, 1):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name.strip():
            faults.append(f'branch {number} of the list must be {{"name": text, "action": …}}')
        elif name in named:
            faults.append(f"{quote(name)} stands twice")
        else:
            named[name] = {key: value for key, value in item.items() if key != "name"}
    if faults:
        raise ValueError(*faults)
    return named


def _branches(given: dict[str, ActionForm]) -> dict[str, ActionForm]:
    faults = [text for _, text in _repeated(given)]
    faults += [_RESERVED for name in given if fold(name) == DEFAULT]
    faults += ["empty" for name in given if not name.strip()]
    if not 0 < len(given) <= MAX_BRANCHES:
        faults.append(_too_many(len(given), MAX_BRANCHES) if given else "empty; give at least one")
    if faults:
        raise ValueError(*faults)
    return given


class ConditionForm(_Form):
    """An item of the list of conditions; in its place may stand the default, alone."""

    description: ConditionName | None = None
    condition: ConditionName | None = None
    checks: list[Name] | None = None
    branches: (
        Annotated[dict[str, ActionForm], BeforeValidator(_by_name), AfterValidator(_branches)]
        | None
    ) = None
    branch: ActionForm | None = None
    default: ActionForm | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.default is not None and self.model_fields_set == {DEFAULT}:
            return self
        faults = []
        if self.default is not None:
            faults.append("the default is no part of a condition; let it stand alone")
        if (self.description is None) == (self.condition is None):
            faults.append("needs a description (or condition, which is the same), and only one")
        if (self.branches is None) == (self.branch is None):
            faults.append("needs branches, or branch where there is only one, and not both")
        if faults:
            raise ValueError(*faults)
        return self

    def read(self, number: int) -> Condition:
        branches = self.branches or ({SINGLE_BRANCH: self.branch} if self.branch else {})
        return Condition(
            number=number,
            description=self.description or self.condition or "",
            checks=tuple(self.checks or ()),
            branches=tuple(form.branch(name) for name, form in branches.items()),
        )


class ConditionsForm(_Form):
    conditions: list[ConditionForm] | None = None

    def read(self, faults: list[str]) -> tuple[tuple[Condition, ...], list[tuple[str, Action]]]:
        """The conditions, numbered from 1, and the defaults among them with their places."""
        defaults: list[tuple[str, Action]] = []
        read: list[tuple[str, Condition]] = []
        for index, item in enumerate(self.conditions or ()):
            at = f"conditions[{index}]"
            if item.default is not None:
                defaults.append((f"{at}.{DEFAULT}", item.default.read()))
            else:
                read.append((at, item.read(len(read) + 1)))
        if not read:
            wrong = "missing" if self.conditions is None else "empty"
            faults.append(f"conditions: {wrong}; give at least one")
        repeated = _repeated(condition.description for _, condition in read)
        faults += [f"{read[index][0]}: {text}" for index, text in repeated]
        return tuple(condition for _, condition in read), defaults


class TableForm(ConditionsForm):
    default: ActionForm | None = None
    escalation_model: Name | None = None
    max_escalation_depth: Annotated[int, Field(strict=True, ge=0)] | None = None


_KNOWN = Known(
    table=frozenset(TableForm.model_fields),
    condition=frozenset(ConditionForm.model_fields),
    action=frozenset(ActionForm.model_fields),
)


def _repeated(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Which of the names stood there before, and what is said of it."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if fold(name) in seen:
            yield index, f"{quote(name)} stands twice (upper and lower case are the same)"
        seen.add(fold(name))


# What is wrong with the form, in words.

_WANTED = {
    "TableForm": "a table is an object or a list of conditions",
    "ConditionForm": "a condition is an object",
    "ActionForm": 'an action is an object like {"action": "report"}',
    "conditions": "must be a list of conditions",
    "checks": "must be a list of texts",
    "branches": "must be a list of {name, action}, or an object of branch name to action",
}
_WORDS = {"action": ("an action", ActionKind), "tier": ("a tier", EscalationTier)}

F = TypeVar("F", bound=_Form)


def _validated(form: type[F], value: object, mending: Mending) -> F:
    try:
        return form.model_validate(value)
    except ValidationError as error:
        said = [text for one in error.errors(include_url=False) for text in _said(one, form)]
        raise TableError([*mending.faults, *said, *mending.warnings()]) from None


def _said(error: ErrorDetails, form: type[_Form]) -> Iterator[str]:
    loc, value = error["loc"], error["input"]
    parent, key = loc[:-1], str(loc[-1]) if loc else ""
    match error["type"]:
        case "value_error":
            yield from (_at(loc, str(text)) for text in error["ctx"]["error"].args)
        case "extra_forbidden":
            where = form if not parent else ConditionForm if len(parent) == 2 else ActionForm
            known = ", ".join(where.model_fields)
            yield _at(parent, f"unknown key {quote(key)}; known are {known}")
        case "missing" | "enum" as kind:
            what, words = _WORDS[key]
            *others, last = words
            given = kind == "enum" and value is not None
            wrong = f"{quote(value)} is not {what}" if given else "missing"
            yield _at(loc, f"{wrong}; use {', '.join(others)} or {last}")
        case "string_type":
            hint = "; put it in quotes" if isinstance(value, dict) else ""
            yield _at(loc, f"must be text, not {kind_of(value)}{hint}")
        case "int_type" | "greater_than_equal":
            yield _at(loc, f"{quote(value)} is not a whole number from 0 up")
        case _:
            wanted = _WANTED[error.get("ctx", {}).get("class_name", key)]
            yield _at(loc, f"{wanted}, not {kind_of(value)}")


def _at(loc: tuple[int | str, ...], text: str) -> str:
    place = ""
    for part in loc:
        place = f"{place}[{part}]" if isinstance(part, int) else join(place, part)
    return f"{place}: {text}" if place else text
