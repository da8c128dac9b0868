"""The tools that models may call besides thoughts, files and delegation, and what keeps them going:
MCP servers, commands, the web client."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from agent.settings import resolve_template
from agent.tools.base import Kit, Tool, Toolset
from agent.tools.clarify import clarify_kit
from agent.tools.files.workspace import Workspace
from agent.tools.git.tools import git_kit
from agent.tools.mcp.servers import Servers
from agent.tools.memory.opening import opening
from agent.tools.memory.tool import memory_kit
from agent.tools.message import message_kit
from agent.tools.schedule.tool import schedule_kit
from agent.tools.terminal.elsewhere import TOPIC as COMMANDS
from agent.tools.terminal.named_files import Written
from agent.tools.terminal.terminal import Terminal
from agent.tools.terminal.tools import terminal_tools
from gateway.access.roles import Access
from gateway.chats.settings import ChatSettings
from gateway.commands.memory import tell_noted
from gateway.configuration.config import Config, own_files
from gateway.outbound.composer import Composer
from gateway.outbound.messenger import GatewayMessenger
from gateway.processes.shared_workspace import SharedWorkspace
from gateway.processes.switchboard import Switchboard
from gateway.turns.failures import once_there
from storage.records.entries import Draft
from storage.store import Store, Transaction

if TYPE_CHECKING:
    from agent.models.media.transcription import Transcriber
    from agent.tools.web.client import WebClient


KEPT = 86_400.0
"""Seconds in which what a dead process wrote of itself is still there: whether a child was paused
is asked by who takes it over."""


@dataclass(frozen=True, slots=True)
class Toolkits:
    """`start` before the first turn, `close` after the last."""

    settings: ChatSettings
    servers: Servers
    terminal: Terminal
    web: "WebClient | None"
    """None where no conversation has the toolset."""
    redact: Callable[[str], str]
    """A text without what must not be known."""
    shared: SharedWorkspace | None
    """None where no other process works in the same folders."""
    written: Written
    """What tools for files wrote: questions about commands tell it."""

    @classmethod
    def of(
        cls,
        settings: ChatSettings,
        store: Store,
        redact: Callable[[str], str],
        switchboard: Switchboard,
    ) -> "Toolkits":
        config = settings.config
        ours, secret = own_files(config)
        written = Written()
        terminal = Terminal(
            store, config.tools, ours=ours, secret=secret, redact=redact, written=written
        )
        switchboard.on(COMMANDS, terminal.heard)
        web = web_client(config) if Toolset.WEB in config.all_toolsets() else None
        shared = SharedWorkspace.of(config, store)
        return cls(settings, Servers(config.mcp), terminal, web, redact, shared, written)

    def kits(
        self, store: Store, composer: Composer, access: Access, given: tuple[Tool, ...]
    ) -> tuple[Kit, ...]:
        """`given`: tools that every agent gets besides."""
        messenger = GatewayMessenger(composer, access, self.settings.config.tools.message_targets)
        kits: tuple[Kit, ...] = (
            lambda _: given,
            clarify_kit,
            git_kit(self.workspace),
            message_kit(store, messenger, self.settings.toolsets_at, self.workspace, self.redact),
            memory_kit(store, partial(tell_noted, composer)),
            schedule_kit(store, self.settings.zone_at),
            self.servers.kit(self.workspace),
            partial(terminal_tools, self.terminal),
        )
        if self.web is None:
            return kits
        from agent.tools.web.tools import web_kit

        return (*kits, web_kit(self.web))

    async def start(self) -> None:
        """Start the servers, and tell of commands that the process before this one left.
        WorkspaceElsewhere where other workers use another folder."""
        if self.shared is not None:
            await once_there(self.shared.claim, "the workspace")
        self.servers.start()
        await self.terminal.recover()

    async def end_commands(self, session: int) -> int:
        """End what a chat's session runs in the background, in whichever process; how many there
        were."""
        return await self.terminal.stop_anywhere(session)

    async def look_after(self) -> None:
        """Now and then, where there are several processes: tell of commands of those that died,
        and remove what they left."""
        if self.terminal.store.jobs is not None:
            await self.terminal.recover()
            await self.terminal.store.run(lambda tx: tx.ephemeral.prune(KEPT))

    async def refresh(self) -> None:
        """Now and then, in each process: see that the workspace still is what others share."""
        if self.shared is not None:
            await self.shared.keep()

    async def ready(self, address: str) -> None:
        """Wait for the tools of a conversation that have only just been started."""
        await self.servers.ready(self.settings.toolsets_at(address))

    def opening(self, tx: Transaction, session: int, address: str, person: str) -> Draft | None:
        """What a session begins with, before its first message: the notes that were kept."""
        if Toolset.MEMORY not in self.settings.toolsets_at(address):
            return None
        return opening(tx, session, address, person)

    async def close(self) -> None:
        await self.terminal.close()
        await self.servers.close()
        if self.web is not None:
            self.web.close()

    def workspace(self, session: int) -> Workspace:
        return Workspace(resolve_template(self.settings.config.tools.workspace, session))


def web_client(config: Config) -> "WebClient":
    """What fetches and searches, for who closes it."""
    from agent.tools.web.client import WebClient

    return WebClient(config.web)


def transcriber_of(config: Config) -> "Transcriber | None":
    """What writes down voices; None where nothing does."""
    if config.models.transcription is None:
        return None
    from agent.models.media.transcription import Transcription

    return Transcription(config.models.transcription)
