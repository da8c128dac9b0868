"""Alert rules and dashboard: what they ask for is what the gateway tells."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.programs import program, run

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy/monitoring/alerts.yaml"
DASHBOARD = ROOT / "deploy/monitoring/dashboard.json"
TESTS = Path(__file__).with_name("alerts_test.yaml")
README = (ROOT / "deploy/README.md").read_text(encoding="utf-8")
METRIC = re.compile(r"\b(?:bough|process)_[a-z_]+\b")
ALERTS: list[dict[str, Any]] = yaml.safe_load(RULES.read_text("utf-8"))["groups"][0]["rules"]


def promtool() -> str:
    return program("promtool", "prometheus")


def expressions() -> list[str]:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    return [*asked, *(alert["expr"] for alert in ALERTS)]


def told() -> dict[str, set[str]]:
    """Each metric of the table in the README, with its labels."""
    found: dict[str, set[str]] = {}
    for row in re.findall(r"^\|.*\|$", README, re.MULTILINE):
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        for name in METRIC.findall(cells[0]):
            found[name] = set(re.findall(r"[a-z]+", cells[2])) if len(cells) > 2 else set()
    for name in re.findall(r"`(process_[a-z_]+)`", README):
        found.setdefault(name, set())
    return found


def asked(expression: str) -> set[str]:
    """The metrics of an expression: no word that a function or a label has."""
    return {re.sub(r"_bucket$", "", name) for name in METRIC.findall(expression)}


def test_every_metric_that_is_asked_for_is_one_that_the_gateway_tells() -> None:
    known = told()
    if "bough_turns_total" not in known:
        pytest.skip("NOT CHECKED: deploy/README.md has no table of metrics")
    for expression in expressions():
        assert asked(expression) <= known.keys(), expression


def test_what_is_selected_by_is_a_label_of_that_metric() -> None:
    known = told()
    if "bough_turns_total" not in known:
        pytest.skip("NOT CHECKED: deploy/README.md has no table of metrics")
    for expression in expressions():
        for name, selected in re.findall(r"\b(bough_[a-z_]+)\{([^}]*)\}", expression):
            labels = set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", selected))
            allowed = known[re.sub(r"_bucket$", "", name)] | {"job", "instance", "le"}
            assert labels <= allowed, expression


def test_what_is_read_from_the_database_is_never_summed_over_processes() -> None:
    shared = re.compile(r"\bsum(?: by \([^)]*\))? ?\(bough_(?:inbox|outbox|questions)_(?:o|pend)")
    assert [each for each in expressions() if shared.search(each)] == []


def test_prometheus_takes_the_rules() -> None:
    run(promtool(), "check", "rules", str(RULES))


def test_every_alert_fires_where_it_should_and_is_silent_where_all_is_well() -> None:
    run(promtool(), "test", "rules", str(TESTS))
    tested = {
        each["alertname"]
        for case in yaml.safe_load(TESTS.read_text("utf-8"))["tests"]
        for each in case["alert_rule_test"]
        if each.get("exp_alerts")
    }
    assert tested == {alert["alert"] for alert in ALERTS}


def test_prometheus_can_read_what_the_dashboard_asks(tmp_path: Path) -> None:
    rules = [
        {"record": f"bough:panel:{number}", "expr": each.replace("$__rate_interval", "5m")}
        for number, each in enumerate(expressions())
    ]
    path = tmp_path / "panels.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run(promtool(), "check", "rules", "--lint=none", str(path))


def test_every_alert_says_what_happened_and_what_to_do() -> None:
    for alert in ALERTS:
        assert alert["labels"]["severity"] in {"critical", "warning", "info"}
        assert alert["annotations"].keys() == {"summary", "description"}
        assert f"`{alert['alert']}`" in README, alert["alert"]


def test_the_panels_of_the_dashboard_do_not_cover_one_another() -> None:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
