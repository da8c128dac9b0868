"""Small tables to test with."""

from typing import Any


def one(**more: Any) -> dict[str, Any]:
    """A valid condition, changed by what is given; None takes a key away."""
    made = {"description": "a", "branches": {"ok": "report"}, **more}
    return {key: value for key, value in made.items() if value is not None}


def listed(conditions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Conditions with their branches as a list, as the schema asks for them."""
    return [
        {**each, "branches": [{"name": name, **to} for name, to in each["branches"].items()]}
        for each in conditions
    ]


def table_of(*conditions: Any, **more: Any) -> dict[str, Any]:
    return {"conditions": list(conditions or [one()]), "default": "escalate", **more}
