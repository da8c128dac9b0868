"""One workspace for all workers: what a session's tools wrote in one process must be there in
another. Each worker has a file with a name of its own making in the folder, and one such name is on
record in the database; who has another folder does not work.

The unique key of the record settles it where two begin at once. A fixed workspace is open to
commands, which may remove the file: whoever works there writes it again.
"""

import asyncio
import logging
import os
import re
import socket
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from agent.tools.base import Toolset
from gateway.configuration.config import Config
from gateway.errors import GatewayError
from storage.records.entries import Json
from storage.store import Store, Transaction

T = TypeVar("T")

log = logging.getLogger(__name__)

MARKER = ".bough-workspace"
FACT = "workspace"
"""What is on record: the name, and the place where it was written first."""
KIND = "works in the workspace"
"""Ephemeral rows: the workers that live, each with the host it runs on."""
IN_FOLDERS = frozenset({Toolset.FILE_READ, Toolset.FILE, Toolset.TERMINAL, Toolset.CODE})
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAME = re.compile(r"[0-9a-f]{32}")
_LONGEST = 200
"""Characters that are read of it."""
_LOOKS, _PAUSE = 5, 0.1
"""How often, and after how many seconds, an empty one is looked at again."""
ELSEWHERE = (
    "This process does not work: its workspace is not the folder that the other workers use, and "
    "sessions would miss their files. Here: {here}. On record: {there}{running}. Do one of these: "
    "put [tools] workspace on a volume that all worker hosts share; run workers on one host only; "
    "or, to go on with the folder here, stop the other workers, remove {marker} (if it exists), "
    "and start this process again."
)
TAKEN = (
    "The workspace is %s from now on; before, it was %s. No worker runs there. Copy the files of "
    "sessions from there where they are missing."
)


class WorkspaceElsewhere(GatewayError):
    """Other workers use another folder."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, as one host sees it."""

    host: str
    boot: str
    """Of this start of the host: names of hosts are not unique."""
    path: str
    device: int
    inode: int

    @classmethod
    def of(cls, root: Path) -> "Place":
        found = root.stat()
        boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""
        where = str(root.resolve())
        return cls(socket.gethostname(), boot, where, found.st_dev, found.st_ino)

    def __str__(self) -> str:
        return f"{self.path} on {self.host}"


def root_of(template: str) -> Path:
    """The folder of `[tools] workspace` that all sessions share."""
    parts = Path(template).parts
    fixed = next((at for at, part in enumerate(parts) if "{session}" in part), len(parts))
    return Path(*parts[:fixed])


@dataclass
class SharedWorkspace:
    store: Store
    root: Path
    wrong: str = field(default="", init=False)
    """Why this process should not work any more, for operators; "" where it may."""
    _claimed: "tuple[str, Place] | None" = field(default=None, init=False)
    """The name on record, and the folder, since `claim`."""

    @classmethod
    def of(cls, config: Config, store: Store) -> "SharedWorkspace | None":
        """None where no tool works in a folder, or this is the only process."""
        if store.jobs is None or not IN_FOLDERS & config.all_toolsets():
            return None
        return cls(store, root_of(config.tools.workspace))

    async def claim(self) -> None:
        """Before any tool runs. WorkspaceElsewhere where other workers use another folder."""
        name, new = await self._on_disk(partial(_marked, self.root))
        place = await self._on_disk(partial(Place.of, self.root))
        work = partial(_claim, name=name, new=new, place=place, process=self.store.process)
        found = await self.store.run(work)
        if found.refused:
            if new:  # nothing of ours stays in a folder that is not used
                await self._on_disk(partial((self.root / MARKER).unlink, missing_ok=True))
            log.error("%s", found.refused)
            raise WorkspaceElsewhere(found.refused)
        self._claimed = (found.name, place)
        if found.name != name:
            await self._on_disk(partial(_write, self.root / MARKER, found.name))
        if found.before:
            log.warning(TAKEN, place, found.before)

    async def keep(self) -> None:
        """Now and then: see that it still is the folder, and write its name again where a command
        removed it."""
        if self._claimed is None:
            return
        ours, claimed = self._claimed
        try:
            place, name, record = await self._seen()
        except WorkspaceElsewhere as error:
            self._is_wrong(str(error))
            return
        if place != claimed or record is None or record["name"] != ours:
            self._is_wrong(_elsewhere(place, record or {"place": asdict(claimed)}, []))
            return
        self.wrong = ""
        if name != ours:
            await self._on_disk(partial(_write, self.root / MARKER, ours))

    def _is_wrong(self, why: str) -> None:
        if not self.wrong:
            log.error("%s", why)
        self.wrong = "its folder is not the one that the workers share; the log has more"

    async def look(self) -> tuple[bool, str]:
        """Whether a worker could begin here, and in words; nothing is written."""
        if not self.root.exists():
            return True, f"{self.root} is not there yet"
        place, name, record = await self._seen()
        if record is None:
            return True, f"no worker has used {place} yet"
        if name == record["name"] or record["place"] == asdict(place):
            return True, f"{place} is what the workers share"
        living = await self.store.read(partial(_living, process=""))
        if not name and not living:
            return True, f"{place} takes the place of {_shown(record)} when a worker begins here"
        return False, _elsewhere(place, record, living)

    async def _seen(self) -> tuple[Place, str, Json | None]:
        """The folder, what stands in its file, and what is on record."""
        place = await self._on_disk(partial(Place.of, self.root))
        name = await asyncio.to_thread(_read, self.root / MARKER)
        return place, name, await self.store.read(lambda tx: tx.directory.fact(FACT))

    async def _on_disk(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise WorkspaceElsewhere(
                f"[tools] workspace: {self.root} cannot be used: {error.strerror}. Make it a "
                "folder that this user may write."
            ) from error


@dataclass(frozen=True, slots=True)
class _Claimed:
    name: str = ""
    """What is on record now."""
    refused: str = ""
    before: str = ""
    """The folder that it takes the place of."""


def _claim(tx: Transaction, name: str, new: bool, place: Place, process: str) -> _Claimed:
    """`new`: the folder had no name before."""
    record: Json | None = tx.directory.fact(FACT)
    living, before = _living(tx, process), ""
    if record is not None and record["name"] != name and record["place"] != asdict(place):
        if living or not new:
            return _Claimed(refused=_elsewhere(place, record, living))
        before, record = _shown(record), None
    if record is None:
        record = {"name": name, "place": asdict(place)}
        tx.directory.set_fact(FACT, record)
    tx.ephemeral.put(KIND, process, process, {"host": place.host})
    return _Claimed(record["name"], before=before)


def _living(tx: Transaction, process: str) -> list[str]:
    """The hosts of other workers that live."""
    rows = tx.ephemeral.of(KIND)
    return sorted({str(row.body["host"]) for row in rows if row.owner != process})


def _elsewhere(place: Place, record: Json, living: list[str]) -> str:
    running = f", with workers on {', '.join(living)}" if living else ""
    marker = Path(place.path) / MARKER
    return ELSEWHERE.format(here=place, there=_shown(record), running=running, marker=marker)


def _shown(record: Json) -> str:
    return str(Place(**record["place"]))


def _marked(root: Path) -> tuple[str, bool]:
    """The name that stands in the folder, and whether it is new. Of two that begin at once in one
    folder, both get the name of the first."""
    root.mkdir(parents=True, exist_ok=True)
    marker, name = root / MARKER, uuid.uuid4().hex
    for _ in range(_LOOKS):
        try:
            with os.fdopen(
                os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w"
            ) as new:
                new.write(name)
        except FileExistsError:
            if found := _read(marker):
                return found, False
            time.sleep(_PAUSE)  # somebody is about to write it
        else:
            return name, True
    _write(marker, name)  # what stood there, no worker wrote
    return name, True


def _read(marker: Path) -> str:
    """The name in it; "" where there is none."""
    try:
        with os.fdopen(os.open(marker, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
            text = file.read(_LONGEST).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text if _NAME.fullmatch(text) else ""


def _write(marker: Path, name: str) -> None:
    """In the place of whatever is there."""
    beside, path = tempfile.mkstemp(prefix=MARKER, dir=marker.parent)
    with os.fdopen(beside, "w") as file:
        file.write(name)
    try:
        Path(path).replace(marker)
    except OSError:
        Path(path).unlink()
        raise
