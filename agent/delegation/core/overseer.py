"""What an overseer may decide: the tools' schemas, and their arguments read leniently. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.delegation.core.report import Fault, plain_arguments
from agent.delegation.tables.model import fold
from agent.text.untrusted import as_text, unquoted
from storage.records.entries import Json

__all__ = [
    "ESCALATE_TO_HUMAN",
    "EXTEND_TABLE",
    "MAX_OPTIONS",
    "RESOLVE",
    "Extension",
    "Fault",
    "HumanRequest",
    "Resolution",
    "parse_extension",
    "parse_human_request",
    "parse_resolution",
]

MAX_OPTIONS = 8
OPTION_LIMIT = 1_000
"""Characters of one option."""

_ACTION: Json = {
    "type": "object",
    "properties": {
        "action": {
            "type": "string",
            "enum": ["report", "report_with_evidence", "escalate", "expand"],
        },
        "tier": {
            "type": "string",
            "enum": ["overseer", "human"],
            "description": "With escalate only.",
        },
        "prompt": {"type": "string", "description": "With escalate and expand only."},
        "format": {"type": "string", "description": "With report actions only: what to report."},
    },
    "required": ["action"],
}

EXTEND_TABLE: Json = {
    "type": "object",
    "properties": {
        "conditions": {
            "type": "array",
            "minItems": 1,
            "description": "New conditions. One with the description of an old one replaces it.",
            "items": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "checks": {"type": "array", "items": {"type": "string"}},
                    "branches": {
                        "type": "object",
                        "description": "Branch name to action.",
                        "additionalProperties": _ACTION,
                    },
                },
                "required": ["description", "branches"],
            },
        },
        "reason": {"type": "string", "description": "Why the table needs them."},
    },
    "required": ["conditions"],
}
"""JSON schema of extend_table's arguments."""

RESOLVE: Json = {
    "type": "object",
    "properties": {
        "summary": {"type": "string", "description": "The outcome of the task."},
        "branch": {"type": "string", "description": "The branch it comes to, if one fits."},
        "evidence": {"type": "string", "description": "What shows it."},
    },
    "required": ["summary"],
}
"""JSON schema of resolve's arguments."""

ESCALATE_TO_HUMAN: Json = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "One clear question for a person."},
        "options": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": MAX_OPTIONS,
            "description": "Short answers to choose from.",
        },
    },
    "required": ["question"],
}
"""JSON schema of escalate_to_human's arguments."""


@dataclass(frozen=True, slots=True)
class Extension:
    conditions: Any
    """As given and plain; `extend` of tables.parse says whether the table takes them."""
    reason: str


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


def parse_extension(arguments: Mapping[str, Any]) -> Extension | Fault:
    given = plain_arguments(arguments)
    if isinstance(given, Fault):
        return given
    conditions = given.get("conditions")
    if not conditions:
        return Fault("conditions are missing: give at least one")
    return Extension(conditions, as_text(given.get("reason")))


def parse_resolution(arguments: Mapping[str, Any]) -> Resolution | Fault:
    given = plain_arguments(arguments)
    if isinstance(given, Fault):
        return given
    summary = as_text(given.get("summary"))
    if not summary:
        return Fault("summary is missing: say what the outcome of the task is")
    branch = as_text(given.get("branch")) or None
    return Resolution(summary, branch, as_text(given.get("evidence")))


def parse_human_request(arguments: Mapping[str, Any]) -> HumanRequest | Fault:
    given = plain_arguments(arguments)
    if isinstance(given, Fault):
        return given
    question = as_text(given.get("question"))
    if not question:
        return Fault("question is missing: say what a person is to decide")
    options = _options(given.get("options"))
    # Nothing is left out or cut: what a person never sees, they cannot decide on.
    if len(options) > MAX_OPTIONS:
        return Fault(f"{len(options)} options are too many: give at most {MAX_OPTIONS}")
    for place, option in enumerate(options, 1):
        if len(option) > OPTION_LIMIT:
            return Fault(
                f"option {place} is too long: write it in at most {OPTION_LIMIT} characters"
            )
    return HumanRequest(question, options)


def _options(value: Any) -> tuple[str, ...]:
    """Labels from texts or objects with a label; blank ones and repetitions are dropped."""
    read = unquoted(value)
    listed = read if isinstance(read, list) else [read]
    labels: dict[str, str] = {}
    for option in listed:
        whole = _line(option.get("label") if isinstance(option, dict) else option)
        if whole:
            labels.setdefault(fold(whole), whole)
    return tuple(labels.values())


def _line(value: Any) -> str:
    return " ".join(as_text(value).split())
