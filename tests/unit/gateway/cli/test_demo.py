"""What the tours of `bough demo` are made of: projects, pages, rules, a chat that may fail."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from agent.models.scripted import ScriptedModel
from gateway.cli.demo.chat_process import Chat, TourFailed, without_settings
from gateway.cli.demo.hands import MENDED, look_over
from gateway.cli.demo.local_site import PAGES, SECRET, found
from gateway.cli.demo.site_process import local_site
from gateway.cli.demo.workspace import RULES, Place, configuration, prepare, projects
from gateway.configuration.config import Config

FOLDER_OF = {
    "Debug why tests fail": "foo",
    "Fix the TypeError in api/handlers.py": "myproject",
    "Review the authentication module for security issues and fix any found": "webapp",
}


def place(folder: Path, *, mcp: bool = True) -> Place:
    site, search = "http://127.0.0.1:1", "http://127.0.0.1:2"
    return Place(folder, site, search, "bubblewrap", mcp)


def delegated() -> list[dict[str, Any]]:
    """The tasks that the parent hands over."""
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))["rules"]
    calls = [call for rule in rules for call in rule["reply"].get("tool_calls", ())]
    batches = [c["arguments"]["tasks"] for c in calls if c["name"] == "delegate_task"]
    return [task for batch in batches for task in batch]


def unittest_in(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "unittest", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stderr


def test_each_task_comes_with_a_context_and_toolsets() -> None:
    tasks = delegated()
    assert len(tasks) == 6
    assert [task["goal"] for task in tasks[:3]] == list(FOLDER_OF)
    assert all(task["context"] and task["toolsets"] for task in tasks)


def test_the_lines_that_the_tasks_name_are_in_the_projects() -> None:
    files = projects()
    failing = files["foo/test_foo.py"].splitlines()[42 - 1]
    assert "assert" in failing
    broken = files["myproject/api/handlers.py"].splitlines()[47 - 1]
    assert ".get(" in broken
    review = delegated()[2]["context"]
    for name in re.findall(r"src/auth/\w+\.py", review):
        assert f"webapp/{name}" in files


def test_one_project_passes_one_fails_one_has_an_error(tmp_path: Path) -> None:
    given = place(tmp_path)
    prepare(given)
    foo, myproject, webapp = (given.workspace / name for name in FOLDER_OF.values())
    assert "line 42" in (failed := unittest_in(foo))
    assert "FAILED (failures=1)" in failed
    assert "line 47" in (error := unittest_in(myproject))
    assert "'NoneType' object has no attribute 'get'" in error
    assert "FAILED (errors=1)" in error
    assert "\nOK" in unittest_in(webapp, "discover", "-s", "tests/auth", "-t", ".")


@pytest.mark.parametrize("mcp", [True, False])
def test_the_configuration_can_be_loaded_and_lets_no_chain_through(
    tmp_path: Path, mcp: bool
) -> None:
    config = Config.model_validate(tomllib.loads(configuration(place(tmp_path, mcp=mcp))))
    assert ("mcp:glossary" in config.tools.toolsets) is mcp
    assert all(rule.decision == "allow" for rule in config.tools.rules)
    assert all(rule.match for rule in config.tools.rules if rule.tool == "run_command")


def test_the_rules_can_be_loaded() -> None:
    ScriptedModel.load(RULES)


def test_the_search_finds_what_shares_most_words_first() -> None:
    pages = yaml.safe_load(PAGES.read_text(encoding="utf-8"))
    for goal in (task["goal"] for task in delegated()[3:]):
        first, second, *_ = found(pages, goal, "http://x")
        assert second["url"].startswith(first["url"])


def test_the_site_has_its_pages_and_tells_who_reached_what_nobody_should() -> None:
    with local_site() as site:
        with urlopen(f"{site.site}/risc-v") as page:
            linked = re.search(r'href="(http[^"]*/status)"', page.read().decode())
        assert linked is not None
        assert linked[1].startswith(site.search)
        with urlopen(f"{site.search}/search?q=quantum&format=json") as answer:
            assert json.load(answer)["results"][0]["url"].startswith(f"{site.site}/quantum")
        with urlopen(f"{site.site}/quantum/old-players") as redirected:
            assert redirected.read().decode().strip() == SECRET
        assert [json.loads(line) for line in site.end()] == [{"reached": "/status"}]


def test_what_was_not_seen_is_said_in_words(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "missing.toml")
    with pytest.raises(TourFailed, match=r"ended before this was seen: the note \(no line like"):
        chat.hear("Noted", "the note")
    chat.kill()


def test_what_the_files_tell_otherwise_fails_a_tour(tmp_path: Path) -> None:
    given = place(tmp_path)
    prepare(given)
    with local_site() as site:
        with pytest.raises(TourFailed, match=r"myproject/api/handlers\.py was not mended"):
            look_over(given, site)
        for name, mended in MENDED.items():
            (given.workspace / name).write_text(mended, encoding="utf-8")
        with pytest.raises(TourFailed, match=r"tested\.txt cannot be read: No such file"):
            look_over(given, site)
        tested = given.workspace / "tested.txt"
        tested.write_text("once\nand again\n", encoding="utf-8")
        with pytest.raises(TourFailed, match="the approved command ran 2 times"):
            look_over(given, site)
        tested.write_text("once\n", encoding="utf-8")
        with urlopen(f"{site.search}/status"), pytest.raises(TourFailed, match="was reached"):
            look_over(given, site)


def test_a_tour_takes_no_settings_from_the_environment() -> None:
    given = {"PATH": "/bin", "BOUGH_TOOLS__SANDBOX": "none"}
    given["DELEGATION_MAX_CONCURRENT_CHILDREN"] = "1"
    assert without_settings(given) == {"PATH": "/bin"}
