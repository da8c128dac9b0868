"""What an overseer may decide: the tools' schemas, and their arguments read leniently. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from agent.delegation.core.arguments import Fault, Prose, read_arguments
from agent.delegation.tables.model import fold
from agent.delegation.tables.schema import CONDITIONS
from agent.text.untrusted import as_text, unquoted

MAX_OPTIONS = 8
OPTION_LIMIT = 1_000
"""Characters of one option."""


@dataclass(frozen=True, slots=True)
class Extension:
    conditions: Any
    """As given and plain; `extend` of tables.parse says whether the table takes them."""
    reason: str
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class WorkerCheck:
    check: str


@dataclass(frozen=True, slots=True)
class Resolution:
    summary: str
    branch: str | None
    evidence: str


@dataclass(frozen=True, slots=True)
class HumanRequest:
    question: str
    options: tuple[str, ...]
    """At most MAX_OPTIONS, each at most OPTION_LIMIT characters, and no two the same."""


def _needed(missing: str) -> AfterValidator:
    def check(value: object) -> object:
        if not value:
            raise ValueError(missing)
        return value

    return AfterValidator(check)


def _options(value: object) -> list[str]:
    """Labels from texts or objects with a label; blank ones and repetitions are dropped. Else
    nothing is left out or cut: what a person never sees, they cannot decide on."""
    read = unquoted(value)
    listed = read if isinstance(read, list) else [read]
    labels: dict[str, str] = {}
    for option in listed:
        label = as_text(option.get("label") if isinstance(option, dict) else option)
        if whole := " ".join(label.split()):
            labels.setdefault(fold(whole), whole)
    if len(labels) > MAX_OPTIONS:
        raise ValueError(f"{len(labels)} options are too many: give at most {MAX_OPTIONS}")
    for place, option in enumerate(labels.values(), 1):
        if len(option) > OPTION_LIMIT:
            shorter = f"write it in at most {OPTION_LIMIT} characters"
            raise ValueError(f"option {place} is too long: {shorter}")
    return list(labels.values())


def _flag(value: object) -> bool:
    return fold(as_text(value)) in ("true", "yes", "1")


class ExtendArguments(BaseModel):
    model_config = ConfigDict(json_schema_extra={"required": ["conditions"]})

    conditions: Annotated[
        Any, _needed("conditions are missing: give at least one"), WithJsonSchema(CONDITIONS)
    ] = Field(description="New conditions. One with the description of an old one replaces it.")
    reason: Prose = Field(description="Why the table needs them.")
    fresh: Annotated[bool, BeforeValidator(_flag, json_schema_input_type=bool)] = Field(
        description="true: a new worker begins anew, told what the last one did. Else that one "
        "goes on."
    )


class CheckArguments(BaseModel):
    model_config = ConfigDict(json_schema_extra={"required": ["check"]})

    check: Annotated[Prose, _needed("check is missing: say what the worker is to look at")] = Field(
        description="What to look at or run, and what to report of it."
    )


class ResolveArguments(BaseModel):
    model_config = ConfigDict(json_schema_extra={"required": ["summary"]})

    summary: Annotated[
        Prose, _needed("summary is missing: say what the outcome of the task is")
    ] = Field(description="The outcome of the task.")
    branch: Prose = Field(description="The branch it comes to, if one fits.")
    evidence: Prose = Field(description="What shows it.")


class HumanArguments(BaseModel):
    model_config = ConfigDict(json_schema_extra={"required": ["question"]})

    question: Annotated[Prose, _needed("question is missing: say what a person is to decide")] = (
        Field(description="One clear question for a person.")
    )
    options: Annotated[
        list[str],
        BeforeValidator(
            _options, json_schema_input_type=Annotated[list[str], Field(max_length=MAX_OPTIONS)]
        ),
    ] = Field(description="Short answers to choose from.")


EXTEND_TABLE = ExtendArguments.model_json_schema()
ASK_WORKER = CheckArguments.model_json_schema()
RESOLVE = ResolveArguments.model_json_schema()
ESCALATE_TO_HUMAN = HumanArguments.model_json_schema()
"""JSON schemas of the tools' arguments."""


def parse_extension(arguments: Mapping[str, Any]) -> Extension | Fault:
    given = read_arguments(ExtendArguments, arguments)
    if isinstance(given, Fault):
        return given
    return Extension(given.conditions, given.reason, given.fresh)


def parse_check(arguments: Mapping[str, Any]) -> WorkerCheck | Fault:
    given = read_arguments(CheckArguments, arguments)
    return given if isinstance(given, Fault) else WorkerCheck(given.check)


def parse_resolution(arguments: Mapping[str, Any]) -> Resolution | Fault:
    given = read_arguments(ResolveArguments, arguments)
    if isinstance(given, Fault):
        return given
    return Resolution(given.summary, given.branch or None, given.evidence)


def parse_human_request(arguments: Mapping[str, Any]) -> HumanRequest | Fault:
    given = read_arguments(HumanArguments, arguments)
    return given if isinstance(given, Fault) else HumanRequest(given.question, tuple(given.options))
