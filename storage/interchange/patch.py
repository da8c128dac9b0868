"""What one JSON object has otherwise than another, so that the one can be made from the other."""

from typing import Any

from storage.errors import InterchangeError
from storage.records.entries import Json


def difference(made: Json, given: Json) -> Json:
    """{"set": …, "drop": …} that makes `given` out of `made`; empty where they are the same.

    Always in the same order, so that equal objects are written as equal lines.
    """
    changed = {k: given[k] for k in made if k in given and not same(made[k], given[k])}
    added = {k: given[k] for k in sorted(given) if k not in made}
    dropped = sorted(k for k in made if k not in given)
    parts = {"set": changed | added, "drop": dropped}
    return {name: part for name, part in parts.items() if part}


def applied(made: Json, patch: Json) -> Json:
    """`made` with the difference. InterchangeError where that is not one."""
    changed, dropped = patch.get("set", {}), patch.get("drop", [])
    if not isinstance(changed, dict) or not isinstance(dropped, list):
        raise InterchangeError("has changes that cannot be read")
    return {k: v for k, v in made.items() if k not in dropped} | changed


def same(one: Any, other: Any) -> bool:
    """Whether they are written alike: 1, 1.0 and true are equal in Python."""
    if one is other:
        return True
    if type(one) is not type(other) or one != other:
        return False
    match one:
        case dict():
            return all(same(value, other[key]) for key, value in one.items())
        case list():
            return all(map(same, one, other))
        case _:
            return True
