"""What is counted, by which names, and that these stay few."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from gateway.monitoring import labels
from gateway.monitoring.gauges import Gauges, Look
from gateway.monitoring.metrics import Metrics
from gateway.monitoring.observer import Observer, Unobserved
from storage.news import Committed
from storage.records.entries import Usage
from storage.records.figures.backlog import Backlog, Queue
from storage.records.figures.happened import Happened
from storage.records.ledger import LedgerLine

DOCUMENT = Path(__file__).parents[4] / "deploy" / "README.md"
ROW = re.compile(r"^\| `(bough_\w+)` \| (\w+) \| ([^|]*) \| ([PD]) \| .+ \|$", re.MULTILINE)
BACKLOG = Backlog(
    1_000.0,
    inbox={"telegram": Queue(2, 990.0)},
    outbox={"discord": Queue(1, 400.0)},
    questions={"approval": Queue(3, 100.0), "made up": Queue(1, 50.0)},
    commands=4,
)


def line(tier: str, usage: Usage) -> LedgerLine:
    return LedgerLine(tier, "a-model", usage, 1, "telegram:1001", "telegram:1001")


def commit(*happened: Happened, billed: tuple[LedgerLine, ...] = ()) -> Committed:
    return Committed(frozenset(), outbox=False, happened=happened, billed=billed)


def tell_all(observer: Observer, name: str = "message") -> None:
    """One of everything, called by `name` where a name is free."""
    observer.turn_began()
    observer.turn_ended(name, name, 0.2, 0.1)
    observer.call_began()
    observer.call_ended(name, name, 1.5)
    observer.attempt_failed(name, name)
    observer.tool_ran(name, None, name)
    observer.tool_ran(name, f"mcp:{name}", name)
    observer.delivered(name, 0.3)
    observer.put_aside(name)
    observer.sent_again(name, name)
    observer.throttled(name)
    observer.refused(name)
    observer.committed(
        commit(
            Happened("question", "asked", name),
            Happened("question", "decided", name),
            Happened("command", "ok"),
            Happened("delegation", "completed"),
            billed=(line(name, Usage(10, 5, 1, 0.25, 4)), line(name, Usage(1, 1, 1, None))),
        )
    )


def read(metrics: Metrics) -> dict[str, Metric]:
    body, _ = metrics.render("")
    return {family.name: family for family in text_string_to_metric_families(body.decode())}


def values(metrics: Metrics) -> dict[tuple[str, tuple[str, ...]], float]:
    """By the name and the labels' values, in the order of the labels."""
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in read(metrics).values()
        for sample in family.samples
    }


def full() -> Metrics:
    metrics, gauges = Metrics("1.0", "all"), Gauges()
    metrics.add(gauges)
    gauges.show(Look({"database": "", "telegram": "it is away"}, BACKLOG, 0.01, 2))
    tell_all(metrics)
    metrics.lagged(0.002)
    return metrics


def test_the_table_of_metrics_has_every_name_with_its_type_and_labels_and_no_other() -> None:
    written = {
        name: (kind, frozenset(re.findall(r"`(\w+)`", shown)))
        for name, kind, shown, _ in ROW.findall(DOCUMENT.read_text(encoding="utf-8"))
    }
    found = {}
    for family in read(full()).values():
        if family.name.startswith("bough_"):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            names = {label for sample in family.samples for label in sample.labels} - {"le"}
            found[name] = (family.type, frozenset(names))
    assert written == found


def test_what_is_told_is_counted() -> None:
    found = values(full())
    assert found["bough_model_input_tokens_total", ("preset",)] == 11
    assert found["bough_model_cost_dollars_total", ("preset",)] == 0.25
    assert found["bough_model_unpriced_calls_total", ("preset",)] == 1
    assert found["bough_turns_total", ("message", "failed")] == 1
    assert found["bough_turns_running", ()] == 0
    assert found["bough_turn_duration_seconds_count", ("message",)] == 1
    assert found["bough_delegations_total", ("completed",)] == 1
    assert found["bough_commands_total", ("ok",)] == 1


def test_what_waits_is_shown_with_its_age_and_an_empty_queue_is_zero() -> None:
    found = values(full())
    assert found["bough_inbox_open", ("telegram",)] == 2
    assert found["bough_inbox_oldest_age_seconds", ("telegram",)] == 10
    assert found["bough_inbox_open", ("discord",)] == 0
    assert found["bough_inbox_oldest_age_seconds", ("discord",)] == 0
    assert found["bough_outbox_oldest_age_seconds", ("discord",)] == 600
    assert found["bough_questions_oldest_age_seconds", ("approval",)] == 900
    assert found["bough_questions_open", ("other",)] == 1
    assert found["bough_commands_running", ()] == 4
    assert found["bough_ready", ("database",)] == 1
    assert found["bough_ready", ("telegram",)] == 0


def test_a_database_that_did_not_answer_is_said_and_what_waits_in_it_is_not() -> None:
    metrics, gauges = Metrics("1.0", "all"), Gauges()
    metrics.add(gauges)
    gauges.show(Look({"database": "it does not answer"}))
    found = values(metrics)
    assert found["bough_store_up", ()] == 0
    assert not [name for name, _ in found if name.startswith(("bough_inbox", "bough_questions"))]


@given(st.lists(st.text(min_size=1), min_size=1, max_size=20))
def test_however_things_are_called_the_names_of_what_is_counted_stay_the_same(
    names: list[str],
) -> None:
    metrics = Metrics("1.0", "all")
    tell_all(metrics, "no such name")
    before = values(metrics).keys()
    for name in names:
        tell_all(metrics, f"!{name}")
    assert values(metrics).keys() == before


def test_a_usage_that_cannot_be_takes_nothing_back() -> None:
    metrics = Metrics("1.0", "all")
    metrics.committed(commit(billed=(line("parent", Usage(-5, -5, 1, -1.0, -5)),)))
    assert values(metrics)["bough_model_cost_dollars_total", ("parent",)] == 0


def test_a_delegation_that_goes_on_is_counted_once() -> None:
    metrics = Metrics("1.0", "all")
    metrics.committed(commit(Happened("delegation", "started"), Happened("delegation", "running")))
    assert [key for key in values(metrics) if key[0] == "bough_delegations_total"] == [
        ("bough_delegations_total", ("started",))
    ]


def test_two_gateways_of_a_process_count_apart() -> None:
    one, other = Metrics("1.0", "all"), Metrics("1.0", "all")
    one.throttled("telegram")
    assert ("bough_throttled_total", ("telegram",)) in values(one)
    assert ("bough_throttled_total", ("telegram",)) not in values(other)


def test_openmetrics_is_spoken_to_who_asks_for_it() -> None:
    body, content_type = full().render("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_nobody_need_listen() -> None:
    tell_all(Unobserved())


def test_tools_of_servers_are_one_name_whatever_they_are_called() -> None:
    assert labels.tool_label("read_file", "mcp:files") == "mcp"
    assert labels.tool_label("read_file", "file_read") == "read_file"
    assert labels.tool_label("git_diff", "file_read") == "git_diff"
    assert labels.tool_label("mcp", None) == "other"
