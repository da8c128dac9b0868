"""What the documents promise is what the program has: keys, commands, examples, targets."""

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from adapters.platforms import MEGABYTE, PLATFORMS
from agent.delegation.tables.parse import MAX_CONDITIONS, parse_table
from agent.delegation.tables.source import MAX_BYTES
from agent.models.demo import RULES
from agent.models.scripted import ScriptedModel
from agent.settings import ModelConfig
from agent.tools.memory.keeping import NOTE_LIMIT, NOTES_LIMIT, TEXT_LIMIT
from agent.tools.memory.opening import OPENING_BYTES
from gateway.access.announcing import INVITATION
from gateway.access.denials import NOT_YOURS
from gateway.cli import main
from gateway.cli.parser import parser
from gateway.commands.actions import ACTIONS
from gateway.commands.registry import ALIASES, COMMANDS
from gateway.commands.sessions.transfer import LARGEST_IN
from gateway.commands.tree.fan import COUNTS
from gateway.commands.tree.labels import NAME_LIMIT
from gateway.commands.tree.tree import PICTURED
from gateway.configuration.config import Config, load
from gateway.errors import ConfigError
from gateway.inbound.press_check import DENIED, UNKNOWN
from gateway.questions.deciders import UNDECIDED
from gateway.views.sessions import LONGEST_TITLE
from storage.search.query import LONGEST_RESULT, LONGEST_TEXT, MOST_WORDS
from storage.transfer.contents import tables

ROOT = Path(__file__).parents[2]
FOLDERS = ("gateway", "adapters", "agent", "storage", "deploy", "tests/benchmarks")
READMES = ("README.md", *(f"{folder}/README.md" for folder in FOLDERS))
DOCUMENTS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (*READMES, "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md")
}
ALL = "\n".join(DOCUMENTS[name] for name in READMES)
GATEWAY = "gateway/README.md"
LONGEST = 200
"""Lines of README.md."""


MARKS: dict[Any, str] = {dict: ".NAME", tuple: "[]"}
"""How the documents write the keys of what is in a mapping or a list."""


PERMISSIONS = {
    "View Channels": 10,
    "Send Messages": 11,
    "Attach Files": 15,
    "Read Message History": 16,
    "Send Messages in Threads": 38,
}
"""Discord's names, and which bit each is."""


def section(heading: str, document: str = GATEWAY) -> str:
    """The text below a heading, to the next heading of its level or above."""
    text = DOCUMENTS[document]
    found = re.search(rf"^(#+) {re.escape(heading)}\n", text, re.MULTILINE)
    assert found is not None, f"{document} has no heading {heading!r}"
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end is not None else rest


def rows(heading: str) -> list[list[str]]:
    """The cells of all tables below a heading, without the heads."""
    lines = re.findall(r"^\| `.*\|$", section(heading), re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", ALL, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def inner(annotation: Any) -> tuple[str, type[BaseModel]] | None:
    """How the documents mark the way to the section in such a value, and the section; or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "", annotation
    mark = MARKS.get(get_origin(annotation), "")
    for argument in get_args(annotation):
        if (found := inner(argument)) is not None:
            return mark + found[0], found[1]
    return None


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every key with its field. The keys of a model have a table of their own."""
    for name, field in model.model_fields.items():
        found = inner(field.annotation)
        if found is None:
            yield f"{prefix}{name}", field
            continue
        mark, below = found
        if below is ModelConfig or mark == "[]":
            yield f"{prefix}{name}{mark.removesuffix('[]')}", field
        if below is not ModelConfig:
            yield from keys(below, f"{prefix}{name}{mark}.")


KEYS = dict(keys(Config))
MODEL_KEYS = dict(keys(ModelConfig))


@pytest.mark.parametrize(
    ("heading", "known"), [("Every key", KEYS), ("Keys of a model", MODEL_KEYS)]
)
def test_the_table_of_keys_has_every_key_and_no_other(
    heading: str, known: dict[str, FieldInfo]
) -> None:
    assert sorted(row[0].strip("`") for row in rows(heading)) == sorted(known)


@pytest.mark.parametrize(
    ("key", "default", "field"),
    [
        pytest.param(key, row[1], known[key], id=key)
        for heading, known in (("Every key", KEYS), ("Keys of a model", MODEL_KEYS))
        for row in rows(heading)
        if (key := row[0].strip("`")) in known
    ],
)
def test_the_default_of_a_key_is_the_one_in_the_table(
    key: str, default: str, field: FieldInfo
) -> None:
    if not default.startswith("`"):
        empty = "required" if field.is_required() else "none"
        assert default == empty or key.startswith("models.")
        return
    given = tomllib.loads(f"value = {default.strip('`')}")["value"]
    kind: Any = Annotated[field.annotation, field]
    assert TypeAdapter(kind).validate_python(given) == field.default


def test_every_tier_is_in_the_table_with_what_stands_in_for_it() -> None:
    defaults = {row[0].strip("`"): row[1] for row in rows("Every key")}
    assert defaults["models.parent"] == "the demo model"
    assert defaults["models.worker"] == defaults["models.overseer"] == "the parent's"
    assert defaults["models.judge"] == "the worker's"


def test_every_chat_command_is_listed_and_no_other() -> None:
    typed = [name for name, command in COMMANDS.items() if command.listed]
    assert [row[0].strip("`/").split()[0] for row in rows("Chat commands")] == typed
    for alias in ALIASES:
        assert f"`/{alias}`" in section("Chat commands")


def test_a_command_is_listed_with_an_argument_where_it_takes_one() -> None:
    for row in rows("Chat commands"):
        name, *arguments = row[0].strip("`/").split()
        assert bool(arguments) == bool(COMMANDS[name].spec.argument)


def test_nothing_that_buttons_alone_do_is_shown_as_a_command_to_type() -> None:
    unlisted = [name for name, command in COMMANDS.items() if not command.listed]
    for name in [*unlisted, *ACTIONS]:
        assert re.search(rf"(?<!\w)/{name}\b", ALL) is None


def choices(of: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands below a parser, by name."""
    groups = [a for a in of._actions if isinstance(a, argparse._SubParsersAction)]
    return {name: command for group in groups for name, command in group.choices.items()}


def options(of: argparse.ArgumentParser) -> set[str]:
    found = {option for action in of._actions for option in action.option_strings}
    return found - {"-h", "--help"}


def test_every_command_of_the_command_line_is_listed_and_no_other() -> None:
    names = [f"bough {name}" for name in choices(parser())]
    inner = [
        f"bough {group} {name}"
        for group in ("sessions", "people", "db")
        for name in choices(choices(parser())[group])
    ]
    listed = [row[0].strip("`") for row in rows("Command line")]
    assert [re.sub(r" [^a-z].*", "", row) for row in listed] == names + inner


@pytest.mark.parametrize(
    ("group", "heading", "name"),
    [
        (group, heading, name)
        for group, heading in (("sessions", "Sessions"), ("people", "People"), ("db", "Databases"))
        for name in choices(choices(parser())[group])
    ],
)
def test_a_command_of_a_group_is_listed_with_all_that_it_takes(
    group: str, heading: str, name: str
) -> None:
    """In the notation of argparse's usage: what need not be given stands in brackets."""
    command = choices(choices(parser())[group])[name]
    taken = set()
    for action in command._actions:
        if set(action.option_strings) & (options(parser()) | {"-h"}):
            continue
        written = " ".join([*action.option_strings, str(action.metavar or "")]).strip()
        taken.add(written if action.required else f"[{written}]")
    (cell,) = [row[0] for row in rows(heading) if row[0].startswith(f"`bough {group} {name}")]
    words = cell.strip("`").removeprefix(f"bough {group} {name}").strip()
    assert set(re.findall(r"\[[^\]]+\]|--\w+ \w+|\w+", words)) == taken


def test_the_options_and_exit_statuses_are_named() -> None:
    text = section("Command line")
    for option in options(parser()):
        assert f"{option}" in text
    for status in (main.OK, main.FAILURE, main.USAGE_FAULT):
        assert f"\n| {status} | " in text


def test_the_example_configuration_can_be_loaded() -> None:
    config = load(ROOT / "deploy" / "bough.example.toml", {})
    assert config.telegram is not None
    assert config.discord is not None


@pytest.mark.parametrize("text", blocks("toml"))
def test_every_toml_block_can_be_loaded(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bough.toml"
    path.write_text(filled_in(text), encoding="utf-8")
    assert load(path, {}) != Config()


def filled_in(text: str) -> str:
    """With numbers in the place of the words that stand for them: a telegram:YOUR_NUMBER."""
    return PLACEHOLDER.sub(r"\g<1>7", text)


PLACEHOLDER = re.compile(r"\b((?:telegram|discord):(?:user:)?)[A-Z][A-Z_]*\b")


@pytest.mark.parametrize("text", [text for text in blocks("toml") if PLACEHOLDER.search(text)])
def test_an_example_is_refused_until_numbers_are_put_into_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bough.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"is not (a number|\"telegram:CHAT\")"):
        load(path, {})


SHELL = tuple(text for language in ("sh", "toml") for text in blocks(language))
LIVE = re.compile(r"\b(?:telegram|discord):(?:user:)?-?[0-9]+")
"""People and chats that there are, or may be one day."""


def test_no_example_names_anybody() -> None:
    """Copied as it is, it would give a stranger rights, or send them what is private."""
    files = [path for path in (ROOT / "deploy").rglob("*") if path.suffix not in (".md", ".svg")]
    texts = {
        str(path): path.read_text("utf-8") for path in files if path.suffix not in (".png", "")
    }
    shown = {text[:40]: text for text in SHELL if "http://127.0.0.1:8081" not in text}  # a stand-in
    for name, text in {**texts, **shown}.items():
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        assert not LIVE.findall("\n".join(lines)), name


def test_the_environment_variables_that_are_shown_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^(BOUGH_\w+)=(.*)$", section("Environment variables"), re.MULTILINE)
    config = load(environ={name: filled_in(value.strip("'")) for name, value in lines})
    assert config.access.owners == ("telegram:7", "discord:7")
    assert config.models.presets["cheap"].model == "openai/gpt-5-nano"
    assert config.delegation.max_escalation_depth == 1
    assert config.escalation.levels[0].after == 300


@pytest.mark.parametrize("text", blocks("yaml"))
def test_every_yaml_block_is_a_table_or_a_script(tmp_path: Path, text: str) -> None:
    if not isinstance(yaml.safe_load(text), dict):
        assert parse_table(text, require_default=True).conditions
        return
    path = tmp_path / "mail.yaml"
    path.write_text(text, encoding="utf-8")
    ScriptedModel.load(path)


def test_the_table_in_the_script_is_the_one_that_is_explained() -> None:
    table, script = blocks("yaml")
    calls = [
        call["arguments"]
        for rule in yaml.safe_load(script)["rules"]
        for call in rule["reply"].get("tool_calls", ())
        if call["name"] == "delegate_task"
    ]
    assert [parse_table(call["branch_table"]) for call in calls] == [parse_table(table)]


def test_the_invitation_to_discord_asks_for_what_is_listed() -> None:
    wanted = re.search(r"The permissions are: ([^.]*)\.", ALL)
    asked = re.search(r"&permissions=(\d+)", ALL)
    assert wanted is not None
    assert asked is not None
    names = [" ".join(name.split()) for name in wanted[1].split(",")]
    assert sum(1 << PERMISSIONS[name] for name in names) == int(asked[1])


def test_what_is_quoted_is_what_the_program_says() -> None:
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))["rules"]
    hello = next(r["reply"]["text"] for r in rules if "hello" in r["when"].get("last", ""))
    shown = " ".join(ALL.split())
    assert f"bough> {hello.replace('**', '')} you>" in shown
    assert INVITATION.partition("{code}")[0].strip() in ALL
    for sentence in (DENIED, UNDECIDED, UNKNOWN, NOT_YOURS):
        assert f"`{re.split('[.:]', sentence)[0]}`" in ALL


def test_the_limits_are_those_of_the_code() -> None:
    out = {
        name: platform.largest_upload // MEGABYTE
        for name, platform in PLATFORMS.items()
        if platform.largest_upload is not None
    }
    limits = section("Limits", "storage/README.md")
    for shown in (
        f"{NAME_LIMIT:,} characters; {LONGEST_TITLE} |",
        f"| {COUNTS[-1]} answers |",
        f"| {LARGEST_IN // MEGABYTE} MB,",
        f"| {out['telegram']} MB on Telegram, {out['discord']} MB on Discord;",
        f"| {MOST_WORDS} words; the first {LONGEST_TEXT:,} characters of a message, "
        f"{LONGEST_RESULT:,} of a tool's result;",
        f"| {PICTURED} straight pieces,",
        f"| {NOTES_LIMIT} of {NOTE_LIMIT} characters, {TEXT_LIMIT:,} characters in all |",
    ):
        assert shown in limits
    memory = " ".join(section("Memory", "agent/README.md").split())
    assert f"{NOTE_LIMIT} characters for a note; {NOTES_LIMIT} notes and {TEXT_LIMIT:,}" in memory
    assert f"at most {OPENING_BYTES:,} bytes" in memory
    table = section("Delegation along a branch table", "agent/README.md")
    assert f"at most {MAX_CONDITIONS} conditions and {MAX_BYTES:,} bytes" in table


def test_every_table_is_said_to_be_bounded() -> None:
    told = section("What is kept, and how long", "storage/README.md")
    cells = re.findall(r"^\| (`[a-z_`, ]+`) \|", told, re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted({*map(str, tables()), "blobs", "search_words"})


def test_the_first_page_is_short() -> None:
    assert len(DOCUMENTS["README.md"].splitlines()) <= LONGEST


def test_the_first_page_leads_to_every_other() -> None:
    targets = set(re.findall(r"\]\(([^)#]+)", DOCUMENTS["README.md"]))
    assert DOCUMENTS.keys() - targets == {"README.md"}


def test_every_command_of_the_first_page_can_be_typed() -> None:
    cells = re.findall(r"^\| (`/.*?) \|", section("Ten commands", "README.md"), re.MULTILINE)
    assert len(cells) == 10
    for name in re.findall(r"`/(\w+)", " ".join(cells)):
        assert COMMANDS[name].listed


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_make_target_exists(name: str) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    code = " ".join(re.findall(r"```.*?```|`[^`\n]+`", DOCUMENTS[name], re.DOTALL))
    assert set(re.findall(r"\bmake (?:-C \S+ )?(\w+)", code)) <= targets


def anchors(text: str) -> set[str]:
    """What a forge makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_leads_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", DOCUMENTS[name]):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_table_has_the_cells_of_its_head(name: str) -> None:
    for table in re.findall(r"(?:^\|.*\|\n)+", DOCUMENTS[name], re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1, table


PACKAGES = [
    path.parent
    for layer in ("gateway", "adapters", "agent", "storage")
    for path in (ROOT / layer).rglob("__init__.py")
    if "migrations" not in path.parts
]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_package_says_what_lives_there(package: Path) -> None:
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    assert 1 <= len(said.splitlines()) <= 9
    here = {path.stem for path in package.iterdir()} | {path.name for path in PACKAGES}
    assert set(re.findall(r"`(\w+)`", said)) - here <= {"bough"}


def test_every_file_that_is_named_exists() -> None:
    files = r"`((?:gateway|adapters|agent|storage|tests|benchmarks|deploy)/[\w./]*)`"
    named = {path for text in DOCUMENTS.values() for path in re.findall(files, text)}
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_each_promise_names_a_test_that_is_there() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promised = text.partition("## What is promised")[2].partition("\n## ")[0]
    rows = [line for line in promised.splitlines() if line.startswith("| ")][1:]
    tests = [re.findall(r"`(tests/[\w/]+\.py)`", row) for row in rows]
    assert len(rows) > 25 and all(tests)
    assert [name for names in tests for name in names if not (ROOT / name).is_file()] == []
