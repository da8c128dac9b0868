"""What of the machine commands are shown besides: what never is, and that it cannot be changed."""

import os
import socket
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.tools.files.workspace import Missing, WorkspaceError
from agent.tools.terminal.sandbox import shown as looking
from agent.tools.terminal.sandbox.place import prepare, workspaces
from agent.tools.terminal.sandbox.shown import shown
from tests.support.sandboxes import confined, ran, ran_as, unconfined

BASE = Path(sys.base_prefix).resolve()
"""Where the Python is that runs these tests."""


def no_workspace(_: Path) -> bool:
    return False


@pytest.fixture
def toolchain(tmp_path: Path) -> Path:
    folder = tmp_path / "toolchain"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "tool").write_text("#!/bin/sh\necho the tool runs\n")
    (folder / "bin" / "tool").chmod(0o755)
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspaces" / "7"
    folder.mkdir(parents=True)
    return folder


def refused(path: Path, secret: tuple[Path, ...] = ()) -> str:
    with pytest.raises(WorkspaceError) as error:
        shown([path], secret, no_workspace)
    return str(error.value)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/", "is, or holds, /boot"),
        ("/etc", "configuration and keys"),
        ("/etc/ssl/private", "configuration and keys"),
        ("/proc/self/environ", "processes of the machine"),
        ("/sys/kernel", "devices of the machine"),
        ("/dev", "devices"),
        ("/run", "sockets and secrets"),
        ("/var/run", "sockets and secrets"),
        ("/var/log", "logs"),
        ("/var", "is, or holds, /var/backups"),
        ("/root", "is a folder of the system"),
        ("/home", "is a folder of the system"),
        ("/tmp", "is a folder of the system"),
        ("/opt", "is a folder of the system"),
    ],
)
def test_no_folder_of_the_system_is_shown(path: str, why: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"there is no {path} here")
    said = refused(Path(path))
    assert why in said and "never shown to commands" in said


@pytest.mark.parametrize(
    "name",
    [".ssh", ".gnupg", ".aws", ".config/gcloud", ".kube", ".docker", ".netrc", ".env", ".npmrc"],
)
def test_no_folder_with_keys_is_shown_nor_what_is_below_one(tmp_path: Path, name: str) -> None:
    key = tmp_path / name / "deep" / "key"
    key.parent.mkdir(parents=True)
    key.write_text("SECRET")
    for path in (tmp_path / name, key.parent, key):
        assert name.split("/")[0] in refused(path)


@pytest.mark.parametrize(
    "name", [".ssh", ".netrc", "id_ed25519", ".git-credentials", "credentials.toml", "secrets.env"]
)
def test_no_folder_is_shown_that_holds_keys_somewhere(toolchain: Path, name: str) -> None:
    deep = toolchain / "a" / "b"
    deep.mkdir(parents=True)
    (deep / name).write_text("SECRET")
    assert f"holds {deep / name}, where keys are kept" in refused(toolchain)


def test_a_whole_home_is_not_shown_and_neither_is_what_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "people" / "ann"
    (home / "toolchain").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    assert f"the home {home}" in refused(home)
    assert f"the home {home}" in refused(home.parent)
    assert shown([home / "toolchain"], (), no_workspace)[0].real == home / "toolchain"


def own_files(folder: Path) -> tuple[Path, ...]:
    folder.mkdir()
    for name in ("bough.toml", "bough.db", "bough.db-wal"):
        (folder / name).write_text("SECRET")
    (folder / "bough.db.blobs").mkdir()
    (folder / "notes.txt").write_text("x")
    return (folder / "bough.toml", folder / "bough.db")


@pytest.mark.parametrize(
    "name", ["", "..", "bough.toml", "bough.db", "bough.db-wal", "bough.db.blobs", "notes.txt"]
)
def test_the_gateways_own_files_are_not_shown(tmp_path: Path, name: str) -> None:
    secret = own_files(tmp_path / "gateway")
    assert "of the gateway" in refused((tmp_path / "gateway" / name).resolve(), secret)


@pytest.mark.parametrize("name", ["bough.toml", "bough.db", "bough.db-wal"])
def test_the_gateways_own_files_are_not_shown_under_another_name(
    tmp_path: Path, toolchain: Path, name: str
) -> None:
    secret = own_files(tmp_path / "gateway")
    other = toolchain / "harmless"
    os.link(tmp_path / "gateway" / name, other)
    assert "under another name" in refused(toolchain, secret)
    assert "under another name" in refused(other, secret)


def test_a_link_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    secret = own_files(tmp_path / "gateway")
    link, way = tmp_path / "harmless", tmp_path / "way"
    link.symlink_to(tmp_path / "gateway")
    way.symlink_to(tmp_path)
    assert f"(which is {tmp_path / 'gateway'})" in refused(link, secret)
    assert "of the gateway" in refused(way / "gateway" / "bough.toml", secret)
    link.unlink()
    link.symlink_to(link)
    assert "circle" in refused(link)


def test_no_socket_is_shown_wherever_it_is(
    toolchain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(toolchain)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("bin/docker.sock")
        assert "the socket" in refused(toolchain)
        assert "the socket" in refused(toolchain / "bin" / "docker.sock")
    Path("bin/docker.sock").unlink()
    os.mkfifo("bin/pipe")
    assert "neither a file nor a folder" in refused(toolchain)


def test_a_folder_with_too_many_files_is_refused(
    toolchain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "MOST_SHOWN", 1)
    assert "has more than 1 files" in refused(toolchain)


def test_the_gateways_own_log_is_not_shown(toolchain: Path) -> None:
    kept = os.dup(2)
    try:
        with (toolchain / "bough.log").open("w") as log:
            os.dup2(log.fileno(), 2)
        said = refused(toolchain)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    assert "the gateway's log" in said


def test_what_is_not_there_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="there is nothing at"):
        shown([tmp_path / "python"], (), no_workspace)


@pytest.mark.parametrize(
    ("template", "path", "overlaps"),
    [
        ("w/{session}", "w/7", True),
        ("w/{session}", "w/7/src", True),
        ("w/{session}", "w", True),
        ("w/{session}", "w/shared", False),
        ("w/{session}/files", "w/7", True),
        ("w/{session}/files", "w/7/files/src", True),
        ("w/{session}/files", "w/7/other", False),
        ("project", "project/src", True),
        ("project", "project2", False),
        ("{session}", "7", True),
    ],
)
def test_no_path_of_a_workspace_is_shown(
    tmp_path: Path, template: str, path: str, overlaps: bool
) -> None:
    assert workspaces(f"{tmp_path}/{template}")(tmp_path / path) is overlaps


async def test_what_is_shown_can_be_run_and_not_changed(workspace: Path, toolchain: Path) -> None:
    (toolchain.parent / "beside").write_text("SECRET")
    launcher = confined(workspace, read_only=(toolchain,))
    tool = toolchain / "bin" / "tool"
    line = f"{tool}; echo bad >{tool}; rm -rf {toolchain}; touch {toolchain}/x; chmod 777 {tool}"
    _, said = await ran(launcher, f"{line}; cat {toolchain.parent}/beside", workspace)
    assert said.startswith("the tool runs\n") and "Read-only file system" in said
    assert "SECRET" not in said
    assert tool.read_text().endswith("runs\n") and not (toolchain / "x").exists()


async def test_what_was_named_by_a_link_is_found_at_both_places(
    workspace: Path, toolchain: Path
) -> None:
    alias = toolchain.parent / "current"
    alias.symlink_to(toolchain)
    named = (alias / "bin", alias, toolchain / "bin", Path("/bin/sh"), Path("/usr/bin"))
    launcher = confined(workspace, read_only=named)
    line = f"{alias}/bin/tool; {toolchain}/bin/tool"
    _, said = await ran(launcher, line, workspace)
    assert said == "the tool runs\n" * 2


async def test_a_link_below_what_is_shown_leads_nowhere(workspace: Path, toolchain: Path) -> None:
    outside = toolchain.parent / "outside"
    outside.write_text("SECRET")
    (toolchain / "link").symlink_to(outside)
    (toolchain / "folder").symlink_to(toolchain.parent)
    line = f"cat {toolchain}/link {toolchain}/folder/outside"
    _, said = await ran(confined(workspace, read_only=(toolchain,)), line, workspace)
    assert "SECRET" not in said


def exchanged_by_a_link(toolchain: Path, secret: Path) -> None:
    toolchain.rename(toolchain.with_name("old"))
    toolchain.symlink_to(secret)


def gets_a_key(toolchain: Path, _: Path) -> None:
    (toolchain / ".netrc").write_text("SECRET")


@pytest.mark.parametrize("spoilt", [exchanged_by_a_link, gets_a_key])
def test_what_became_bad_is_refused_at_the_next_start(
    workspace: Path, toolchain: Path, spoilt: Callable[[Path, Path], None]
) -> None:
    secret = toolchain.parent / ".ssh"
    secret.mkdir()
    assert prepare(workspace, (), (), (toolchain,)).shown
    spoilt(toolchain, secret)
    with pytest.raises(WorkspaceError, match="never shown to commands"):
        prepare(workspace, (), (), (toolchain,))


async def made_venv(workspace: Path) -> None:
    venv.create(workspace / ".venv", symlinks=True)


@pytest.mark.parametrize("make", [confined, unconfined])
async def test_the_interpreter_of_a_workspace_runs(
    workspace: Path, make: Callable[..., object]
) -> None:
    """That of these tests may be below a folder that is root's alone, as with pyenv."""
    await made_venv(workspace)
    launcher = make(workspace, read_only=(BASE,))
    line = ".venv/bin/python -c 'import json, ssl, sys; print(sys.prefix)'"
    ended, said = await ran(launcher, line, workspace)  # type: ignore[arg-type]
    assert (ended.status, said) == (0, f"{workspace}/.venv\n")


def test_an_ordinary_users_gateway_shows_it_as_well() -> None:
    if os.geteuid() != 0:
        pytest.skip("all the other tests run as an ordinary user")
    with tempfile.TemporaryDirectory() as folder:
        workspace, toolchain = Path(folder) / "w", Path(folder) / "toolchain"
        for each in (Path(folder), workspace, toolchain):
            each.mkdir(exist_ok=True)
            each.chmod(0o755)
        (toolchain / "data").write_text("shown")
        os.chown(workspace, 4_321, 4_321)
        status, said = ran_as(4_321, f"cat {toolchain}/data", workspace, read_only=(toolchain,))
    assert (status, said) == (0, "shown")


def test_git_takes_a_workspace_of_which_a_part_is_somebody_elses() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "w"
        Path(folder).chmod(0o755)
        workspace.mkdir()
        os.chown(workspace, 4_321, 4_321)
        status, said = ran_as(4_321, "git init -q . && git commit --allow-empty -qm x", workspace)
        assert (status, said) == (0, "")
        for each in (workspace, workspace / ".git"):
            os.chown(each, 4_322, 4_322)
            each.chmod(0o777)
        status, said = ran_as(4_321, "git log --format='%an %ce'", workspace)
    assert (status, said) == (0, "Bough agent agent@localhost\n")


@pytest.mark.parametrize("above", [False, True])
def test_no_link_that_commands_could_set_leads_to_what_is_shown(
    workspace: Path, toolchain: Path, above: bool
) -> None:
    """Else an agent says what is shown at the next start."""
    link = workspace / "python"
    link.symlink_to(toolchain.parent if above else toolchain)
    way = toolchain.parent / "way"
    way.symlink_to(link)
    for named in (link, way):
        path = named / toolchain.name if above else named
        with pytest.raises(WorkspaceError, match=r"is reached by the link .*/7/python"):
            prepare(workspace, (), (), (path,))
