"""The JSON schema in which models are asked for tables: lists and named properties only.

Providers drop what they do not know: for Gemini, an object of free keys would be an object without
any. So branches are a list here; `parse` also takes the other forms.
"""

from agent.delegation.tables.model import ActionKind, EscalationTier
from storage.records.entries import Json

_ACTION: Json = {
    "action": {
        "type": "string",
        "enum": [kind.value for kind in ActionKind],
        "description": "expand: the overseer adds branches then.",
    },
    "tier": {
        "type": "string",
        "enum": [tier.value for tier in EscalationTier],
        "description": "With escalate.",
    },
    "prompt": {"type": "string", "description": "What to ask, with escalate or expand."},
    "format": {"type": "string", "description": "What to say, with report."},
}

_BRANCH: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "ok: all checks passed."},
        "label": {"type": "string", "description": "For a button: Deploy now."},
        **_ACTION,
    },
    "required": ["name", "action"],
}

CONDITIONS: Json = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "description": {"type": "string"},
            "checks": {"type": "array", "items": {"type": "string"}},
            "branches": {"type": "array", "items": _BRANCH},
        },
        "required": ["description", "branches"],
    },
}


def _bare(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if key != "description"}


_DEFAULT: Json = {
    "type": "object",
    "description": "If none fits.",
    "properties": {name: _bare(_ACTION[name]) for name in ("action", "tier", "prompt")},
    "required": ["action"],
}


def table_schema(description: str, *, escalation_model: bool) -> Json:
    """`escalation_model`: whether there is more than one model to choose from."""
    properties: Json = {"conditions": CONDITIONS, "default": _DEFAULT}
    if escalation_model:
        properties["escalation_model"] = {"type": "string"}
    properties["max_escalation_depth"] = {
        "type": "integer",
        "description": "Overseer rounds.",
    }
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": ["conditions", "default"],
    }
