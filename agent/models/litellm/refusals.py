"""What a model, or its server, refuses to be asked for: then it is asked without. Pure."""

import re
from collections.abc import Set
from enum import Enum, auto

from agent.models.base import ModelError, ModelErrorKind, Request
from agent.models.litellm.providers import has_thoughts
from agent.models.litellm.tool_choice import refuses_wish

_OPTIONS = re.compile(r"stream[ _]?options|include[ _]?usage", re.IGNORECASE)
_STREAM = re.compile(r"stream(?!\w*[ _]?options)", re.IGNORECASE)

_THOUGHTS = re.compile(
    r"reasoning[ _]?(content|details)?|thinking|thought|provider_specific_fields"
    r"|extra (inputs|fields)|(unknown|unsupported|unrecognized|unexpected|additional) "
    r"(field|parameter|propert|key|argument)",
    re.IGNORECASE,
)


class Extra(Enum):
    WISH = auto()
    """For a tool."""
    USAGE = auto()
    """In a stream: what the call used."""
    STREAM = auto()
    """The answer as it comes."""
    THOUGHTS = auto()
    """Its own thinking, sent back to it."""


def refused(error: ModelError, request: Request, without: Set[Extra]) -> Extra | None:
    """What a request was refused for, of what it is without by now; None where that was something
    else."""
    if request.tool_choice and Extra.WISH not in without and refuses_wish(error):
        return Extra.WISH
    if error.kind is not ModelErrorKind.BAD_REQUEST or error.partial:
        return None
    thinks = Extra.THOUGHTS not in without and has_thoughts(request.messages)
    if thinks and _THOUGHTS.search(str(error)):
        return Extra.THOUGHTS
    if request.heard is None or Extra.STREAM in without:
        return None
    if Extra.USAGE not in without and _OPTIONS.search(str(error)):
        return Extra.USAGE
    return Extra.STREAM if _STREAM.search(str(error)) else None
