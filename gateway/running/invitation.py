"""Where nobody owns the bot, who started it is shown the code that makes its owner."""

import sys
from dataclasses import dataclass, field

from gateway.access.announcing import invitation
from gateway.inbound.router import Router
from gateway.processes.membership import Membership
from gateway.processes.shares import Share
from gateway.running.platforms.platform_supervisor import PlatformSupervisor
from gateway.turns.failures import once_there

INVITES = Share(("invite",), "invites:")
"""To show the code: one process does so of those that receive, and of the rest whoever goes on in
its place."""


@dataclass
class Invitation:
    pairing: bool
    """Whether the configuration lets people in by a code."""
    membership: Membership
    router: Router
    platforms: PlatformSupervisor
    _code: str = field(default="", init=False, repr=False)
    """Until it was shown."""

    def take_part(self) -> None:
        if self.membership.role.receives:
            self.membership.duties.want(INVITES, lambda _: True)

    async def make(self) -> None:
        """Make the code where it is to be shown here: before anything is received."""
        if self._wanted and self.membership.duties.mine(INVITES):
            self._code = await self.router.invite()

    async def run(self) -> None:
        """Show the code once somebody can be written to. Not in the log, which may be kept and
        read by others: to standard error itself."""
        if not self._wanted:
            return
        if not self._code:
            await self.membership.duties.other_than(INVITES, {})
            await once_there(self.make, "the owner code")
        await self.platforms.some_ready.wait()
        code, self._code = self._code, ""
        if self._wanted and code:
            print(invitation(code, self.platforms.signed_in), file=sys.stderr, flush=True)

    @property
    def _wanted(self) -> bool:
        receives = self.platforms.serve_others and self.membership.role.receives
        return receives and self.pairing and not self.router.access.owners()
