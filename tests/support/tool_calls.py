"""What every provider refuses: a call without its result right below, a result without a call."""

from collections.abc import Iterable

from storage.records.entries import Json


def dangling(messages: Iterable[Json]) -> list[str]:
    """Ids of calls that are not answered right below their message, and of results that no call
    above them asked for."""
    faults: list[str] = []
    open_calls: list[str] = []
    for message in messages:
        if message["role"] != "tool":
            faults += open_calls
            open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        elif message["tool_call_id"] in open_calls:
            open_calls.remove(message["tool_call_id"])
        else:
            faults.append(message["tool_call_id"])
    return faults + open_calls
