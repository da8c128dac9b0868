"""What waits in the database, and whether the parts are ready, as the last look found it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.monitoring.labels import PLATFORM, QUESTION, one_of
from storage.records.figures.backlog import Backlog, Queue


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a gateway."""

    ready: Mapping[str, str] = field(default_factory=dict)
    """Why it is not ready, by part; "" for each part that is."""
    backlog: Backlog | None = None
    """None where the database did not say."""
    took: float = 0.0
    """Seconds that the database needed for it."""
    children: int = 0
    """Delegations that are worked on."""


class Gauges(Collector):
    def __init__(self) -> None:
        self._look = Look()

    def show(self, look: Look) -> None:
        """From now on."""
        self._look = look

    def collect(self) -> Iterator[Metric]:
        """In any thread."""
        look = self._look
        ready = GaugeMetricFamily("bough_ready", "Whether a part is ready.", labels=["part"])
        for part, why in look.ready.items():
            ready.add_metric([part], 0 if why else 1)
        yield ready
        yield GaugeMetricFamily(
            "bough_delegations_running", "Delegations worked on now.", look.children
        )
        up = 0 if look.backlog is None else 1
        yield GaugeMetricFamily("bough_store_up", "Whether the database answered.", up)
        yield GaugeMetricFamily("bough_store_read_seconds", "How long it took.", look.took)
        if look.backlog is not None:
            yield from _waiting(look.backlog)

    def describe(self) -> list[Metric]:
        """Nothing is collected when this is registered."""
        return []


def _waiting(backlog: Backlog) -> Iterator[Metric]:
    yield from _queues("bough_inbox", "open", "platform", backlog.inbox, PLATFORM, backlog.now)
    yield from _queues("bough_outbox", "pending", "platform", backlog.outbox, PLATFORM, backlog.now)
    yield from _queues("bough_questions", "open", "kind", backlog.questions, QUESTION, backlog.now)
    yield GaugeMetricFamily(
        "bough_commands_running", "Commands that run now.", value=backlog.commands
    )


def _queues(
    name: str,
    what: str,
    label: str,
    found: Mapping[str, Queue],
    known: tuple[str, ...],
    now: float,
) -> Iterator[Metric]:
    """How many there are and how old the oldest is, of every kind that is known, so that a queue
    that is empty is 0 and not missing."""
    counts, oldest = dict.fromkeys(known, 0), dict.fromkeys(known, now)
    for key, queue in found.items():
        shown = one_of(known, key)
        counts[shown] += queue.count
        oldest[shown] = min(oldest[shown], queue.oldest if queue.oldest is not None else now)
    count = GaugeMetricFamily(f"{name}_{what}", f"How many are {what}.", labels=[label])
    age = GaugeMetricFamily(
        f"{name}_oldest_age_seconds", "The age of the oldest of them.", labels=[label]
    )
    for key in known:
        count.add_metric([key], counts[key])
        age.add_metric([key], now - oldest[key])
    yield count
    yield age
