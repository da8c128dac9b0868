"""One process among those of a gateway."""

from dataclasses import dataclass

from gateway.processes.duties import Duties
from gateway.processes.leased_duties import duties_of
from gateway.processes.roles import Role
from gateway.processes.switchboard import Switchboard
from storage.store import Store


@dataclass(frozen=True, slots=True)
class Membership:
    role: Role
    switchboard: Switchboard
    duties: Duties

    @classmethod
    def of(cls, store: Store, role: Role) -> "Membership":
        switchboard = Switchboard(store)
        return cls(role, switchboard, duties_of(store, switchboard))
