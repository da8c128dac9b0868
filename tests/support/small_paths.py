"""Small paths of a session, written entry by entry."""

import json
from typing import Any

from storage.records.entries import Entry, Json, Kind, message, record


class SmallPath:
    """A path that grows; each method gives the entry it added."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    @property
    def path(self) -> tuple[Entry, ...]:
        return tuple(self.entries)

    def add(self, kind: Kind, body: Json) -> Entry:
        number = len(self.entries) + 1
        parent = self.entries[-1].id if self.entries else None
        entry = Entry(100 + number, 1, parent, number, number - 1, kind, body, "", 0, 0.0)
        self.entries.append(entry)
        return entry

    def user(self, text: str = "hi") -> Entry:
        return self.add(Kind.MESSAGE, message("user", text))

    def assistant(self, text: str | None = "hello", **more: Any) -> Entry:
        return self.add(Kind.MESSAGE, message("assistant", text, **more))

    def calls(self, *ids: str, tool: str = "look", text: str = "", **arguments: Any) -> Entry:
        """An assistant message that calls a tool once for each id."""
        function = {"name": tool, "arguments": json.dumps(arguments)}
        calls = [{"id": id_, "type": "function", "function": function} for id_ in ids]
        return self.assistant(text or None, tool_calls=calls)

    def result(self, caller: Entry, id_: str, text: str = "done", tool: str = "look") -> Entry:
        more = {"tool_call_id": id_, "name": tool, "call_entry": caller.id, "final": []}
        return self.add(Kind.MESSAGE, message("tool", text, **more))

    def suspended(self, caller: Entry, id_: str, text: str = "") -> Entry:
        more = {"tool_call_id": id_, "call_entry": caller.id, "question": 5, "result": text}
        return self.add(Kind.RECORD, record("suspended", **more))

    def called(self, id_: str, tool: str, result: str, **arguments: Any) -> Entry:
        """A call with its result; the entry is the call's."""
        caller = self.calls(id_, tool=tool, **arguments)
        self.result(caller, id_, result, tool)
        return caller

    def label(self) -> Entry:
        return self.add(Kind.LABEL, {"label": "here", "target": 1})

    def compaction(self, first_kept: int | None, summary: str = "so far", **more: Any) -> Entry:
        body = {"summary": summary, "first_kept": first_kept, "tokens_before": 1, **more}
        return self.add(Kind.COMPACTION, body)

    def branch_summary(self, summary: str = "we tried", **more: Any) -> Entry:
        return self.add(Kind.BRANCH_SUMMARY, {"summary": summary, "from": 1, **more})
