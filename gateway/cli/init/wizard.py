"""From question to question, to a file that works."""

import asyncio
import os
import sys
from pathlib import Path

from agent.models.demo import DEMO
from gateway.cli.init.answers import Answers, answers
from gateway.cli.init.lines import confirm, say
from gateway.cli.init.systemd import is_there, unit, unit_file
from gateway.cli.init.writing import Keys, toml, write
from gateway.configuration.config import DEFAULT_FILE, load
from gateway.errors import ConfigError, InitEnded
from gateway.logs import without_secrets
from storage.errors import StoreError
from storage.sql.store import SqlStore

OK = 0
PARENT = "Model of the conversation, as provider/model (empty: the demo model)"
WORKER = "A cheaper model for delegated tasks (empty: the same)"


def init(path: Path | None) -> int:
    """Ask, try, write. Nothing is written before the last question about it is answered; InitEnded
    or ConfigError where it comes to nothing."""
    file = (path or DEFAULT_FILE).absolute()
    _refuse_unfit(file)
    exists = os.path.lexists(file)
    if exists:
        say("Of a file that is replaced, comments and what is not asked for here are lost.")
        if not confirm(f"{file} is there already. Replace it?", default=False):
            say("Nothing was changed.")
            return OK
    with asyncio.Runner() as runner:
        sections, serves = _asked(answers(runner, file))
    write(file, toml(sections), overwrite=exists)
    say(f"{file} is written; only you can read it.")
    if serves and is_there():
        _offer_unit(file)
    _make_database(file)
    place = "" if file == DEFAULT_FILE.absolute() else f" --config {file}"
    say(f"Start the bot with: bough run{place}")
    return OK


def _asked(asking: Answers) -> tuple[dict[str, Keys], bool]:
    """The sections of the file, and whether there is a platform to serve."""
    sections: dict[str, Keys] = {}
    platform = asking.platform()
    if platform is not None:
        sections[platform.name] = asking.token(platform)
        sections["access"] = asking.owner(platform)
    parent = asking.model("parent", PARENT)
    sections["models.parent"] = parent
    if parent.get("model", DEMO) != DEMO:
        sections["models.worker"] = asking.model("worker", WORKER, parent)
    return sections, platform is not None


def _refuse_unfit(file: Path) -> None:
    """Before anything is asked: a place where nothing can be written, or nobody can answer."""
    if sys.stdin is None or sys.stdout is None:  # closed before the start
        raise InitEnded("standard input or output is closed; run it in a terminal")
    if file.is_dir():
        raise InitEnded(f"{file} is a folder; name a file with --config")
    if file.exists() and not file.is_file():
        raise InitEnded(f"{file} is no ordinary file; name another with --config")
    if not file.parent.is_dir():
        raise InitEnded(f"{file.parent} is not there; create it, or name another with --config")
    if not os.access(file.parent, os.W_OK):
        raise InitEnded(f"{file.parent} cannot be written to; name another place with --config")


def _make_database(file: Path) -> None:
    """So that `bough doctor` finds it before the first start. The file is written: what is wrong
    with the database is said, and ends nothing."""
    try:
        store = asyncio.run(_opened(load(file).storage.url))
    except (StoreError, ConfigError) as error:
        say(without_secrets(f"The database could not be made: {error}"))
        return
    say(f"The database is {store}.")


async def _opened(url: str) -> str:
    os.umask(0o077)  # it holds what people say
    store = await SqlStore.open(url)
    await store.close()
    return store.description


def _offer_unit(config: Path) -> None:
    """A unit of this user, started by the person: it would run from now on."""
    file = unit_file()
    if not confirm("Run it in the background with systemd (a unit of yours)?", default=False):
        return
    exists = os.path.lexists(file)
    if exists and not confirm(f"{file} is there already. Replace it?", default=False):
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or "the system does not say why").lower()
        raise InitEnded(f"{file.parent} cannot be made: {why}; the unit is not written") from error
    write(file, unit(config), overwrite=exists, mode=0o644)
    say(f"{file} is written. Switch it on with:")
    say("  systemctl --user daemon-reload && systemctl --user enable --now bough")
    say("To have it run while you are logged out: loginctl enable-linger")
