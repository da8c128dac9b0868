"""What takes in what platforms bring."""

from gateway.access.quota import Quota
from gateway.access.strangers import Strangers
from gateway.assembly.agents import Agents
from gateway.assembly.foundation import Foundation
from gateway.assembly.lanes import Lanes
from gateway.commands.context import CommandContext, Offered
from gateway.inbound.albums import Albums
from gateway.inbound.completions import Completions
from gateway.inbound.edits import Edits
from gateway.inbound.message_intake import MessageIntake
from gateway.inbound.newcomers import Newcomers
from gateway.inbound.press_check import PressCheck
from gateway.inbound.presses import Presses
from gateway.inbound.replies import Replies
from gateway.inbound.router import Router
from gateway.inbound.row_handler import RowHandler
from gateway.inbound.threads import Threads
from gateway.status.agents_panel import Live
from gateway.turns.arrivals import Arrivals
from gateway.turns.policy.due_turns import DueTurns


def router_of(base: Foundation, agents: Agents, lanes: Lanes, panel: Live, due: DueTurns) -> Router:
    context = CommandContext(
        base.store,
        base.settings,
        lanes.control,
        base.questions,
        base.outbound.composer,
        base.outbound.connections,
        panel,
        Offered(agents.model_access.models, agents.parent, agents.toolkits.servers.states),
    )
    strangers = Strangers(refused=base.monitor.observer.refused)
    rows = RowHandler(context, lanes.failures, Edits(context).edited)
    check = PressCheck(base.access, base.questions, lanes.control)
    arrivals = Arrivals(lanes.control, due, base.live.part(lambda now: Quota(now.limits)))
    return Router(
        context,
        base.access,
        _message_intake(base, strangers, rows, arrivals),
        Presses(context, base.access, strangers, check, rows.command, base.outbound.notices),
        rows,
        Completions(context, base.access),
        lanes.failures,
        strangers,
    )


def _message_intake(
    base: Foundation, strangers: Strangers, rows: RowHandler, arrivals: Arrivals
) -> MessageIntake:
    store, access, composer = base.store, base.access, base.outbound.composer
    return MessageIntake(
        store,
        access,
        Threads(base.settings, access),
        Albums(store),
        Replies(store, access, base.questions, composer),
        Newcomers(store, composer, access, strangers),
        rows,
        arrivals.talk,
    )
