"""What the commands do, and how their failures read: what happened, what to do, no traceback."""

import argparse
import asyncio
import logging
import os
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from adapters.base import AdapterError, Misconfigured
from adapters.platforms import configured
from gateway.app import bootstrap
from gateway.cli.database import keep
from gateway.cli.demo.hands import hands
from gateway.cli.demo.tour import tour
from gateway.cli.doctor import examine
from gateway.cli.init.wizard import init
from gateway.cli.mending.mender import mend
from gateway.cli.people import look_after
from gateway.cli.sessions import manage
from gateway.configuration.config import Config, load
from gateway.configuration.env_file import take_over
from gateway.configuration.secret_values import all_secrets, environment_secrets
from gateway.errors import ConfigError, GatewayError
from gateway.logs import Shape, hide, log_to_stderr, set_level, shape_log, without_secrets
from gateway.processes.roles import Role
from gateway.running.process.leaving import hang_up_ends
from gateway.running.process.lifecycle import Lifecycle
from gateway.running.process.reloading import Reloading
from gateway.running.service import App
from gateway.tracing.choosing import collecting
from storage.errors import StoreError, StoreUnavailable
from storage.lock import file_of, hold_lock
from storage.sql.dialect import database_of

log = logging.getLogger(__name__)

OK = 0
FAILURE = 1
USAGE_FAULT = 2
ROWS = ("sessions", "people")
"""Commands about rows of the database: whatever is wrong with them is a fault of usage."""


def _hush(command: str) -> None:
    """Keep log lines away from what a command prints itself."""
    match command:
        case "init":
            logging.getLogger().setLevel(logging.ERROR)
        case "doctor":
            logging.getLogger().setLevel(logging.WARNING)
            logging.getLogger("agent.tools.mcp").setLevel(logging.ERROR)  # what servers write
        case "sessions" | "people" | "db":
            logging.getLogger().setLevel(logging.WARNING)


def run(arguments: argparse.Namespace) -> int:
    """Carry a parsed command out; its exit status."""
    path: Path | None = getattr(arguments, "config", None)
    verbose: bool = getattr(arguments, "verbose", False)
    log_to_stderr(logging.DEBUG if verbose else logging.INFO, environment_secrets(os.environ))
    try:
        if not verbose:
            _hush(arguments.command)
        _take_env_files(arguments)
        match arguments.command:
            case "demo":
                return hands() if arguments.hands else tour()
            case "init":
                return init(path)
            case "doctor":
                return asyncio.run(mend(path) if arguments.fix else examine(path))
            case "sessions":
                return asyncio.run(manage(arguments, _of_database(path)))
            case "people":
                return asyncio.run(look_after(arguments, _of_database(path)))
            case "db":
                if arguments.action == "copy":  # which names its databases itself
                    return keep(arguments, _configured(path))
                return keep(arguments, _of_database(path))
            case command:
                config = _configured(path)
                terminal = command == "chat" or not configured(config)
                role = Role(getattr(arguments, "role", Role.ALL))
                _refuse_alone(config, role, terminal=terminal)
                shape(config, role, verbose=verbose)
                if terminal and not verbose:
                    logging.getLogger().setLevel(logging.WARNING)  # it would mix with the chat
                run = Run(path, role, terminal=terminal, verbose=verbose)
                return asyncio.run(serve(config, run))
    except (GatewayError, Misconfigured) as error:
        return _complain(error, USAGE_FAULT)
    except (StoreError, AdapterError) as error:
        return _complain(error, USAGE_FAULT if arguments.command in ROWS else FAILURE)
    except KeyboardInterrupt:
        return OK
    except Exception:
        # Python would print it to standard error as it is, with the secrets in it.
        log.critical("stopped by a fault of its own", exc_info=True)
        return FAILURE


def _take_env_files(arguments: argparse.Namespace) -> None:
    """For all that is read of the environment later, libraries and a reload among it."""
    before, after = (getattr(arguments, each, []) for each in ("env_files_before", "env_files"))
    for text in take_over([*before, *after], os.environ):
        print(f"bough: {text}", file=sys.stderr)
    hide(environment_secrets(os.environ))


@dataclass(frozen=True, slots=True)
class Run:
    """How the gateway was called for."""

    path: Path | None = None
    """What its configuration was read from, to be read again."""
    role: Role = Role.ALL
    terminal: bool = field(default=False, kw_only=True)
    verbose: bool = field(default=False, kw_only=True)


async def serve(config: Config, run: Run) -> int:
    """Run the gateway, or a process of it, until it is told to stop."""
    os.umask(0o077)  # the database holds what people said
    if run.terminal:
        hang_up_ends()
    if run.terminal and not sys.stdin.isatty():
        # Lines from a file or a pipe are answered one by one: nobody is there to interrupt.
        session = config.session.model_copy(update={"busy": "queue"})
        config = config.model_copy(update={"session": session})
    with hold_lock(config.storage.url):
        log.info("Database: %s", database_of(config.storage.url).place)
        try:
            async with collecting(config.otel):
                app = await bootstrap(config, terminal=run.terminal, role=run.role)
                await _lifecycle(app, run).run()
        except asyncio.CancelledError:
            log.info("Stopped. What was open goes on at the next start.")
        except BaseExceptionGroup as group:
            raise _cause(group) from None
    return OK


def _refuse_alone(config: Config, role: Role, *, terminal: bool) -> None:
    if role is Role.ALL:
        return
    if file_of(config.storage.url) is not None:
        raise ConfigError(
            f"--role {role}: several processes need PostgreSQL, and [storage] url names a file. "
            "Leave --role out, or move to a PostgreSQL: bough db copy FROM TO, then set "
            "[storage] url."
        )
    if terminal:
        raise ConfigError(
            f"--role {role}: no platform is configured, and the chat in this terminal is one "
            "process. Leave --role out, or configure [telegram] or [discord]."
        )


def _lifecycle(app: App, run: Run) -> Lifecycle:
    if run.terminal:  # who sits there waits for the prompt; and to hang up is to leave
        return Lifecycle(app, lambda: 0.0)
    live = app.settings.live
    shaped = partial(shape, role=run.role, verbose=run.verbose)
    # One that was read at the start must be there: without it everybody would lose their rights.
    file = live.now.file
    reload = partial(load, run.path or (file if file.exists() else None))
    reloading = Reloading(app, reload, shaped)
    return Lifecycle(app, lambda: live.now.server.drain, reloading.reload)


def shape(config: Config, role: Role = Role.ALL, *, verbose: bool = False) -> None:
    """Have the log written as a configuration says."""
    shape_log(all_secrets(config), Shape(config.log.format, role=role))
    level = logging.DEBUG if verbose else logging.getLevelNamesMapping()[config.log.level.upper()]
    set_level(level)


def _configured(path: Path | None) -> Config:
    """The configuration; its secrets stand in no line of the log from now on."""
    config = load(path)
    hide(all_secrets(config))
    return config


def _of_database(path: Path | None) -> Config:
    """The same, for a command that works on its database: people are told which one that is. On
    standard error, as what is printed may be for programs."""
    config = _configured(path)
    name = without_secrets(database_of(config.storage.url).place)
    print(f"bough: working on {name}", file=sys.stderr)
    return config


def _cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What people must hear of: wrong credentials or an unusable database, if that is among it;
    else all of it."""
    found = group.subgroup((Misconfigured, StoreUnavailable))
    error: BaseException = found if found is not None else group
    while found is not None and isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _complain(error: Exception, status: int) -> int:
    print(f"bough: {without_secrets(str(error))}", file=sys.stderr)
    return status
