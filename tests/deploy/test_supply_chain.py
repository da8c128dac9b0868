"""What Bough is installed from: locked, listed, licensed, and the same bytes each time."""

import json
import os
import re
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

from agent.models.litellm.model import MISSING
from tests.support.programs import run
from tests.support.supply.licences import FILE, installed, page

ROOT = Path(__file__).parents[2]
PACKAGES = ("gateway", "adapters", "agent", "storage")
MADE_OF = ("pyproject.toml", "README.md", "LICENSE", "uv.lock", "Makefile", ".gitignore", *PACKAGES)
LOCK = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))


def uv() -> str:
    found = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
    if not Path(found).exists():
        pytest.skip("NOT CHECKED: uv is missing; make setup gives it")
    return found


def test_everything_in_the_lock_file_has_a_hash() -> None:
    own = [each["name"] for each in LOCK["package"] if "registry" not in each["source"]]
    assert own == ["bough"]
    for package in LOCK["package"]:
        files = [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
        assert all(file["hash"].startswith("sha256:") for file in files)
        assert files or package["name"] == "bough"


def test_the_page_of_licences_is_what_is_installed() -> None:
    """What only other versions of Python or systems need may stand there too."""
    shown = dict(re.findall(r"^\| `(\S+)` \| (.+?) \|", FILE.read_text("utf-8"), re.MULTILINE))
    found = installed()
    assert {name: shown.get(name) for name in found} == found, "make licences"
    assert shown.keys() <= {package["name"] for package in LOCK["package"]}
    assert FILE.read_text("utf-8") == page(shown)


def test_every_package_says_under_which_licence_it_is() -> None:
    assert [name for name, licence in installed().items() if licence == "not stated"] == []


def test_the_bill_of_materials_has_every_package_that_is_installed_with_its_hash(
    tmp_path: Path,
) -> None:
    made = tmp_path / "bough.cdx.json"
    given = ["export", "--frozen", "--quiet", "--no-dev", "--all-extras", "--format"]
    run(uv(), "--directory", str(ROOT), *given, "cyclonedx1.5", "--output-file", str(made))
    bill = json.loads(made.read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    parts = {part["name"]: part for part in bill["components"]}
    assert installed().keys() <= parts.keys()
    for part in parts.values():
        assert part["purl"].startswith("pkg:pypi/")
        assert all(file["hashes"] for file in part.get("externalReferences", ()))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two, from two copies that differ in their folder, their times and what may read them."""
    made: list[Path] = []
    for number, mask in enumerate((0o022, 0o077)):
        folder = tmp_path_factory.mktemp(f"copy{number}") / f"bough-{number}"
        folder.mkdir()
        for name in MADE_OF:
            _copy(ROOT / name, folder / name, mask)
        (folder / "deploy").mkdir()
        locked = folder / "deploy/build-requirements.txt"
        shutil.copy(ROOT / "deploy/build-requirements.txt", locked)
        (folder / "bough.db").write_text("not for the wheel")
        run("make", "-C", str(folder), "wheel", f"UV={uv()}")
        made += (folder / "dist").glob("*.whl")
    return made


def _copy(source: Path, target: Path, mask: int) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)
    for path in (target, *target.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)
        os.utime(path, (1_000_000_000 + mask,) * 2)


def test_a_wheel_is_the_same_bytes_each_time(wheels: list[Path]) -> None:
    one, other = wheels
    assert one.name == other.name
    assert one.read_bytes() == other.read_bytes()


def test_a_wheel_holds_the_four_packages_typed_and_nothing_else(wheels: list[Path]) -> None:
    with zipfile.ZipFile(wheels[0]) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if re.search(r"\.(db|toml|env|pyc|pem|key)$|test", name)]


@pytest.fixture(scope="module")
def fresh(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment in which nothing but the wheel is, and what it needs."""
    folder = tmp_path_factory.mktemp("fresh")
    locked = folder / "locked.txt"
    given = ["export", "--frozen", "--quiet", "--no-dev", "--no-emit-project"]
    run(uv(), "--directory", str(ROOT), *given, "--output-file", str(locked))
    run(uv(), "venv", "--quiet", str(folder / "venv"))
    python = str(folder / "venv/bin/python")
    install = [uv(), "pip", "install", "--quiet", "--python", python]
    run(*install, "--require-hashes", "-r", str(locked))
    run(*install, "--no-deps", str(wheels[0]))
    return folder / "venv/bin"


def bough(fresh: Path, folder: Path, *words: str) -> tuple[int, str]:
    environment = {"PATH": f"{fresh}:/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(
        [fresh / "bough", *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def test_a_wheel_in_a_fresh_environment_gives_the_tour_and_without_litellm_a_doctor(
    fresh: Path, tmp_path: Path
) -> None:
    status, said = bough(fresh, tmp_path, "demo")
    assert (status, "Costs by tier" in said) == (0, True), said
    (tmp_path / "bough.toml").write_text(
        '[models.parent]\nmodel = "openai/gpt-5-nano"\napi_key = "sk-nobody-takes-this-one"\n'
    )
    gone = ("litellm", "openai", "tiktoken", "tokenizers", "huggingface-hub")
    run(uv(), "pip", "uninstall", "--quiet", "--python", str(fresh / "python"), *gone)
    status, said = bough(fresh, tmp_path, "doctor")
    assert (status, MISSING in said) == (1, True), said
