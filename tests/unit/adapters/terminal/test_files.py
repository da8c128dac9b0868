import os
from pathlib import Path

import pytest

from adapters.base import Refused, Upload
from adapters.terminal.files import load, save


def test_a_file_is_saved_for_its_owner_alone(tmp_path: Path) -> None:
    path = save(Upload("talk.jsonl", b"{}\n"), tmp_path / "deep" / "files")
    assert path == tmp_path / "deep" / "files" / "talk.jsonl"
    assert path.read_bytes() == b"{}\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_is_saved_below_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert save(Upload("a.txt", b"a")) == Path("bough-files/a.txt")
    assert (tmp_path / "bough-files" / "a.txt").read_bytes() == b"a"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    paths = [save(Upload("a.txt", bytes([number])), tmp_path) for number in range(3)]
    assert [path.name for path in paths] == ["a.txt", "a-2.txt", "a-3.txt"]
    assert [path.read_bytes() for path in paths] == [b"\0", b"\1", b"\2"]


def test_a_link_with_the_name_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "elsewhere")
    assert save(Upload("a.txt", b"a"), tmp_path).name == "a-2.txt"
    assert not (tmp_path / "elsewhere").exists()


def test_a_name_leads_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    assert save(Upload("../../.bashrc", b""), folder).parent == folder
    assert [path.name for path in tmp_path.iterdir()] == ["files"]


def test_where_nothing_can_be_saved_it_is_said_why(tmp_path: Path) -> None:
    taken = tmp_path / "files"
    taken.write_text("not a folder")
    with pytest.raises(Refused, match=r"cannot be saved in .*files: File exists"):
        save(Upload("a.txt", b"a"), taken)


def test_a_file_is_loaded_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "talk.jsonl").write_bytes(b"1234")
    assert load(str(tmp_path / "talk.jsonl"), 4) == b"1234"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load("~/talk.jsonl", 100) == b"1234"
    monkeypatch.chdir(tmp_path)
    assert load("talk.jsonl", 100) == b"1234"


def test_what_cannot_be_loaded_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    reasons = {
        str(tmp_path / "big"): "more than 4 bytes",
        str(tmp_path / "none"): "no file",
        str(tmp_path): "not a file",
        str(tmp_path / "pipe"): "not a file",
        "a\0b": "no file",
        "~nobody-of-this-name/a": "not a path",
    }
    for ref, reason in reasons.items():
        with pytest.raises(Refused, match=reason):
            load(ref, 4)
