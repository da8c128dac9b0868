"""A unit for systemd, of this user: no root is needed."""

import os
import shutil
import sys
from pathlib import Path

UNIT = "bough.service"


def is_there() -> bool:
    return sys.platform == "linux" and shutil.which("systemctl") is not None


def unit_file() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(home) if home.startswith("/") else Path.home() / ".config"
    return folder / "systemd" / "user" / UNIT


def unit(config: Path) -> str:
    """A gateway with that configuration, in its folder, from this installation."""
    program = Path(sys.executable).with_name("bough")
    command = [str(program)] if program.is_file() else [sys.executable, "-m", "gateway"]
    line = " ".join(map(_quoted, [*command, "run", "--config", str(config)]))
    return f"""\
# Written by bough init. deploy/README.md says more.
[Unit]
Description=Bough bot gateway
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={line}
WorkingDirectory={_escaped(str(config.parent))}
Restart=always
RestartSec=2
# A wrong configuration does not mend itself.
RestartPreventExitStatus=2
TimeoutStopSec=20
UMask=0077

[Install]
WantedBy=default.target
"""


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(argument: str) -> str:
    """As a word of ExecStart."""
    inner = _escaped(argument).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{inner}"'
