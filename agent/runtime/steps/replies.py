"""What a model replied, as it is kept. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.models.base import Reply, ToolCall


def told_apart(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls with an id for each: some models give two calls the same one, or none."""
    found: dict[str, ToolCall] = {}
    numbers: Counter[str] = Counter()
    for call in calls:
        id_ = call.id
        while not id_ or id_ in found:
            numbers[call.id] += 1
            id_ = f"{call.id or 'call'}_{numbers[call.id] + 1}"
        found[id_] = replace(call, id=id_)
    return tuple(found.values())


def usage_json(reply: Reply) -> Mapping[str, object]:
    return {
        "input": reply.usage.input,
        "output": reply.usage.output,
        "cost": reply.usage.cost,
    }
