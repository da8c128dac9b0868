"""delegate_task as a model is offered it: only what is there for who delegates. Pure.

Made from the configuration alone, so the requests of a session begin with the same bytes.
"""

from dataclasses import dataclass

from agent.delegation.call.arguments import MOST_RETRIES
from agent.delegation.call.caller import Caller, Limits
from agent.delegation.call.child_models import DEFAULT_WORKER, ChildModels, dollars_of
from agent.delegation.tables.schema import table_schema
from agent.models.base import ModelSpec
from agent.models.registry import Models
from storage.records.entries import Json

DESCRIPTION = (
    "Give tasks, at most {cap} a call, to workers: fresh agents, side by side. With a branch_table "
    "a worker only matches what it sees against it; the unforeseen goes to an overseer model, then "
    "to a person. Returns JSON: results, in task order, with status, summary, branch, evidence, "
    "resolved_by, verdict. {tools}"
)
NO_TOOLS = "Workers have no tools: context must hold all they need."
TABLE = (
    "All that could come out. prompt and format may use {observed_state}, {evidence}, {goal}, "
    "{branch}, {condition}."
)

_TEXT: Json = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Offer:
    description: str
    parameters: Json


def offer(models: Models, limits: Limits, caller: Caller) -> Offer:
    children = ChildModels(models, limits, caller)
    must = ["goal"] if children.has_default() else ["goal", "model"]
    task = {
        "type": "object",
        "properties": _task(children, limits, caller),
        "required": must,
    }
    tools = f"Toolsets of workers: {', '.join(caller.given)}." if caller.given else NO_TOOLS
    return Offer(
        DESCRIPTION.format(cap=limits.max_concurrent_children, tools=tools),
        {
            "type": "object",
            "properties": {"tasks": {"type": "array", "items": task}},
            "required": ["tasks"],
        },
    )


def _task(children: ChildModels, limits: Limits, caller: Caller) -> Json:
    choices = children.choices()
    fields: Json = {
        "goal": _text("What to do. The worker knows only goal and context."),
        "context": dict(_TEXT),
        "branch_table": table_schema(TABLE, escalation_model=len(choices) > 1),
        "acceptance_criteria": _text("What an independent judge holds the result against."),
        "retry_on_fail": _number(f"Tries after a FAIL, 0 to {MOST_RETRIES}."),
        "judge_sees_tools": {"type": "boolean"},
        "handoff": _handoff(caller),
        "reasoning_effort": {"type": "string", "enum": ["low", "medium", "high"]},
        "max_iterations": _number(f"Steps; default {limits.max_iterations}."),
    }
    if caller.depth == 0:
        fields["background"] = _flag("Go on at once; the result comes later as a message.")
    if len(choices) > 1 or not children.has_default():
        fields["model"] = _models(children, choices)
    if caller.given:
        fields["toolsets"] = {
            "type": "array",
            "items": {"type": "string", "enum": list(caller.may_give)},
            "description": "Default: all.",
        }
    if caller.may_orchestrate(limits):
        fields["role"] = {
            "type": "string",
            "enum": ["leaf", "orchestrator"],
            "description": "An orchestrator may delegate in turn; default leaf.",
        }
    return fields


def _models(children: ChildModels, choices: tuple[ModelSpec, ...]) -> Json:
    listed = "; ".join(_priced(children, spec) for spec in choices)
    default = f"default {DEFAULT_WORKER}" if children.has_default() else "name one"
    return {
        "type": "string",
        "enum": [spec.name for spec in choices],
        "description": f"Dollars per million tokens in/out: {listed}; {default}.",
    }


def _priced(children: ChildModels, spec: ModelSpec) -> str:
    effort = f" ({spec.reasoning_effort} effort)" if spec.reasoning_effort else ""
    return f"{spec.name} = {spec.model}{effort} {dollars_of(children.models.prices(spec))}"


def _text(description: str) -> Json:
    return {"type": "string", "description": description}


def _number(description: str) -> Json:
    return {"type": "integer", "description": description}


def _flag(description: str) -> Json:
    return {"type": "boolean", "description": description}


def _list(items: Json, description: str) -> Json:
    return {"type": "array", "items": items, "description": description}


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


def _handoff(caller: Caller) -> Json:
    """Files and commands only where workers have tools that would read or run them again."""
    properties: Json = {}
    if caller.given:
        command = _object(cmd=_TEXT, rc={"type": "integer"}, tail=_TEXT)
        properties["read_files"] = _list(_TEXT, "Paths; contents are sent along.")
        properties["ran_commands"] = {"type": "array", "items": command}
    probe = _object(probe=_TEXT, result=_TEXT)
    properties["probe_results"] = {"type": "array", "items": probe}
    properties["dead_ends"] = _list(_TEXT, "What did not work.")
    said = "What you know already"
    if caller.given:
        said += "; without it, your last reads and commands"
    return _object(**properties) | {"description": said}
