"""What shows children, and does to them what is pressed, in whatever process they are."""

from functools import partial

from agent.delegation.children.presence import TOPIC as CHILD
from gateway.assembly.agents import Agents
from gateway.assembly.foundation import Foundation
from gateway.status.agents_panel import Live
from gateway.status.child_control import heard


def panel_of(base: Foundation, agents: Agents) -> Live:
    active = agents.children.active
    base.switchboard.on(CHILD, partial(heard, active))
    return Live(base.store, base.outbound.notices, base.outbound.composer, active)
