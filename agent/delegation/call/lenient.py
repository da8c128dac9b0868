"""What the arguments of delegate_task plainly mean, in the form that `arguments` takes. Pure."""

from collections.abc import Collection

from agent.text.mending import Mending, under
from agent.text.untrusted import unquoted
from agent.tools.base import Toolset
from storage.records.entries import Json

_NUMBERS = ("max_iterations", "retry_on_fail")
_FLAGS = ("judge_sees_tools", "background")
_WORDS = {"role": ("leaf", "orchestrator"), "reasoning_effort": ("low", "medium", "high")}
_LEFT_OUT = ("goal", "role", "model", "reasoning_effort", "toolsets", "tasks")
"""What is not given where the text is empty."""
_TOOLSETS = tuple(Toolset)


def mended_task(given: Json, place: str, known: Collection[str], mending: Mending) -> Json:
    """One task's arguments; `place` is where they stand."""
    made = mending.keys(given, place, known)
    made = {k: v for k, v in made.items() if k not in _LEFT_OUT or v != ""}
    for key in _NUMBERS:
        if key in made:
            made[key] = mending.number(made[key], under(place, key))
    for key in _FLAGS:
        if key in made:
            made[key] = mending.flag(made[key], under(place, key))
    for key, words in _WORDS.items():
        if key in made:
            made[key] = mending.word(made[key], under(place, key), words)
    if "toolsets" in made:
        made["toolsets"] = _toolsets(made["toolsets"], under(place, "toolsets"), mending)
    return made


def _toolsets(value: object, place: str, mending: Mending) -> object:
    value = unquoted(value)
    if isinstance(value, str):
        mending.warn(place, "one text is read as a list of it")
        value = [name.strip() for name in value.split(",")]
    if not isinstance(value, list):
        return value
    return [mending.word(name, under(place, i), _TOOLSETS) for i, name in enumerate(value)]


def mended_tasks(value: object, mending: Mending) -> object:
    """The tasks of a batch as a list of objects."""
    value = unquoted(value)
    if isinstance(value, dict):
        mending.warn("tasks", "one task is read as a list of it")
        return [value]
    return value
