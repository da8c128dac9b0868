"""A delegation's question as people read it, in Markdown: for who must decide, not for who wrote
the table. What models wrote and workers saw stands in code, so that it looks like nobody else's.
"""

from collections.abc import Iterator, Mapping

from agent.delegation.core.events import Delta
from agent.delegation.core.routes import NONE_OF_IT
from agent.delegation.core.state import State
from agent.text.formats import dollars
from agent.text.markdown import bounded, escape, literal
from storage.records.entries import Usage

_EXPECTED = 3
"""Conditions that are named."""
_TRIED = 3


def question_text(state: State, text: str) -> str:
    """What is asked. What each choice does is shown below it."""
    goal, asked = escape(bounded(state.task.goal, 120)), escape(bounded(text, 300))
    return f"**Decision needed** · {goal}\n\n> {asked}"


def question_details(state: State, spent: Mapping[str, Usage]) -> str:
    """What explains it: what was expected, what was seen and who says so, what was tried, what it
    cost. With the question it is short enough for one message. `spent` is by tier."""
    about = _about(state, state.delta) if state.delta is not None else ()
    tried = [*_tried(state), ""] if len(state.tried) > 1 else []
    return "\n".join([*about, *tried, _cost(spent)])


def _about(state: State, delta: Delta) -> Iterator[str]:
    if state.table is not None:
        yield f"**Expected:** {_expected([c.description for c in state.table.conditions])}"
    worker = "the worker" if state.task.worker == "worker" else f"the worker {state.task.worker}"
    yield f"**Found, says {escape(worker)}:** {_found(delta)}"
    if seen := delta.observed or delta.evidence:
        yield f"**Seen:** {literal(seen, 250)}"
    if delta.evidence not in ("", seen):
        yield f"**Evidence:** {literal(delta.evidence, 150)}"


def _found(delta: Delta) -> str:
    if delta.condition:
        return literal(delta.condition, 100)
    is_all = delta.plainly == NONE_OF_IT
    return "none of it" if is_all else f"none of it: {literal(delta.for_people, 120)}"


def _expected(conditions: list[str]) -> str:
    named = ", or ".join(literal(condition, 60) for condition in conditions[:_EXPECTED])
    more = len(conditions) - _EXPECTED
    return f"{named}, or {more} more" if more > 0 else named


def _tried(state: State) -> list[str]:
    """What came before this attempt, which is what the question is about."""
    before = state.tried[:-1][-_TRIED:]
    return ["**Tried so far:**", *(f"- {literal(done, 90)}" for done in before)]


def _cost(spent: Mapping[str, Usage]) -> str:
    usage = sum(spent.values(), Usage())
    calls = "1 model call" if usage.calls == 1 else f"{usage.calls} model calls"
    price = f"{dollars(usage.cost)} in " if usage.cost else ""
    return f"**Cost so far:** {price}{calls}"
