"""A collector of traces that speaks OTLP over HTTP, as OpenTelemetry's own does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.stand_ins.serving import listen

PROTOBUF = "application/x-protobuf"
PATIENCE = 90.0


@dataclass(frozen=True)
class Collected:
    name: str
    trace: str
    id: str
    parent: str
    kind: int
    attributes: dict[str, Any]
    links: tuple[str, ...]
    failed: bool


@dataclass
class Collector:
    url: str = ""
    status: int = 200
    """What it answers from now on."""
    asked: int = 0
    """Requests."""
    raw: bytes = b""
    """All that came."""
    spans: list[Collected] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, request: web.Request) -> web.Response:
        assert request.path == "/v1/traces" and request.content_type == PROTOBUF
        body = await request.read()
        async with self._news:
            self.asked += 1
            self._news.notify_all()
        if self.status != 200:
            return web.Response(status=self.status)
        message = ExportTraceServiceRequest()
        message.ParseFromString(body)
        async with self._news:
            self.raw += body
            for resource in message.resource_spans:
                self.resources.append(_values(resource.resource.attributes))
                for scope in resource.scope_spans:
                    self.spans += [_collected(span) for span in scope.spans]
            self._news.notify_all()
        answer = ExportTraceServiceResponse().SerializeToString()
        return web.Response(body=answer, content_type=PROTOBUF)

    async def until(self, happened: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: bool(happened()))

    def named(self, name: str) -> list[Collected]:
        return [span for span in self.spans if span.name == name]


def _collected(span: Any) -> Collected:
    return Collected(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        _values(span.attributes),
        tuple(link.trace_id.hex() for link in span.links),
        span.status.code == 2,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@asynccontextmanager
async def collector() -> AsyncIterator[Collector]:
    made = Collector()
    app = web.Application()
    app.router.add_post("/{path:.*}", made.take)
    runner = web.AppRunner(app)
    try:
        made.url = f"http://127.0.0.1:{await listen(runner)}"
        yield made
    finally:
        await runner.cleanup()
