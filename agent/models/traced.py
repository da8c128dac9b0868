"""A model whose calls are traced: which model, what it used, how it ended; nothing that was said.

The names of attributes are OpenTelemetry's for generative models.
"""

import logging
import time
from dataclasses import dataclass

from agent.models.base import Model, ModelError, ModelSpec, Reply, Request
from agent.spans import Attributes, Span, SpanKind, span

log = logging.getLogger(__name__)

OWN = "bough"
"""The provider of models that are Bough's own."""


@dataclass(frozen=True, slots=True)
class Traced:
    """Belongs around everything that is done for a single model, and inside of the fallbacks."""

    model: Model

    async def complete(self, request: Request) -> Reply:
        spec, began = request.spec, time.monotonic()
        with span(f"chat {spec.model}", asked(spec), SpanKind.CLIENT) as call:
            try:
                reply = await self.model.complete(request)
            except ModelError as error:
                call.fail(error.kind)
                _say(spec, began, str(error.kind))
                raise
            answered(call, spec, reply)
            _say(spec, began, "answered", input=reply.usage.input, output=reply.usage.output)
            return reply


def asked(spec: ModelSpec) -> Attributes:
    provider, slash, _ = spec.model.partition("/")
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": (spec.api or provider) if slash else OWN,
        "gen_ai.request.model": spec.model,
        "bough.model": spec.name,
    }


def answered(call: Span, spec: ModelSpec, reply: Reply) -> None:
    call.note(
        {
            "gen_ai.response.model": reply.model or spec.model,
            "gen_ai.usage.input_tokens": reply.usage.input,
            "gen_ai.usage.output_tokens": reply.usage.output,
        }
    )


def _say(spec: ModelSpec, began: float, outcome: str, **tokens: int) -> None:
    if log.isEnabledFor(logging.DEBUG):
        took = round(time.monotonic() - began, 3)
        log.debug(
            "model call", extra={"model": spec.model, "outcome": outcome, "seconds": took, **tokens}
        )
