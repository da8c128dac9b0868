"""Whether traces are collected. Only then is OpenTelemetry imported."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.spans import collected_by
from gateway.configuration.config import OtelConfig
from gateway.errors import ConfigError

MISSING = (
    "otel.endpoint is set, and the packages for traces are not installed: install bough[otel], or "
    "take the section [otel] out."
)


@asynccontextmanager
async def collecting(config: OtelConfig) -> AsyncIterator[None]:
    """Within the block spans go where the configuration says, if it does; at its end what is left
    is sent, within a few seconds. ConfigError where the library is missing."""
    if config.endpoint is None:
        yield
        return
    try:
        from gateway.tracing.otel import sending
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        raise ConfigError(MISSING) from None
    async with sending(config.endpoint, config.sample) as spans:
        with collected_by(spans):
            yield
