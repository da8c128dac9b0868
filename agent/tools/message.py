"""send_message and send_file: what the agent sends to people besides its answers.

Who may be written to is the gateway's business, and so is how a message becomes rows of the outbox:
a `Messenger` that it gives. What is sent goes out with the transaction that appends the call's
result, so it is sent once, whatever is killed in between.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import ToolError
from agent.text.untrusted import visible
from agent.tools.base import (
    NOTHING_DONE,
    Also,
    Call,
    Done,
    Effects,
    Kit,
    OutFile,
    Requested,
    Setting,
    Tool,
    Toolset,
    Traits,
    parse_arguments,
    validate,
    with_parts,
)
from agent.tools.files.common import FILE_THREADS
from agent.tools.files.workspace import Content, Workspace, WorkspaceError, shown
from storage.records.entries import Entry, Json, Kind
from storage.store import Store, Transaction

HERE = "here"
MOST_TEXT = 4_000
"""Characters of a message."""
MOST_CAPTION = 900
"""Characters; every platform shows so many below a file."""
MOST_SENT = 10
"""Messages and files of one turn, beside its answers."""
MOST_BYTES = 100_000_000
"""Of the files of one reply: they are in memory together until their results are kept."""
_LOOKED_AT = 400
"""Entries in which a turn's sendings are counted."""


@dataclass(frozen=True, slots=True)
class Target:
    """A conversation that may be written to for whoever asks."""

    address: str
    elsewhere: bool
    """It is not the conversation that asks."""


class Messenger(Protocol):
    """The gateway's side: who may be written to, and how."""

    def target(self, tx: Transaction, call: Call, target: str) -> Target:
        """The conversation that a model names. ToolError where it names none, or one that may not
        be written to for whoever asks."""
        ...

    def message(self, call: Call, target: Target, text: str) -> Also:
        """What puts a message, in Markdown, into the outbox."""
        ...

    def largest_file(self, address: str) -> int:
        """Bytes of a file that the platform of a conversation takes."""
        ...


class MessageArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    target: str = Field(
        max_length=300,
        description='The conversation: "here", or its address like "telegram:-1001234", '
        '"discord:42".',
    )
    text: str = Field(max_length=MOST_TEXT, description="The message, in Markdown.")


class SendMessage:
    name = "send_message"
    description = (
        "Send a message besides your answer: here at once, or to another conversation of the "
        "person you work for, which a person may have to allow. Your answers go out by themselves."
    )
    parameters = MessageArguments.model_json_schema()
    # Sent with its own result: a call without one has sent nothing.
    traits = Traits(Effects.CHANGES, Toolset.MESSAGE, repeatable=True, asks_when="elsewhere")

    def __init__(self, store: Store, messenger: Messenger) -> None:
        self._store = store
        self._messenger = messenger

    async def requested(self, call: Call) -> Requested:
        target, text = await self._checked(call)
        return Requested(
            line=f"{target.address} {' '.join(text.split())}",
            shown=text,
            where=f"to {target.address}" if target.elsewhere else "to this conversation",
            asks=target.elsewhere,
        )

    async def run(self, call: Call) -> Done:
        """What was allowed days ago is checked anew."""
        target, text = await self._checked(call)
        where = target.address if target.elsewhere else "this conversation"
        return Done(f"Sent to {where}.", also=self._messenger.message(call, target, text))

    async def _checked(self, call: Call) -> tuple[Target, str]:
        arguments = validate(MessageArguments, call.arguments)
        text = visible(arguments.text).strip()
        if not text:
            raise ToolError(f"text: there are no words in it; {NOTHING_DONE}")
        name = arguments.target.strip()

        def read(tx: Transaction) -> Target:
            _count(tx, call)
            return self._messenger.target(tx, call, name)

        return await self._store.read(read), text


class FileArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="The file, relative to the workspace.")
    caption: str = Field(
        default="", max_length=MOST_CAPTION, description="What is said with it, in Markdown."
    )


class SendFile:
    name = "send_file"
    description = (
        "Send a file of the workspace to the people of this conversation. A picture (PNG, JPEG, "
        "GIF, WebP) is shown as one, everything else as a document."
    )
    parameters = FileArguments.model_json_schema()
    # Sent with its own result, as above.
    traits = Traits(Effects.CHANGES, Toolset.MESSAGE, repeatable=True)

    def __init__(
        self,
        store: Store,
        messenger: Messenger,
        find: Callable[[int], Workspace],
        redact: Callable[[str], str],
    ) -> None:
        """`find`: the workspace of a session; it must not block."""
        self._store = store
        self._messenger = messenger
        self._find = find
        self._redact = redact

    async def requested(self, call: Call) -> Requested:
        """With the path as the tools for files give it: a rule for `*_file` is for this one too."""
        _, path = await self._path(call)
        await self._store.read(lambda tx: _count(tx, call))
        line = json.dumps({**call.arguments, "path": path}, sort_keys=True, ensure_ascii=False)
        return Requested(line, shown(path), "to this conversation", "json", asks=False)

    async def run(self, call: Call) -> Done:
        arguments, path = await self._path(call)
        before = await self._store.read(lambda tx: _count(tx, call))
        most = self._messenger.largest_file(call.address)
        workspace = self._find(call.session)
        try:
            content = await FILE_THREADS.run(
                call.address, partial(_read, workspace, path, most, before)
            )
        except WorkspaceError as error:
            raise ToolError(f"{error}; nothing was sent") from None
        if not content.data:
            raise ToolError(f"{shown(path)}: the file is empty; nothing was sent")
        if await FILE_THREADS.run(call.address, partial(_tells, content.data, self._redact)):
            raise ToolError(
                f"{shown(path)}: a secret of this bot stands in it, which no chat is to see; "
                "nothing was sent"
            )
        file = OutFile(
            PurePosixPath(shown(path)).name,
            content.data,
            picture=True,
            caption=visible(arguments.caption).strip(),
        )
        return Done(f"Sent {shown(path)}: {len(content.data):,} bytes.", files=(file,))

    async def _path(self, call: Call) -> tuple[FileArguments, str]:
        arguments = validate(FileArguments, call.arguments)
        workspace = self._find(call.session)
        try:
            return arguments, await FILE_THREADS.run(
                call.address, partial(workspace.file_path, arguments.path)
            )
        except WorkspaceError as error:
            raise ToolError(f"{error}; nothing was sent") from None


def message_kit(
    store: Store,
    messenger: Messenger,
    toolsets_at: Callable[[str], frozenset[str]],
    find: Callable[[int], Workspace],
    redact: Callable[[str], str] = str,
) -> Kit:
    """send_message; and send_file where files may be read too. `redact`: a text without what must
    not be known; a file that has such a thing is not sent."""

    def kit(setting: Setting) -> tuple[Tool, ...]:
        if setting.child:
            return ()
        sends = SendMessage(store, messenger)
        reads = Toolset.FILE_READ in with_parts(toolsets_at(setting.address))
        return (sends, SendFile(store, messenger, find, redact)) if reads else (sends,)

    return kit


def _read(workspace: Workspace, path: str, most: int, before: Sequence[Json]) -> Content:
    """A file of at most `most` bytes. ToolError where the files of the calls `before` it in the
    same reply leave no room for it."""
    room = MOST_BYTES - sum(_size(workspace, each.get("path")) for each in before)
    if room < workspace.stat(path).state.size:
        raise ToolError(
            f"{shown(path)}: the files of one reply may have {MOST_BYTES:,} bytes together; "
            "nothing was sent. Send it in your next reply"
        )
    return workspace.read(path, most)


def _tells(data: bytes, redact: Callable[[str], str]) -> bool:
    """Whether bytes hold what must not be known, in whichever encoding that keeps ASCII."""
    text = data.decode("latin-1")
    return redact(text) != text


def _size(workspace: Workspace, path: object) -> int:
    try:
        return workspace.stat(str(path)).state.size
    except WorkspaceError:
        return 0  # which its own call is told


def _count(tx: Transaction, call: Call) -> list[Json]:
    """The arguments of the calls before this one in its reply that send something. ToolError where
    a turn sends too much. Calls are counted, in their order, and not results: so those of one
    reply, which run side by side, do not pass the limit together."""
    sent = 0
    beside: list[Json] = []
    for entry in reversed(tx.tree.path_end(call.entry, _LOOKED_AT)):
        if entry.kind is not Kind.MESSAGE:
            continue
        if entry.body["role"] == "user":
            break
        made = _sendings(entry, call)
        beside = made if entry.id == call.entry else beside
        sent += len(made)
    if sent >= MOST_SENT:
        raise ToolError(
            f"{MOST_SENT} messages and files are the most in one turn; nothing was sent. Say the "
            "rest in your answer"
        )
    return beside


def _sendings(entry: Entry, call: Call) -> list[Json]:
    """The arguments of an entry's calls that send something, up to this call."""
    found: list[Json] = []
    for made in entry.body.get("tool_calls") or ():
        if entry.id == call.entry and made["id"] == call.id:
            break
        function = made["function"]
        if function["name"] in (SendMessage.name, SendFile.name):
            try:
                found.append(parse_arguments(function["arguments"]))
            except ToolError:
                found.append({})  # counted all the same; its own result says what was wrong
    return found
