"""What a closer look finds on this machine and on the platforms. Looking changes nothing."""

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from adapters.base import AdapterError
from adapters.platforms import configured
from agent.models.base import Model, ModelError, ModelErrorKind, Request
from agent.models.demo import DEMO
from gateway.chats.known_threads import KnownThreads
from gateway.chats.settings import ChatSettings
from gateway.cli.mending.fault import Fault
from gateway.configuration.config import Config
from gateway.configuration.current import Current
from gateway.models import model_specs, plain_model
from storage.checkpoint import empty_log
from storage.errors import StoreError
from storage.lock import file_of
from storage.records.entries import Json, message
from storage.sql.store import SqlStore

LEAST_SPACE = 500_000_000
"""Bytes that should be free where the database is."""
LARGEST_WAL = 256_000_000
"""Bytes from which on a write-ahead log is never emptied, as far as one can see."""
MOST_SKEW = 5.0
"""Seconds that a clock may be wrong; the date of an answer has whole ones."""
MOST_SHOWN = 5
"""Conversations in one line."""
PATIENCE = 30.0
"""Seconds for each platform and each question to a model."""


async def look(config: Config) -> AsyncIterator[Fault]:
    for fault in (*_modes(config), *_space(config), *_demo(config)):
        yield fault
    async for fault in _platforms(config):
        yield fault
    async for fault in _without_tools(config):
        yield fault


def _modes(config: Config) -> Iterator[Fault]:
    """Files that others on this machine may open. A group of its own, which somebody gave a file on
    purpose, keeps its rights."""
    database = file_of(config.storage.url)
    owner = _owner(database)
    named = [(config.file, "secrets are in it")]
    if database is not None:
        files = (database, *(Path(f"{database}{end}") for end in ("-wal", "-shm")))
        named += [(file, "what people said is in it") for file in files]
    for file, why in named:
        try:
            found = file.lstat()
        except OSError:
            continue  # not there, or not for this user to see
        own_group = found.st_gid == os.getegid() and os.geteuid() != 0
        unwanted = stat.S_IRWXO | (stat.S_IRWXG if own_group else 0)
        if not (stat.S_ISREG(found.st_mode) and found.st_mode & unwanted):
            continue
        mode = stat.S_IMODE(found.st_mode)
        # Whom the bot runs as reads it as one of the others, where the database is somebody else's.
        whose = "" if owner in (None, found.st_uid) else f", once it is user {owner}'s (chown)"
        ours = found.st_uid == os.geteuid() and owner in (None, found.st_uid)
        yield Fault(
            "files",
            f"others on this machine may open {file} (mode {mode:o}), and {why}",
            f"chmod {mode & ~unwanted:o} {file}" + whose,
            partial(_set_mode, file, mode & ~unwanted) if ours else None,
        )


def _owner(database: Path | None) -> int | None:
    """Of the database: the user that the bot runs as. None where there is none yet."""
    try:
        return database.stat().st_uid if database is not None else None
    except OSError:
        return None


async def _set_mode(file: Path, mode: int) -> None:
    """Of the very file that was looked at, not of one that a link leads to by now."""
    number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(number, mode)
    finally:
        os.close(number)


def _space(config: Config) -> Iterator[Fault]:
    database = file_of(config.storage.url)
    if database is None or not database.absolute().parent.is_dir():
        return
    folder = database.absolute().parent
    free = shutil.disk_usage(folder).free
    if free < LEAST_SPACE:
        yield Fault(
            "disk",
            f"{free // 1_000_000} MB are free in {folder}",
            "make room there; a full disk stops the bot (nothing that was said is lost)",
        )
    log = Path(f"{database}-wal")
    size = log.stat().st_size if log.is_file() else 0
    if size > LARGEST_WAL:
        yield Fault(
            "database",
            f"{log} has {size // 1_000_000} MB: something keeps it from being emptied",
            "end other programs that read the database; then write it back (a checkpoint)",
            partial(_write_back, config.storage.url),
        )


async def _write_back(url: str) -> None:
    if why := await asyncio.to_thread(empty_log, url):
        raise OSError(0, why)


def _demo(config: Config) -> Iterator[Fault]:
    platforms = ", ".join(platform.name for platform in configured(config))
    if platforms and model_specs(config)[0]["parent"].model == DEMO:
        yield Fault(
            "model",
            f"the demo model answers people on {platforms}",
            "name a real one: model under [models.parent], or bough init",
        )


async def _platforms(config: Config) -> AsyncIterator[Fault]:
    """A platform that is not there, or refuses the token, is a finding of the doctor's already."""
    whole = await _answered_whole(config) if configured(config) else []
    for platform in configured(config):
        if platform.check is None:
            continue
        try:
            async with asyncio.timeout(PATIENCE):
                found = await platform.check(config)
        except (AdapterError, TimeoutError):
            continue
        for trouble in found.troubles:
            yield Fault(platform.name, trouble.text, trouble.cure, trouble.mend)
        there = [address for address in whole if address.startswith(f"{platform.name}:")]
        if there and not found.hears_all:
            text = (
                f"{_some(there)}: everything is to be answered there, and the bot is not given it"
            )
            yield Fault(platform.name, text, found.to_hear_all)
        if abs(found.clock_ahead) > MOST_SKEW:
            yield _skewed(found.clock_ahead, platform.name)


async def _answered_whole(config: Config) -> list[str]:
    """The conversations in which everything said is to be answered, by the file or as their people
    chose."""
    settings, chosen = await _chosen(config)
    return [
        address
        for address in sorted({*config.chats, *chosen})
        if settings.answer_at(address) in ("all", "thread")
    ]


async def _chosen(config: Config) -> tuple[ChatSettings, list[str]]:
    """What holds by the file and what people chose, and where they did. A database that cannot be
    read is a finding of the doctor's, and one that is not there yet is not made for this."""
    file = file_of(config.storage.url)
    if file is not None and not file.is_file():
        return ChatSettings(Current(config)), []
    try:
        store = await SqlStore.open(config.storage.url, create=False)
        try:
            settings = ChatSettings(Current(config), await KnownThreads.read(store))
            await settings.read(store)
            rows = await store.read(lambda tx: tx.chat_settings.all())
        finally:
            await store.close()
    except StoreError:
        return ChatSettings(Current(config)), []
    return settings, [row.address for row in rows]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_SHOWN])
    return shown if len(names) <= MOST_SHOWN else f"{shown} and {len(names) - MOST_SHOWN} more"


def _skewed(ahead: float, platform: str) -> Fault:
    side = "ahead of" if ahead > 0 else "behind"
    return Fault(
        "clock",
        f"this machine's clock is {abs(ahead):,.0f} s {side} that of {platform}: schedules, ages "
        "and certificates go by it",
        "set it: timedatectl set-ntp true",
    )


_TOOL: Json = {
    "type": "function",
    "function": {
        "name": "note",
        "description": "Notes a word.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}
_REFUSALS = (ModelErrorKind.BAD_REQUEST, ModelErrorKind.AUTH)
"""How providers refuse tools: 400, 422, and 404 where nobody serves that model with tools."""


async def _without_tools(config: Config) -> AsyncIterator[Fault]:
    """Models that answer, but not where tools are offered."""
    tiers, presets = model_specs(config)
    each = {(spec.model, spec.api_base): spec for spec in (*tiers.values(), *presets.values())}
    model = plain_model()
    for spec in each.values():
        asked = Request(spec, [message("user", "Answer with the word OK.")])
        refused = await _fails(model, replace(asked, tools=[_TOOL])) in _REFUSALS
        if refused and await _fails(model, asked) is None:
            yield Fault(
                f"model of {spec.name}",
                f"{spec.model} answers, but takes no tools: it can neither delegate nor ask",
                "name a model that takes tools",
            )


async def _fails(model: Model, request: Request) -> ModelErrorKind | None:
    """What is wrong with an answer is a finding of the doctor's; here only how it is refused."""
    try:
        async with asyncio.timeout(PATIENCE):
            await model.complete(request)
    except ModelError as error:
        return error.kind
    except TimeoutError:
        return ModelErrorKind.UNAVAILABLE
    return None
