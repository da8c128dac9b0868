"""The arguments of a call that ends a run, read leniently by a pydantic model. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError

from agent.text.untrusted import PlainError, as_text, kind_of, plain

Prose = Annotated[str, BeforeValidator(as_text, json_schema_input_type=str)]
"""Whatever a model gave, as text."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A call's arguments cannot be used. The text is for the model that made the call."""

    text: str


M = TypeVar("M", bound=BaseModel)


def read_arguments(model: type[M], arguments: object) -> M | Fault:
    """A call's arguments as the model's, which gets None for what was left out. Keys that are not
    known are ignored."""
    if not isinstance(arguments, Mapping):
        return Fault(f"the arguments must be an object, not {kind_of(arguments)}")
    try:
        given: dict[str, Any] = plain(arguments)[0]
        return model.model_validate(dict.fromkeys(model.model_fields) | given)
    except PlainError as error:
        return Fault(f"the arguments cannot be read: {error}")
    except ValidationError as error:
        return Fault("; ".join(str(e["ctx"]["error"]) for e in error.errors()))
