"""What a gateway says when it starts to serve: in the log, to its owners, and to who started it."""

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field

from gateway.access.announcing import NOBODY, NOBODY_YET, who_may_talk
from gateway.configuration.config import Config
from gateway.inbound.router import Router
from gateway.processes.membership import Membership
from gateway.processes.roles import Role
from gateway.running.invitation import Invitation
from gateway.running.loss import tell_owners
from gateway.running.platforms.platform_supervisor import PlatformSupervisor
from storage.store import Store

log = logging.getLogger(__name__)


@dataclass
class Announcement:
    config: Config
    store: Store
    membership: Membership
    router: Router
    platforms: PlatformSupervisor
    invitation: Invitation = field(init=False)

    def __post_init__(self) -> None:
        pairing = self.config.access.pairing
        self.invitation = Invitation(pairing, self.membership, self.router, self.platforms)

    def tasks(self, ready: "asyncio.Event | None") -> Mapping[str, Coroutine[object, object, None]]:
        """By name. `ready` is set when every platform is served."""
        return {"announce": self._announce(ready), "invitation": self.invitation.run()}

    async def _announce(self, ready: "asyncio.Event | None") -> None:
        await self.platforms.settled.wait()
        if self.platforms.serve_others:
            self._say_who_may_talk()
        if ready is not None:
            await self.platforms.all_ready.wait()
            ready.set()
        if warning := await self.store.warning():
            log.warning("%s", warning)
            owners = self.router.access.owners()
            await tell_owners(f"⚠️ {warning}.", owners, self.platforms.serving)

    def _say_who_may_talk(self) -> None:
        file, access = self.config.file, self.router.access
        parent = self.router.context.offered.models.tier("parent")
        read = (
            f"{file}" if file.exists() else f"{file} is not there, so defaults and the environment"
        )
        role = self.membership.role
        part = "" if role is Role.ALL else f". Role: {role}"
        log.info("Configuration: %s. Model: %s%s", read, parent.model, part)
        if access.someone_talks():
            log.info("Who may talk: %s", who_may_talk(access))
        else:
            code = self.router.messages.newcomers.owner_code
            log.warning("%s", NOBODY_YET if code.open else NOBODY)
