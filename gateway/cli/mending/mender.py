"""`bough doctor --fix`: every fault with its cure; what is safe is mended, the rest is said."""

import os
from pathlib import Path

from adapters.base import AdapterError
from gateway.cli.doctor import Finding, findings, show
from gateway.cli.mending.cures import cure_of
from gateway.cli.mending.fault import Fault
from gateway.cli.mending.looking import look
from gateway.configuration.config import Config, load
from gateway.configuration.secret_values import all_secrets
from gateway.errors import ConfigError
from gateway.logs import hide, without_secrets
from storage.errors import StoreError, StoreInUse
from storage.lock import file_of, hold_lock


async def mend(path: Path | None) -> int:
    """0 where nothing is left to do, 1 where something is, 2 where the configuration cannot be
    read."""
    os.umask(0o077)  # the database may be made here, and is for its owner alone
    try:
        config = load(path)
    except ConfigError as error:
        show(Finding("configuration", False, str(error)))
        _cure("to do", cure_of("configuration"))
        return 2
    hide(all_secrets(config))
    show(Finding("configuration", True, "read"))
    mended, left = 0, 0
    told: list[str] = []
    async for fault in look(config):  # first: what is mended is no finding any more
        told.append(fault.text)
        done = await _mended(fault)
        mended += done
        left += not done
    _say_who_runs(config)
    async for finding in findings(config):
        if finding.text.startswith(tuple(told)):
            continue
        show(finding)
        if not finding.ok:
            _cure("to do", cure_of(finding.subject, finding.text))
            left += 1
    print(_summary(mended, left), flush=True)
    return 1 if left else 0


async def _mended(fault: Fault) -> bool:
    show(Finding(fault.subject, False, fault.text))
    if fault.mend is None:
        _cure("to do", fault.cure)
        return False
    try:
        await fault.mend()
    except (OSError, AdapterError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        _cure("not done", f"{fault.cure} ({why or 'the system does not say why'})")
        return False
    _cure("mended", fault.cure)
    return True


def _say_who_runs(config: Config) -> None:
    """No fault: a bot that runs goes on with what it read at its start."""
    database = file_of(config.storage.url)
    if database is None or not database.is_file() or database.stat().st_uid != os.geteuid():
        return  # a lock file of ours would keep another user's bot out
    try:
        hold_lock(config.storage.url).close()
    except StoreInUse as error:
        text = f"{str(error).partition(';')[0]}; it must be started anew to see what changes here"
        show(Finding("running", True, text))
    except StoreError:
        return  # the database itself is among the findings


def _cure(what: str, text: str) -> None:
    print(f"      {what}: {without_secrets(text)}", flush=True)


def _summary(mended: int, left: int) -> str:
    parts = [f"{mended} mended"] if mended else []
    parts += [f"{left} to mend by hand"] if left else []
    return f"{', '.join(parts)}." if parts else "All is well."
