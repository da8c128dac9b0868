"""What a tour's gateway runs on: a configuration, and a workspace with three projects."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from agent.models.demo import PRICES

HERE = Path(__file__).parent
PROJECTS = HERE / "projects.yaml"
RULES = HERE / "hands.yaml"
GLOSSARY = HERE / "glossary.py"
TESTED = "tested.txt"

ALLOWED = (
    ("run_command", r"^cd \w+$"),
    ("run_command", r"^python3 -m unittest( discover -s tests/auth -t \.)?$"),
    ("glossary__*", None),
)
"""Tool, and pattern of its line: the rules that spare people a question. Here a script says what is
run, in a folder of the tour's own: a real model could do anything by the second one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tour takes place: a folder of its own, and servers on this machine."""

    folder: Path
    site: str
    """URLs."""
    search: str
    sandbox: str
    mcp: bool
    """Whether the SDK is installed."""

    @property
    def database(self) -> str:
        return f"sqlite:///{self.folder}/bough.db"

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def config(self) -> Path:
        return self.folder / "bough.toml"


def projects() -> dict[str, str]:
    """Path → text, of every file."""
    files: dict[str, str] = yaml.safe_load(PROJECTS.read_text(encoding="utf-8"))
    return files


def prepare(place: Place) -> None:
    """Write projects and configuration. OSError where that cannot be done."""
    # A gateway that is root runs commands as somebody else, who must get to the workspace.
    place.folder.chmod(0o711)
    for name, text in projects().items():
        path = place.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    place.config.write_text(configuration(place), encoding="utf-8")


def configuration(place: Place) -> str:
    """bough.toml of a tour."""
    toolsets = ["file", "terminal", "web", "memory", "schedule"]
    if place.mcp:
        toolsets.append("mcp:glossary")
    parts = [
        _section("storage", url=place.database),
        _section("tools", toolsets=toolsets, workspace=str(place.workspace), sandbox=place.sandbox),
        *(_rule(tool, match) for tool, match in ALLOWED if place.mcp or match is not None),
        _section(
            "web",
            search="searxng",
            search_url=place.search,
            allow=[place.site.removeprefix("http://")],
        ),
    ]
    if place.mcp:
        parts.append(_section("mcp.glossary", command=sys.executable, args=[str(GLOSSARY)]))
    parts += [
        _section(
            f"models.{tier}",
            model=f"scripted:{RULES}",
            input_cost=paid_in,
            output_cost=paid_out,
        )
        for tier, (paid_in, paid_out) in PRICES.items()
    ]
    return "\n".join(parts)


def _rule(tool: str, match: str | None) -> str:
    keys = {"tool": tool, "match": match, "decision": "allow"}
    return _keys("[[tools.rules]]", {key: value for key, value in keys.items() if value})


def _section(name: str, **keys: object) -> str:
    return _keys(f"[{name}]", keys)


def _keys(head: str, keys: dict[str, object]) -> str:
    # JSON's texts, numbers and lists of texts are TOML's too.
    return "\n".join([head, *(f"{key} = {json.dumps(value)}" for key, value in keys.items()), ""])
