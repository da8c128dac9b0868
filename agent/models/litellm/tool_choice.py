"""The wish that a model calls a tool, as providers take it. Pure.

What litellm makes of it was measured: Ollama is told nothing, and for Mistral a tool's name is
dropped. Claude refuses to be told what to call while it thinks; others say so when they are asked.
"""

import re

from agent.models.base import REQUIRED, ModelError, ModelErrorKind, Request
from storage.records.entries import Json

_MISTRAL = "mistral"
_WISH = re.compile(r"tool[ _]?choice|function[ _]?call", re.IGNORECASE)


def tool_choice(request: Request, provider: str) -> str | Json:
    """The wish as litellm takes it for the provider; "" where there is none, or none is taken."""
    wish = request.tool_choice
    if wish in ("", "none"):
        return wish
    if "claude" in request.spec.model.lower() and request.spec.reasoning_effort:
        return ""
    if wish == REQUIRED or provider == _MISTRAL:
        return REQUIRED
    return {"type": "function", "function": {"name": wish}}


def refuses_wish(error: ModelError) -> bool:
    """Whether a provider refused a request for its wish."""
    return error.kind is ModelErrorKind.BAD_REQUEST and _WISH.search(str(error)) is not None
