"""What has happened in this process, counted with prometheus_client in a registry of its own.

deploy/README.md has the names with what they mean; a test holds the two equal.
"""

from functools import lru_cache

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from gateway.monitoring import labels
from gateway.monitoring.labels import one_of, tool_label
from storage.news import Committed
from storage.records.figures.happened import Happened
from storage.records.ledger import LedgerLine

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""Bounds of the durations of turns, calls and deliveries."""
LAG_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Metrics:
    """An Observer. Each name with its labels is looked up once: it is told of something in every
    turn."""

    def __init__(self, version: str, role: str) -> None:
        # Else every counter and histogram has a second name with the time at which it was made.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        info = Gauge("bough_info", "The process.", ["version", "role"], registry=registry)
        info.labels(version, role).set(1)
        self._make_turns(registry)
        self._make_calls(registry)
        self._make_deliveries(registry)
        self._make_rest(registry)

    def _make_turns(self, registry: CollectorRegistry) -> None:
        turns = Counter(
            "bough_turns_total", "Turns that ended.", ["kind", "outcome"], registry=registry
        )
        took = Histogram(
            "bough_turn_duration_seconds",
            "From the beginning of a turn to its end.",
            ["kind"],
            buckets=SECONDS,
            registry=registry,
        )
        waited = Histogram(
            "bough_turn_wait_seconds",
            "From the arrival of what a turn answers to its beginning.",
            ["kind"],
            buckets=SECONDS,
            registry=registry,
        )
        self._turns = lru_cache(None)(turns.labels)
        self._turn_took = lru_cache(None)(took.labels)
        self._turn_waited = lru_cache(None)(waited.labels)
        self._turns_running = Gauge("bough_turns_running", "Turns that run now.", registry=registry)

    def _make_calls(self, registry: CollectorRegistry) -> None:
        calls = Counter(
            "bough_model_calls_total",
            "Calls of models, each with its retries.",
            ["tier", "outcome"],
            registry=registry,
        )
        took = Histogram(
            "bough_model_call_duration_seconds",
            "Of a call of a model, with its retries.",
            ["tier"],
            buckets=SECONDS,
            registry=registry,
        )
        attempts = Counter(
            "bough_model_failed_attempts_total",
            "Attempts to call a model that failed.",
            ["tier", "kind"],
            registry=registry,
        )
        self._calls = lru_cache(None)(calls.labels)
        self._call_took = lru_cache(None)(took.labels)
        self._attempts = lru_cache(None)(attempts.labels)
        self._calls_running = Gauge(
            "bough_model_calls_running", "Calls of models that run now.", registry=registry
        )
        self._input, self._output, self._cached, self._cost, self._unpriced = (
            lru_cache(None)(Counter(name, text, ["tier"], registry=registry).labels)
            for name, text in (
                ("bough_model_input_tokens_total", "Tokens that models were sent."),
                ("bough_model_output_tokens_total", "Tokens that models wrote."),
                ("bough_model_cached_tokens_total", "Tokens of the input from a prompt cache."),
                ("bough_model_cost_dollars_total", "Dollars, by configured prices."),
                ("bough_model_unpriced_calls_total", "Billed calls of an unknown price."),
            )
        )

    def _make_deliveries(self, registry: CollectorRegistry) -> None:
        ended = Counter(
            "bough_deliveries_total",
            "Messages that were sent or put aside.",
            ["platform", "outcome"],
            registry=registry,
        )
        latency = Histogram(
            "bough_delivery_latency_seconds",
            "From the outbox to the platform's yes.",
            ["platform"],
            buckets=SECONDS,
            registry=registry,
        )
        again = Counter(
            "bough_delivery_retries_total",
            "Failed sends that are tried again.",
            ["platform", "reason"],
            registry=registry,
        )
        throttled = Counter(
            "bough_throttled_total", "Answers of 429.", ["platform"], registry=registry
        )
        refused = Counter(
            "bough_strangers_refused_total",
            "What people said or pressed who may not talk.",
            ["platform"],
            registry=registry,
        )
        self._ended = lru_cache(None)(ended.labels)
        self._latency = lru_cache(None)(latency.labels)
        self._again = lru_cache(None)(again.labels)
        self._throttled = lru_cache(None)(throttled.labels)
        self._refused = lru_cache(None)(refused.labels)

    def _make_rest(self, registry: CollectorRegistry) -> None:
        asked = Counter(
            "bough_questions_asked_total", "Questions to people.", ["kind"], registry=registry
        )
        closed = Counter(
            "bough_questions_closed_total",
            "Questions that are not open any more.",
            ["kind", "outcome"],
            registry=registry,
        )
        commands = Counter(
            "bough_commands_total", "Commands that ended.", ["outcome"], registry=registry
        )
        delegations = Counter(
            "bough_delegations_total",
            "How often a delegation came to a status.",
            ["status"],
            registry=registry,
        )
        tools = Counter(
            "bough_tool_calls_total", "Runs of tools.", ["tool", "outcome"], registry=registry
        )
        self._asked = lru_cache(None)(asked.labels)
        self._closed = lru_cache(None)(closed.labels)
        self._commands = lru_cache(None)(commands.labels)
        self._delegations = lru_cache(None)(delegations.labels)
        self._tools = lru_cache(None)(tools.labels)
        self._lag = Histogram(
            "bough_event_loop_lag_seconds",
            "How late a timer of the event loop came.",
            buckets=LAG_SECONDS,
            registry=registry,
        )

    def add(self, collector: Collector) -> None:
        """Show what it collects too."""
        self._registry.register(collector)

    def render(self, accept: str) -> tuple[bytes, str]:
        """Everything in the form that fits a request's Accept header, and its content type.
        Blocks; in any thread."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def lagged(self, seconds: float) -> None:
        self._lag.observe(seconds)

    # Observer

    def turn_began(self) -> None:
        self._turns_running.inc()

    def turn_ended(self, kind: str, outcome: str, took: float, waited: float) -> None:
        kind = one_of(labels.TURN, kind)
        self._turns_running.dec()
        self._turns(kind, one_of(labels.TURN_OUTCOME, outcome, "failed")).inc()
        self._turn_took(kind).observe(took)
        self._turn_waited(kind).observe(max(waited, 0.0))

    def call_began(self) -> None:
        self._calls_running.inc()

    def call_ended(self, tier: str, outcome: str, took: float) -> None:
        tier = one_of(labels.TIER, tier, "preset")
        self._calls_running.dec()
        self._calls(tier, one_of(labels.CALL_OUTCOME, outcome, "failed")).inc()
        self._call_took(tier).observe(took)

    def attempt_failed(self, tier: str, kind: str) -> None:
        kind = one_of(labels.CALL_OUTCOME, kind, "failed")
        self._attempts(one_of(labels.TIER, tier, "preset"), kind).inc()

    def tool_ran(self, tool: str, toolset: str | None, outcome: str) -> None:
        outcome = one_of(labels.TOOL_OUTCOME, outcome, "failed")
        self._tools(tool_label(tool, toolset), outcome).inc()

    def delivered(self, platform: str, waited: float) -> None:
        platform = one_of(labels.PLATFORM, platform)
        self._ended(platform, "sent").inc()
        self._latency(platform).observe(max(waited, 0.0))

    def put_aside(self, platform: str) -> None:
        self._ended(one_of(labels.PLATFORM, platform), "put_aside").inc()

    def sent_again(self, platform: str, reason: str) -> None:
        reason = one_of(labels.RETRY, reason, "fault")
        self._again(one_of(labels.PLATFORM, platform), reason).inc()

    def throttled(self, platform: str) -> None:
        self._throttled(one_of(labels.PLATFORM, platform)).inc()

    def refused(self, platform: str) -> None:
        self._refused(one_of(labels.PLATFORM, platform)).inc()

    def committed(self, news: Committed) -> None:
        for line in news.billed:
            self._bill(line)
        for each in news.happened:
            self._happen(each)

    def _bill(self, line: LedgerLine) -> None:
        tier, used = one_of(labels.TIER, line.tier, "preset"), line.usage
        # A file that was taken in, or a server, may say anything; counters only ever grow.
        self._input(tier).inc(max(used.input, 0))
        self._output(tier).inc(max(used.output, 0))
        self._cached(tier).inc(max(used.cached, 0))
        if used.cost is None:
            self._unpriced(tier).inc()
        else:
            self._cost(tier).inc(max(used.cost, 0.0))

    def _happen(self, each: Happened) -> None:
        match each.what:
            case "question" if each.came_to == "asked":
                self._asked(one_of(labels.QUESTION, each.kind)).inc()
            case "question" if each.came_to in labels.CLOSED:
                self._closed(one_of(labels.QUESTION, each.kind), each.came_to).inc()
            case "command" if each.came_to in labels.COMMAND:
                self._commands(each.came_to).inc()
            case "delegation" if each.came_to in labels.DELEGATION:
                self._delegations(each.came_to).inc()
            case "question" | "command" | "delegation":
                pass  # such as a delegation that goes on
