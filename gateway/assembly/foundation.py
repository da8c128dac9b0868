"""What every other part stands on."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from adapters.base import Adapter, Renderer
from adapters.pacing import Rates
from adapters.platforms import rates_of
from gateway.access.roles import Access
from gateway.chats.settings import ChatSettings
from gateway.configuration.config import Config
from gateway.configuration.current import Current
from gateway.monitoring.monitor import Monitor
from gateway.outbound.composer import Composer
from gateway.outbound.connections import Connections
from gateway.outbound.pace import Pace
from gateway.processes.duties import Duties
from gateway.processes.membership import Membership
from gateway.processes.roles import Role
from gateway.processes.shares import DELIVERY
from gateway.processes.switchboard import Switchboard
from gateway.questions.service import Questions
from gateway.status.carrying import Carrier
from gateway.status.notices import Notices
from storage.store import Store


@dataclass(frozen=True, slots=True)
class Outbound:
    """What is written for platforms, and how it gets there."""

    adapters: Mapping[str, Adapter]
    """By platform."""
    connections: Connections
    """Those of them that serve."""
    composer: Composer
    pace: Pace
    notices: Notices


@dataclass(frozen=True, slots=True)
class Foundation:
    settings: ChatSettings
    store: Store
    membership: Membership
    monitor: Monitor
    access: Access
    questions: Questions
    outbound: Outbound

    @property
    def config(self) -> Config:
        """As it was at the start: parts that may take over another one keep `live`."""
        return self.settings.config

    @property
    def switchboard(self) -> Switchboard:
        return self.membership.switchboard

    @property
    def live(self) -> Current[Config]:
        return self.settings.live


def foundation_of(
    settings: ChatSettings,
    store: Store,
    role: Role,
    adapters: Mapping[str, Adapter],
    monitor: Monitor,
    *,
    renderers: Mapping[str, Renderer],
    paced: bool,
) -> Foundation:
    """`renderers`: of each platform that is written for. `paced`: nothing is sent faster than
    platforms take it."""
    access = Access(settings.live)
    composer = Composer(renderers, settings.config.session.max_answer_messages)
    membership = Membership.of(store, role)
    duties = membership.duties
    rates = rates_of(settings.config) if paced else {}
    pace = _pace(duties, rates, monitor)
    carrier = None if duties.alone else Carrier(store, membership.switchboard, duties)
    connections = Connections()
    notices = Notices(connections, pace, duties, carrier)
    outbound = Outbound(adapters, connections, composer, pace, notices)
    return Foundation(
        settings, store, membership, monitor, access, Questions(composer, access), outbound
    )


def _pace(duties: Duties, rates: Mapping[str, Rates], monitor: Monitor) -> Pace:
    """`rates`: by platform. The processes that send share what it allows."""
    part = partial(duties.part, DELIVERY)
    pace = Pace(rates, throttled=monitor.observer.throttled, part=part)
    duties.watch(pace.divided_anew)
    return pace
