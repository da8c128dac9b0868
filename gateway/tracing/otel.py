"""Spans as OpenTelemetry has them, sent to a collector by OTLP over HTTP.

The ids are made of Bough's own trace id: that is the trace's, and its first half the first span's.
So whoever works on a row later knows both, and whether the trace is sampled. What cannot be sent
is dropped: nobody waits for a collector.
"""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from threading import Thread
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from opentelemetry.trace import (
    Link,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
    use_span,
)
from opentelemetry.trace import NonRecordingSpan as Elsewhere
from opentelemetry.trace import Span as OtelSpan
from opentelemetry.trace import SpanKind as OtelKind

from agent.spans import Attributes, Span, SpanKind
from storage.traces import current_trace

log = logging.getLogger(__name__)

PATH = "/v1/traces"
MOST_WAITING = 2048
"""Spans that wait to be sent; more are dropped."""
AT_ONCE = 256
EVERY = 2_000
"""Milliseconds between what is sent."""
PATIENCE = 5.0
"""Seconds for one request, and for what is left when the process ends."""
LONGEST = 256
"""Characters of an attribute."""
_KINDS = {
    SpanKind.INTERNAL: OtelKind.INTERNAL,
    SpanKind.CLIENT: OtelKind.CLIENT,
    SpanKind.CONSUMER: OtelKind.CONSUMER,
    SpanKind.PRODUCER: OtelKind.PRODUCER,
}
_is_first: ContextVar[bool] = ContextVar("is_first", default=False)


class _Ids(IdGenerator):
    """The current trace's, where there is one."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        trace = current_trace()
        return _trace_id(trace) if trace else self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        return _first_id(current_trace()) if _is_first.get() else self._random.generate_span_id()


def _trace_id(trace: str) -> int:
    return int(trace, 16)


def _first_id(trace: str) -> int:
    """Of the trace's first span."""
    return int(trace[:16], 16)


class _Quiet(SpanExporter):
    """Says once that nothing can be sent, and once that it can again."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception as error:
            # The edge to a library and a network: no trace is worth more than a line of the log.
            log.debug("traces cannot be sent", exc_info=error)
            result = SpanExportResult.FAILURE
        failed = result is not SpanExportResult.SUCCESS
        if failed and not self._failing:
            log.warning("traces cannot be sent to otel.endpoint; they are dropped until they can")
        if self._failing and not failed:
            log.info("traces can be sent again")
        self._failing = failed
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class _Told:
    """A span of ours."""

    def __init__(self, span: OtelSpan) -> None:
        self._span = span
        self._failed = False

    def note(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def fail(self, kind: str) -> None:
        if self._failed:
            return  # who knew better has said so
        self._failed = True
        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR))


class Otel:
    def __init__(self, endpoint: str, sample: float) -> None:
        """`endpoint`: a collector's address, or that and a path. `sample`: which part of the
        traces is sent, 0 to 1."""
        # It reports each failed batch itself, at length.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        whole = endpoint if urlsplit(endpoint).path.strip("/") else endpoint.rstrip("/") + PATH
        self._sampler = TraceIdRatioBased(sample)
        self._provider = TracerProvider(
            sampler=self._sampler,
            id_generator=_Ids(),
            shutdown_on_exit=False,
            span_limits=SpanLimits(max_span_attribute_length=LONGEST),
            resource=Resource.create(
                {
                    "service.name": "bough",
                    "service.version": version("bough"),
                    "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
                }
            ),
        )
        exporter = _Quiet(OTLPSpanExporter(endpoint=whole, timeout=PATIENCE))
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter,
                max_queue_size=MOST_WAITING,
                schedule_delay_millis=EVERY,
                max_export_batch_size=AT_ONCE,
            )
        )
        self._tracer: Tracer = self._provider.get_tracer("bough")

    @contextmanager
    def span(self, name: str, kind: SpanKind, attributes: Attributes) -> Iterator[Span]:
        with self._run(self._tracer.start_span(name, None, _KINDS[kind], attributes)) as span:
            yield span

    @contextmanager
    def first(self, name: str, kind: SpanKind, attributes: Attributes) -> Iterator[Span]:
        token = _is_first.set(bool(current_trace()))
        try:
            span = self._tracer.start_span(name, Context(), _KINDS[kind], attributes)
        finally:
            _is_first.reset(token)
        with self._run(span) as told:
            yield told

    @contextmanager
    def below(
        self, trace: str, name: str, kind: SpanKind, attributes: Attributes, links: tuple[str, ...]
    ) -> Iterator[Span]:
        above = Context()
        if trace:
            above = set_span_in_context(Elsewhere(self._context(trace)), above)
        others = [Link(self._context(link)) for link in links]
        span = self._tracer.start_span(name, above, _KINDS[kind], attributes, others)
        with self._run(span) as told:
            yield told

    def _context(self, trace: str) -> SpanContext:
        """Of a trace's first span, which may have been another process's."""
        number = _trace_id(trace)
        decided = self._sampler.should_sample(None, number, "").decision
        sampled = decided is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        return SpanContext(number, _first_id(trace), is_remote=True, trace_flags=flags)

    @contextmanager
    def _run(self, span: OtelSpan) -> Iterator[Span]:
        told = _Told(span)
        # An exception's text may hold what people wrote: its class is all that is kept of it.
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                yield told
        except BaseException as error:
            told.fail(type(error).__name__)
            raise
        finally:
            span.end()

    async def close(self) -> None:
        """Send what is left, within `PATIENCE`."""
        ending = Thread(target=self._provider.shutdown, name="bough-traces-end", daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, PATIENCE)


@asynccontextmanager
async def sending(endpoint: str, sample: float) -> AsyncIterator[Otel]:
    otel = Otel(endpoint, sample)
    try:
        yield otel
    finally:
        await otel.close()
