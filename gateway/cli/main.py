"""What the commands do, and how their failures read: what happened, what to do, no traceback."""

import argparse
import asyncio
import logging
import os
import signal
import sys
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
from gateway.cli.sessions import manage
from gateway.config import Config, load
from gateway.config_secrets import all_secrets, environment_secrets
from gateway.errors import GatewayError
from gateway.logs import hide, log_to_stderr, without_secrets
from storage.errors import StoreError, StoreUnavailable
from storage.lock import hold_lock

log = logging.getLogger(__name__)

OK = 0
FAILURE = 1
USAGE_FAULT = 2


def run(arguments: argparse.Namespace) -> int:
    """Carry a parsed command out; its exit status."""
    path: Path | None = getattr(arguments, "config", None)
    verbose: bool = getattr(arguments, "verbose", False)
    log_to_stderr(logging.DEBUG if verbose else logging.INFO, environment_secrets(os.environ))
    try:
        match arguments.command:
            case "demo":
                return hands() if arguments.hands else tour()
            case "init":
                if not verbose:
                    logging.getLogger().setLevel(logging.ERROR)  # it would mix with the questions
                return init(path)
            case "doctor":
                return asyncio.run(mend(path) if arguments.fix else examine(path))
            case "sessions":
                if not verbose:
                    logging.getLogger().setLevel(logging.WARNING)
                return asyncio.run(manage(arguments, _configured(path)))
            case "db":
                if not verbose:
                    logging.getLogger().setLevel(logging.WARNING)
                return keep(arguments, _configured(path))
            case command:
                config = _configured(path)
                terminal = command == "chat" or not configured(config)
                if terminal and not verbose:
                    logging.getLogger().setLevel(logging.WARNING)  # it would mix with the chat
                return asyncio.run(serve(config, terminal=terminal))
    except (GatewayError, Misconfigured) as error:
        return _complain(error, USAGE_FAULT)
    except (StoreError, AdapterError) as error:
        return _complain(error, USAGE_FAULT if arguments.command == "sessions" else FAILURE)
    except KeyboardInterrupt:
        return OK
    except Exception:
        # Python would print it to standard error as it is, with the secrets in it.
        log.critical("stopped by a fault of its own", exc_info=True)
        return FAILURE


async def serve(config: Config, *, terminal: bool = False) -> int:
    """Run the gateway until it is told to stop."""
    os.umask(0o077)  # the database holds what people said
    if terminal and not sys.stdin.isatty():
        # Lines from a file or a pipe are answered one by one: nobody is there to interrupt.
        session = config.session.model_copy(update={"busy": "queue"})
        config = config.model_copy(update={"session": session})
    with hold_lock(config.storage.url):
        app = await bootstrap(config, terminal=terminal)
        task = asyncio.ensure_future(app.run())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            log.info("Stopped. What was open goes on at the next start.")
        except BaseExceptionGroup as group:
            raise _cause(group) from None
    return OK


def _configured(path: Path | None) -> Config:
    """The configuration; its secrets stand in no line of the log from now on."""
    config = load(path)
    hide(all_secrets(config))
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
