"""What doctor says about children, budgets, fallbacks and keys, before they cost anything."""

import asyncio
import sys
import tomllib
import venv
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.doctor import Finding, findings
from gateway.configuration.config import Config
from gateway.configuration.secret_values import secrets_of
from gateway.processes.shared_workspace import SharedWorkspace
from gateway.running.own_bots import claim
from storage.records.entries import SessionDraft, SessionKind
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.stand_ins.model import ModelServer
from tests.stand_ins.web import Site, search_service
from tests.support.processes import shows_that_it_lives
from tests.support.sandboxes import need_bubblewrap
from tests.support.stores import make_database

PRICED = {"model": "demo", "input_cost": 1e-6, "output_cost": 1e-6}


async def found(folder: Path, subject: str, **sections: Any) -> list[Finding]:
    if not (folder / "bough.db").exists():
        make_database(folder / "bough.db")
    config = {"storage": {"url": f"sqlite:///{folder}/bough.db"}} | sections
    all_found = [finding async for finding in findings(Config.model_validate(config))]
    return [finding for finding in all_found if finding.subject.startswith(subject)]


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ({}, "worst case 3 children"),
        ({"max_spawn_depth": 3}, "worst case 3 × 3 × 3 = 27 children"),
        ({"max_spawn_depth": 2, "max_concurrent_children": 5}, "5 × 5 = 25 children"),
        ({"max_spawn_depth": 3, "orchestrator_enabled": False}, "worst case 3 children"),
    ],
)
async def test_the_worst_case_number_of_children_is_stated(
    tmp_path: Path, section: dict[str, Any], text: str
) -> None:
    (finding,) = await found(tmp_path, "delegation", delegation=section)
    assert finding.ok
    assert text in finding.text


async def test_a_port_of_another_program_is_a_fault_and_one_of_bough_is_none(
    tmp_path: Path,
) -> None:
    answers = [b"HTTP/1.1 404 Not Found\r\n\r\n", b'HTTP/1.1 200 OK\r\n\r\n{"alive": true}']

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answers.pop(0))
        writer.close()

    there = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = there.sockets[0].getsockname()[1]
    async with there:
        section = {"listen": f"127.0.0.1:{port}"}
        (other,) = await found(tmp_path, "server", server=section)
        assert not other.ok
        assert "change [server] listen, or end the program that is there" in other.text
        (ours,) = await found(tmp_path, "server", server=section)
        assert ours.ok
    (free,) = await found(tmp_path, "server", server=section)
    assert free.ok
    assert free.text == f"127.0.0.1, port {port} is free"
    assert await found(tmp_path, "server") == []


async def test_a_worker_that_is_dearer_than_the_parent_is_a_fault(tmp_path: Path) -> None:
    models = {"parent": PRICED, "worker": PRICED | {"output_cost": 1e-5}}
    (finding,) = await found(tmp_path, "models.worker", models=models)
    assert not finding.ok
    assert "delegation.allow_dearer" in finding.text
    allowed = {"allow_dearer": True}
    assert await found(tmp_path, "models.worker", models=models, delegation=allowed) == []
    assert await found(tmp_path, "models.worker", models={"parent": PRICED}) == []


async def test_a_budget_without_prices_is_a_fault(tmp_path: Path) -> None:
    models = {"parent": PRICED, "presets": {"cheap": {"model": "demo", "api_base": "http://x"}}}
    (finding,) = await found(tmp_path, "budgets", models=models, budgets={"day": 1.0})
    assert not finding.ok
    assert finding.text.startswith("cheap: demo has no input_cost and output_cost")


async def test_a_budget_too_small_for_a_single_call_is_a_fault(tmp_path: Path) -> None:
    budgets = {"day": 1.0, "person_day": 0.001}
    (finding,) = await found(tmp_path, "budgets", models={"parent": PRICED}, budgets=budgets)
    assert not finding.ok
    assert finding.text.startswith("budgets.person_day is too small for a single call of demo")


async def test_budgets_with_prices_are_well(tmp_path: Path) -> None:
    (finding,) = await found(
        tmp_path, "budgets", models={"parent": PRICED}, budgets={"conversation_day": 1.0}
    )
    assert finding.ok


async def test_without_budgets_nothing_is_said_about_them(tmp_path: Path) -> None:
    assert await found(tmp_path, "budgets", models={"parent": {"model": "demo"}}) == []


async def test_a_fallback_to_the_model_itself_is_a_fault(tmp_path: Path) -> None:
    models = {"parent": {"model": "demo", "fallback": ["worker"]}}
    (finding,) = await found(tmp_path, "fallback", models=models)
    assert not finding.ok
    assert "parent" in finding.text


async def test_every_key_of_a_model_is_tried(tmp_path: Path) -> None:
    async with ModelServer(api_key="sk-the-good-key") as server:
        keys = ["sk-the-bad-key", "sk-the-good-key"]
        parent = {"model": "openai/m", "api_base": server.url, "api_keys": keys}
        tried = await found(tmp_path, "model of", models={"parent": parent})
    assert [finding.ok for finding in tried] == [False, True]
    assert "parent (key 1 of 2)" in tried[0].subject
    assert not any(key in finding.text for key in keys for finding in tried)


async def test_a_database_that_is_not_there_is_a_fault_and_none_is_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/none.db"
    (finding,) = await found(tmp_path, "database", storage={"url": url})
    assert not finding.ok
    assert finding.text.startswith(f"there is no database of Bough at {url}, and none was made.")
    assert "--env-file FILE" in finding.text
    assert list(tmp_path.glob("none.db*")) == []


async def test_a_database_of_another_bot_is_a_fault(tmp_path: Path) -> None:
    make_database(tmp_path / "bough.db")
    store = await SqlStore.open(f"sqlite:///{tmp_path}/bough.db")
    await store.run(partial(claim, bots={"discord": "123"}))
    await store.close()
    for token, said in (("NDU2.Gabc.x", ["the bot 456"]), ("MTIz.Gxyz.y", [])):
        listed = await found(
            tmp_path, "database", discord={"token": token, "api_base": "http://127.0.0.1:9"}
        )
        faults = [finding.text for finding in listed if not finding.ok]
        assert len(faults) == len(said)
        assert all(words in text for words, text in zip(said, faults, strict=True))
        assert all("bough db adopt" in text for text in faults)


async def test_doctor_says_which_database_it_is_and_that_it_can_be_written(
    tmp_path: Path, postgres_url: str
) -> None:
    (finding,) = await found(tmp_path, "database")
    assert (finding.ok, finding.text) == (True, f"sqlite:///{tmp_path}/bough.db can be written")
    url = postgres_url.replace("bough@", "bough:hunter2@")
    (finding,) = await found(tmp_path, "database", storage={"url": url})
    assert finding.ok
    assert finding.text.startswith("PostgreSQL database bough_")
    assert "hunter2" not in finding.text


async def test_a_database_server_that_is_away_is_a_fault(tmp_path: Path) -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/bough"
    (finding,) = await found(tmp_path, "database", storage={"url": url})
    assert not finding.ok
    assert "PostgreSQL database bough at 127.0.0.1:1" in finding.text
    assert "see that the server runs" in finding.text
    assert "hunter2" not in finding.text


def test_the_password_of_a_database_is_a_secret() -> None:
    for url in ("postgresql://me:hu%40ter2@host/bough", "postgresql:///bough?password=hu%40ter2"):
        config = Config.model_validate({"storage": {"url": url}})
        assert "hu@ter2" in secrets_of(config)
        assert "ter2" not in repr(config)


async def test_whether_the_search_answers_is_said(tmp_path: Path) -> None:
    tools = {"toolsets": ["web"]}
    assert await found(tmp_path, "web") == []
    (finding,) = await found(tmp_path, "web", tools=tools)
    assert finding.ok
    assert "[web] search" in finding.text
    hits = [{"title": "a", "url": "https://a.example/", "snippet": "b"}]
    async with Site({"*": search_service("brave", hits, "key-0123456789")}) as site:
        web = {"search": "brave", "search_url": site.url, "search_key": "key-0123456789"}
        (finding,) = await found(tmp_path, "web", tools=tools, web=web)
        assert (finding.ok, finding.text) == (True, "brave answers, with a result")
        (finding,) = await found(tmp_path, "web", tools=tools, web=web | {"search_key": "wrong"})
        assert not finding.ok
        assert "the key was refused (401)" in finding.text


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ({"toolsets": ["terminal", "file"]}, "calls need approval (terminal)"),
        ({"rules": [{"tool": "write_file", "decision": "ask"}]}, "a rule of tools.rules"),
        ({"toolsets": ["terminal"], "approvers": ["telegram:1"]}, ""),
        ({"toolsets": ["file", "web"]}, ""),
    ],
)
async def test_approvals_that_nobody_can_give_are_a_fault(
    tmp_path: Path, tools: dict[str, Any], told: str
) -> None:
    telegram = {"token": "1:token", "base_url": "http://127.0.0.1:9/bot"}
    access = {"pairing": False}
    faults = await found(tmp_path, "tools", telegram=telegram, tools=tools, access=access)
    assert [told in finding.text and not finding.ok for finding in faults] == [True] * bool(told)


async def test_an_escalation_model_that_is_none_is_told_what_may_have_been_meant(
    tmp_path: Path,
) -> None:
    models = {"parent": PRICED, "presets": {"careful": PRICED}}
    (finding,) = await found(
        tmp_path, "escalation_model", models=models, delegation={"escalation_model": "carefull"}
    )
    assert finding.text.endswith("the overseer is used. Did you mean careful?")


def shown_project() -> dict[str, Any]:
    """The section that the README shows for a project."""
    text = Path("gateway/README.md").read_text(encoding="utf-8")
    block = text.split("### A project as the workspace")[1].split("```toml\n")[1].split("```")[0]
    return tomllib.loads(block)


async def test_the_section_that_is_shown_for_a_project_works(tmp_path: Path) -> None:
    need_bubblewrap()
    base, project = Path(sys.base_prefix).resolve(), tmp_path / "app"
    venv.create(project / ".venv", symlinks=True)
    tools = shown_project()["tools"]
    assert (tools["workspace"], tools["read_only"]) == ("/srv/app", ["/opt/python"])
    given = tools | {"workspace": str(project), "read_only": [str(base)]}
    lines = await found(tmp_path, "commands", tools=given)
    assert lines and all(line.ok for line in lines)
    assert f"tools.read_only: {base}; tools.environment: PYTHONDONTWRITEBYTECODE, " in lines[0].text
    assert "Bough for Ada" not in lines[0].text
    assert "runs: Python 3" in lines[-1].text


async def test_a_secret_that_is_too_short_to_be_hidden_is_named(tmp_path: Path) -> None:
    short = {"search": "brave", "search_key": "abc"}
    (finding,) = await found(tmp_path, "secrets", web=short)
    assert (finding.ok, "abc" in finding.text) == (False, False)
    assert "web.search_key: too short to be taken out of the log" in finding.text
    assert await found(tmp_path, "secrets", web=short | {"search_key": "abcdef"}) == []


async def test_a_workspace_that_other_workers_do_not_use_is_a_fault(
    tmp_path: Path, postgres_url: str
) -> None:
    def sections(name: str) -> dict[str, Any]:
        tools = {"toolsets": ["file"], "workspace": f"{tmp_path}/{name}/{{session}}"}
        return {"storage": {"url": postgres_url}, "tools": tools}

    (finding,) = await found(tmp_path, "workspace", **sections("a"))
    assert finding == Finding("workspace", True, f"{tmp_path}/a is not there yet")
    store = await SqlStore.open(postgres_url)
    await shows_that_it_lives(store)
    worker = SharedWorkspace.of(Config.model_validate(sections("a")), store)
    assert worker is not None
    await worker.claim()
    (tmp_path / "b").mkdir()
    (same,) = await found(tmp_path, "workspace", **sections("a"))
    (other,) = await found(tmp_path, "workspace", **sections("b"))
    await store.close()
    assert (same.ok, other.ok) == (True, False)
    assert "put [tools] workspace on a volume that all worker hosts share" in other.text
    assert list((tmp_path / "b").iterdir()) == []


async def test_who_may_decide_and_never_wrote_to_the_bot_is_named(tmp_path: Path) -> None:
    access = {"owners": ["telegram:1", "telegram:2", "telegram:*", "discord:3"]}
    telegram = {"token": "1:a", "base_url": "http://127.0.0.1:9/bot"}

    def wrote(tx: Transaction) -> None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT))
        tx.directory.bind("telegram:2", session.id)

    store = await SqlStore.open(f"sqlite:///{tmp_path}/bough.db")
    await store.run(wrote)
    await store.close()
    (finding,) = await found(tmp_path, "approvers", access=access, telegram=telegram)
    assert finding.ok and finding.warns
    assert finding.text.startswith("telegram:1 never wrote to the bot in private")
    assert await found(tmp_path, "approvers", access=access) == []
