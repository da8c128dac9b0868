"""What pydantic finds wrong with a value, in words for people. Pure."""

from collections.abc import Mapping
from typing import Any

_PLAIN = {
    "missing": "is missing",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "string_type": 'must be text, in quotes: "…"',
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "tuple_type": "must be a list: […]",
    "dict_type": "must be a section of its own: […] above its keys",
    "model_type": "must be a section of its own: […] above its keys",
    "model_attributes_type": "must be a section of its own: […] above its keys",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "extra_forbidden": "there is no such key",
}
"""What is said of each kind of fault, by pydantic's names for them."""


def fault_words(kind: str, said: str, details: Mapping[str, Any]) -> str:
    """Of one fault; "" where there are no words for its kind. `said`: pydantic's own."""
    if kind == "value_error":  # ours, and for people
        return said.removeprefix("Value error, ")
    known = _PLAIN.get(kind)
    return known.format(**details) if known is not None else ""
