"""The image without an engine for images: a Dockerfile's steps, done in a Debian that was set up
for them, as `python -m tests.support.image.clean_root FOLDER`.

The base `python:…-slim-bookworm` is what it is made of: Debian's smallest set and a Python in
/usr/local, which is copied from this machine. Needs root, debootstrap, bubblewrap and a network.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tests.support.image.dockerfile import Copy, Run, Stage, read, shown

ROOT = Path(__file__).parents[3]
MIRROR = "http://deb.debian.org/debian"
NEEDED_BY_PYTHON = (
    "ca-certificates,libbz2-1.0,libffi8,libncursesw6,libreadline8,libsqlite3-0,libssl3,libuuid1,"
    "zlib1g,liblzma5,libexpat1"
)
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
TO_FETCH = {
    name: os.environ[name] for name in ("HTTP_PROXY", "HTTPS_PROXY") if name in os.environ
} | {"SSL_CERT_FILE": str(CERTIFICATES), "PIP_CERT": str(CERTIFICATES)}
"""What steps need to fetch packages here; no part of the image."""


@dataclass(frozen=True, slots=True)
class Built:
    root: Path
    stage: Stage

    def command(self, words: Sequence[str], data: Path, environment: dict[str, str]) -> list[str]:
        """What runs these words as the image's user: a root file system that is read-only, /data
        and /tmp to write to, no capability, no way to get one. The network is this machine's."""
        user, _, group = self.stage.user.partition(":")
        confined = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        confined += ["--ro-bind", str(self.root), "/", "--bind", str(data), "/data"]
        confined += ["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--clearenv"]
        confined += ["--cap-drop", "ALL"]
        confined += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--as-pid-1"]
        given = {"HOME": "/data"} | self.stage.environment | environment
        for name, value in given.items():
            confined += ["--setenv", name, value]
        lowered = ["/usr/bin/setpriv", "--reuid", user, "--regid", group, "--clear-groups"]
        lowered += ["--no-new-privs", "--inh-caps=-all", "--"]
        # Without capabilities, root itself may not enter the user's folder.
        return [*confined, "--", *lowered, "/usr/bin/env", f"--chdir={self.stage.folder}", *words]


def build(dockerfile: Path, folder: Path, python: Path) -> Built:
    """Do every step; CalledProcessError where one fails."""
    base = folder / "base"
    if not (base / "usr/local/bin/python").exists():
        _make_base(base, python)
    done: dict[str, Path] = {}
    stages = read(dockerfile)
    for stage in stages:
        root = folder / f"stage-{stage.name}"
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["cp", "-a", str(base), str(root)], check=True)
        done[stage.name] = root
        for step, at, environment, user in stage.steps:
            print(shown(step)[:150], flush=True)
            if user != "0:0":
                raise SystemExit("a step after USER is not expected")
            match step:
                case Run():
                    _run(root, step.script, at, environment)
                case Copy():
                    _copy(step, root, at, done)
    return Built(done[stages[-1].name], stages[-1])


def _make_base(base: Path, python: Path) -> None:
    include = f"--include={NEEDED_BY_PYTHON}"
    subprocess.run(
        ["debootstrap", "--variant=minbase", include, "bookworm", str(base), MIRROR],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    shutil.copytree(python, base / "usr/local", symlinks=True, dirs_exist_ok=True)
    subprocess.run(["chroot", str(base), "/sbin/ldconfig"], check=True)


def _run(root: Path, script: str, at: str, environment: dict[str, str]) -> None:
    (root / at.lstrip("/")).mkdir(parents=True, exist_ok=True)
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--bind", str(root), "/"]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run", "--clearenv"]
    words += ["--ro-bind", "/etc/resolv.conf", "/etc/resolv.conf"]
    words += ["--ro-bind", "/etc/hosts", "/etc/hosts"]
    words += ["--ro-bind", str(CERTIFICATES), str(CERTIFICATES), "--chdir", at]
    path = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    for name, value in (path | TO_FETCH | environment).items():
        words += ["--setenv", name, value]
    subprocess.run([*words, "--", "/bin/sh", "-euc", script], check=True, stdin=subprocess.DEVNULL)


def _copy(step: Copy, root: Path, at: str, done: dict[str, Path]) -> None:
    target = root / os.path.join(at, step.target).lstrip("/")  # noqa: PTH118  (of the image)
    for source in step.sources:
        if step.stage is None and not in_context(source):
            raise SystemExit(f".dockerignore keeps {source} out")
        origin = (ROOT / source) if step.stage is None else done[step.stage] / source.lstrip("/")
        if origin.is_dir():
            ignored = shutil.ignore_patterns("__pycache__") if step.stage is None else None
            shutil.copytree(origin, target, symlinks=True, dirs_exist_ok=True, ignore=ignored)
        else:
            within = step.target.endswith("/") or target.is_dir()
            to = target / origin.name if within else target
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, to)


def in_context(source: str, ignore: Path = ROOT / ".dockerignore") -> bool:
    """Whether .dockerignore leaves the file or folder in: the last pattern that fits decides."""
    kept = True
    lines = (line.strip() for line in ignore.read_text(encoding="utf-8").splitlines())
    parts = Path(source).parts
    paths = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    for line in lines:
        if not line or line.startswith("#"):
            continue
        pattern = line.removeprefix("!").removeprefix("**/")
        anywhere = line.startswith("**/")
        if any(fnmatch(Path(path).name if anywhere else path, pattern) for path in paths):
            kept = line.startswith("!")
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for the roots; what is there is used again")
    parser.add_argument("--python", type=Path, default=Path(sys.base_prefix))
    arguments = parser.parse_args()
    if arguments.python == Path("/usr"):
        parser.error("--python: name a Python in a folder of its own, such as pyenv's")
    from tests.support.image.healthy import prove

    arguments.folder.mkdir(parents=True, exist_ok=True)
    built = build(ROOT / "deploy/Dockerfile", arguments.folder.resolve(), arguments.python)
    asyncio.run(prove(built, arguments.folder.resolve()))


if __name__ == "__main__":
    main()
