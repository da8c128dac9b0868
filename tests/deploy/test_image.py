"""The image: what its Dockerfile promises. `make image` does its steps, and runs the outcome."""

import re
from pathlib import Path

import pytest

from tests.support.image.clean_root import in_context
from tests.support.image.dockerfile import Copy, DockerfileError, Run, Stage, read

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy/Dockerfile"
LOCKED = ROOT / "deploy/build-requirements.txt"


@pytest.fixture
def final() -> Stage:
    return read(DOCKERFILE)[-1]


def test_it_runs_as_nobody_that_the_machine_knows(final: Stage) -> None:
    assert re.fullmatch(r"[1-9]\d{4,}:[1-9]\d{4,}", final.user)


def test_signals_reach_bough_itself(final: Stage) -> None:
    assert final.entrypoint == ("bough",)
    assert final.command == ("run",)
    assert final.stop_signal == "SIGTERM"


def test_its_health_is_asked_where_it_listens(final: Stage) -> None:
    port = final.environment["BOUGH_SERVER__LISTEN"].rpartition(":")[2]
    assert final.ports == (int(port),)
    (asked,) = (word for word in final.health if "healthz" in word)
    assert f"'127.0.0.1', {port}" in asked


def test_it_writes_where_the_volume_is_and_nowhere_else(final: Stage) -> None:
    assert final.volumes == (final.folder,)


def test_everything_that_is_fetched_has_a_version_and_a_hash() -> None:
    stages = read(DOCKERFILE)
    assert all(re.search(r":\d+\.\d+\.\d+-", stage.base) for stage in stages)
    scripts = [step.script for stage in stages for step, *_ in stage.steps if isinstance(step, Run)]
    for script in scripts:
        assert not re.search(r"\b(curl|wget|apt-get|git)\b", script)
        if "pip install" in script:
            assert "--require-hashes" in script or "--offline" in script
        if "sync" in script:
            assert "--frozen" in script
    pinned = re.findall(r"^(\S+)==\S+", LOCKED.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"uv", "hatchling"} <= set(pinned)
    assert LOCKED.read_text(encoding="utf-8").count("--hash=sha256:") >= len(pinned)


def test_what_it_copies_is_there_and_nothing_that_is_secret_or_of_no_use() -> None:
    copied = [
        source
        for stage in read(DOCKERFILE)
        for step, *_ in stage.steps
        if isinstance(step, Copy) and step.stage is None
        for source in step.sources
    ]
    assert copied
    assert all((ROOT / source).exists() and in_context(source) for source in copied)
    for kept_out in (
        *(".git", ".git/config", ".venv", "bough.toml", "tests", "bough.db", "bough.db-wal"),
        *("deploy/compose/bough.toml", "deploy/compose/storage.env", "storage/test.db"),
        "gateway/__pycache__",
    ):
        assert not in_context(kept_out), kept_out


@pytest.mark.parametrize(
    "text",
    [
        "FROM a\nADD https://example.com/x /x",
        "FROM a\nCMD bough run",
        "FROM ${MISSING}",
        "RUN true",
        "FROM a\nCOPY --chmod=7 x /x",
    ],
)
def test_what_the_reader_does_not_understand_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DockerfileError):
        read(path)
