"""What pydantic finds is told in our words."""

from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from agent.text.fault_words import fault_words


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (Annotated[list[int], Field(min_length=1)], [], "must not be empty"),
        (Annotated[int, Field(ge=3)], 2, "must be at least 3"),
        (int, "x", "must be a whole number"),
        (bool, "perhaps", "must be true or false"),
        (complex, "x", ""),
    ],
)
def test_a_fault_has_words_of_ours_or_none(kind: Any, value: object, words: str) -> None:
    with pytest.raises(ValidationError) as found:
        TypeAdapter(kind).validate_python(value)
    fault = found.value.errors()[0]
    assert fault_words(fault["type"], fault["msg"], fault.get("ctx", {})) == words
