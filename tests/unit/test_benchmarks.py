import json
from pathlib import Path

import pytest

from gateway.configuration.config import load
from tests.benchmarks.__main__ import main
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.simulation import shared
from tests.benchmarks.wire import config
from tests.stand_ins.telegram import TelegramServer


@pytest.mark.parametrize(
    ("figure", "ok"),
    [
        (Figure("time", 9.0, "ms", bar=10.0), True),
        (Figure("time", 11.0, "ms", bar=10.0), False),
        (Figure("rate", 9.0, "1/s", "at least", 10.0), False),
        (Figure("rate", 11.0, "1/s", "at least", 10.0), True),
        (Figure("shown", 1.0, "s"), None),
    ],
)
def test_a_bar_is_kept_on_its_right_side(figure: Figure, ok: bool | None) -> None:
    assert figure.ok is ok
    assert json.loads(figure.json())["ok"] is ok
    assert ("MISSED" in table([figure])) is (ok is False)


def test_a_figure_stands_beside_its_peer() -> None:
    figure = Figure("turn", 6.0, "ms", peer=2.0, peer_name="echo bot")
    assert json.loads(figure.json())["ratio"] == 3.0
    assert "2.00 ms echo bot" in table([figure])


def test_the_measured_gateway_gets_a_configuration_that_it_takes(tmp_path: Path) -> None:
    telegram = TelegramServer(token="1000:bough", port=8081)
    loaded = load(config(tmp_path, telegram), {})
    assert loaded.telegram is not None
    assert loaded.telegram.base_url == telegram.base_url
    assert loaded.models.parent is not None
    assert loaded.models.parent.model.startswith("scripted:")


@pytest.mark.parametrize(
    ("one", "other", "characters"),
    [("abc", "abd", 2), ("abc", "abc", 3), ("abc", "abcd", 3), ("x", "y", 0), ("", "y", 0)],
)
def test_what_two_requests_share_is_their_beginning(one: str, other: str, characters: int) -> None:
    assert shared(one, other) == shared(other, one) == characters


def test_an_unknown_benchmark_is_a_usage_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "speed"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "'speed' is not one of turn, " in capsys.readouterr().err
