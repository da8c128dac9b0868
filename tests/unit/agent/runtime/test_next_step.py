from typing import Any

from agent.runtime.next_step import (
    CallModel,
    Ended,
    Nothing,
    RunTools,
    Suspended,
    calls_of,
    next_step,
    rounds,
    suspended_calls,
    tool_message,
)
from storage.records.entries import CUT, Entry, Kind, message, record


class Path:
    """Builds a path, entry by entry."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, kind: Kind, body: dict[str, Any]) -> Entry:
        number = len(self.entries) + 1
        parent = self.entries[-1].id if self.entries else None
        entry = Entry(number, 1, parent, number, number - 1, kind, body, "", 0, 0.0)
        self.entries.append(entry)
        return entry

    def user(self, text: str = "hi") -> "Path":
        self.add(Kind.MESSAGE, message("user", text))
        return self

    def assistant(self, text: str = "", calls: tuple[str, ...] = ()) -> "Path":
        made = [
            {"id": call, "type": "function", "function": {"name": "think", "arguments": "{}"}}
            for call in calls
        ]
        self.add(Kind.MESSAGE, message("assistant", text, **({"tool_calls": made} if made else {})))
        return self

    def result(self, call_id: str, caller: int) -> "Path":
        entry = self.entries[caller - 1]
        call = next(call for call in calls_of(entry) if call.id == call_id)
        self.add(Kind.MESSAGE, tool_message(call, entry.id, "done"))
        return self

    def suspended(self, call_id: str, caller: int, question: int = 5) -> "Path":
        self.add(
            Kind.RECORD,
            record("suspended", tool_call_id=call_id, call_entry=caller, question=question),
        )
        return self


def test_an_empty_session_has_nothing_to_do() -> None:
    assert next_step([]) == Nothing()


def test_a_message_is_answered_by_the_model() -> None:
    assert next_step(Path().user().entries) == CallModel()


def test_an_answer_ends_the_turn() -> None:
    path = Path().user().assistant("hello").entries
    assert next_step(path) == Ended(path[-1])


def test_an_answer_that_broke_off_is_gone_on_with() -> None:
    path = Path().user()
    path.add(Kind.MESSAGE, message("assistant", "Once upon", stop=CUT))
    assert next_step(path.entries) == CallModel()


def test_calls_without_results_are_run() -> None:
    path = Path().user().assistant(calls=("a", "b")).result("a", 2).entries
    step = next_step(path)
    assert isinstance(step, RunTools)
    assert [call.id for call in step.calls] == ["b"]


def test_a_turn_whose_calls_all_wait_for_people_sleeps() -> None:
    path = Path().user().assistant(calls=("a",)).suspended("a", 2).entries
    assert next_step(path) == Suspended()


def test_the_model_goes_on_with_the_others_when_only_some_wait() -> None:
    path = Path().user().assistant(calls=("a", "b")).suspended("a", 2).result("b", 2).entries
    assert next_step(path) == CallModel()


def test_the_result_of_a_decision_wakes_a_sleeping_turn() -> None:
    path = Path().user().assistant(calls=("a",)).suspended("a", 2).result("a", 2).entries
    assert next_step(path) == CallModel()


def test_a_late_result_is_news_even_where_its_call_id_was_used_again() -> None:
    path = Path().user().assistant(calls=("a",)).suspended("a", 2).user("and now?")
    path.assistant(calls=("a",)).result("a", 5).assistant("busy").result("a", 2)
    assert next_step(path.entries) == CallModel()


def test_talk_during_a_wait_is_answered() -> None:
    path = Path().user().assistant(calls=("a",)).suspended("a", 2).user("hello?").entries
    assert next_step(path) == CallModel()


def test_records_and_labels_after_an_answer_change_nothing() -> None:
    path = Path().user().assistant("hello")
    path.add(Kind.LABEL, {"label": "here", "target": 2})
    path.add(Kind.RECORD, record("failed"))
    assert isinstance(next_step(path.entries), Ended)


def test_rounds_count_model_calls_since_the_last_word_from_outside() -> None:
    path = Path().user().assistant("one").user()
    path.assistant(calls=("a",)).result("a", 4).assistant(calls=("b",)).result("b", 6)
    assert rounds(path.entries) == 2


def test_a_late_result_starts_the_count_anew() -> None:
    path = Path().user().assistant(calls=("a",)).suspended("a", 2).user().assistant("wait")
    assert rounds(path.result("a", 2).entries) == 0


def test_suspended_calls_are_those_without_a_result() -> None:
    path = Path().user().assistant(calls=("a", "b")).suspended("a", 2, 5).suspended("b", 2, 6)
    assert suspended_calls(path.entries) == {(2, "a"): 5, (2, "b"): 6}
    assert suspended_calls(path.result("a", 2).entries) == {(2, "b"): 6}
