"""What runs as long as a gateway does."""

from adapters.platforms import bots_of
from gateway.access.menus import OwnersMenus
from gateway.assembly.agents import Agents
from gateway.assembly.foundation import Foundation
from gateway.assembly.lanes import Lanes
from gateway.inbound.router import Router
from gateway.outbound.delivery import Delivery
from gateway.retention.copies import Copies
from gateway.retention.forgetting import Forgetters
from gateway.retention.pruning import Pruning
from gateway.retention.service import Retention
from gateway.running.announcement import Announcement
from gateway.running.due_questions import DueQuestions
from gateway.running.housekeeping import Housekeeping
from gateway.running.loading import Loading
from gateway.running.pipeline import Pipeline
from gateway.running.platforms.outage_news import OutageNews
from gateway.running.platforms.platform_supervisor import PlatformSupervisor
from gateway.running.platforms.reception import Reception
from gateway.running.platforms.renewal import Renewal
from gateway.running.service import App
from gateway.running.upkeep import Upkeep
from gateway.schedules.due import DueSchedules
from gateway.schedules.firing import Firing
from gateway.turns.runner import TurnRunner


def app_of(
    base: Foundation,
    agents: Agents,
    lanes: Lanes,
    runner: TurnRunner,
    router: Router,
    loading: Loading,
) -> App:
    store, outbound, observer = base.store, base.outbound, base.monitor.observer
    duties, threads = base.membership.duties, base.settings.threads
    delivery = Delivery(store, outbound.connections, outbound.pace, threads, observer, duties)
    reception = Reception(base.membership.role, duties, Renewal(store, base.questions))
    platforms = PlatformSupervisor(
        outbound.adapters,
        outbound.connections,
        store,
        router,
        OutageNews(store, outbound.composer, base.access.owners, outbound.connections),
        delivery.notify,
        loading,
        reception,
        bots_of(base.settings.live.now),
    )
    housekeeping = Housekeeping(
        store,
        router,
        runner,
        lanes.scheduler,
        delivery,
        OwnersMenus(store, base.access, reception.here),
        agents.toolkits,
        reception,
    )
    return App(
        store,
        base.membership,
        platforms,
        Pipeline(
            store,
            outbound.adapters.keys(),
            router,
            lanes.scheduler,
            delivery,
            outbound.notices,
        ),
        agents.toolkits,
        _upkeep(base, agents, lanes, runner, housekeeping),
        base.monitor,
        Announcement(base.config, store, base.membership, router, platforms),
    )


def _upkeep(
    base: Foundation, agents: Agents, lanes: Lanes, runner: TurnRunner, housekeeping: Housekeeping
) -> Upkeep:
    # Strangers are whoever neither the file nor a chat lets do anything.
    blobs, may_command = runner.due.incoming.blobs, base.access.may_command
    copies = Copies(agents.toolkits.workspace)
    pruning = Pruning(base.store, base.settings, blobs, copies, may_command)
    return Upkeep(
        base.membership,
        base.store,
        housekeeping,
        DueSchedules(base.store, Firing(base.access, base.outbound.composer)),
        DueQuestions(base.store, base.questions),
        Retention(pruning, Forgetters(base.store, copies)),
        lanes.interruptions,
        lanes.local.run,
    )
