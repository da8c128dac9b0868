"""Whatever is said, moved, undone and labelled: the conversation is where a model that is too
simple to be wrong says it is."""

import asyncio
from dataclasses import dataclass, field

import hypothesis.strategies as st
from hypothesis import example, given

from tests.flow.conftest import Gateway, gateway
from tests.flow.walking import ECHO, ask, labels, numbers, talk
from tests.support.examples import examples
from tests.support.stores import open_fresh

PLACE = st.integers(0, 12)
STEPS = st.one_of(
    st.just("say"),
    st.builds("/branch {}".format, PLACE),
    st.builds("/goto {}".format, PLACE),
    st.builds("/goto {}".format, st.sampled_from("ab")),
    st.builds("/undo {}".format, st.integers(1, 3)),
    st.sampled_from(["/undo", "/redo"]),
    st.sampled_from(["say", "/undo", "/redo"]),
    st.just("/redo"),
    st.builds("/label {}".format, st.sampled_from("ab")),
    st.builds("/label {0[0]} {0[1]}".format, st.tuples(st.sampled_from("ab"), PLACE)),
    st.builds("/label -{}".format, st.sampled_from("ab")),
    st.sampled_from(["/tree all", "/branches", "/branch", "/label", "/diff 1", "/diff 2 5"]),
)


@dataclass
class Model:
    parents: list[int | None] = field(default_factory=list)
    """Of entry n at n - 1."""
    roles: list[str] = field(default_factory=list)
    leaf: int | None = None
    names: dict[str, int] = field(default_factory=dict)
    undone: list[tuple[int | None, int | None]] = field(default_factory=list)
    """Where each /undo came from, and went."""

    def path(self, leaf: int | None) -> list[int]:
        found: list[int] = []
        while leaf is not None:
            found.insert(0, leaf)
            leaf = self.parents[leaf - 1]
        return found

    def role(self, number: int) -> str:
        return self.roles[number - 1]

    def add(self, role: str) -> None:
        self.parents.append(self.leaf)
        self.roles.append(role)
        self.leaf = len(self.parents)

    def there_is(self, number: int) -> bool:
        return 1 <= number <= len(self.parents)

    def move(self, to: int | None, why: str = "") -> None:
        if to == self.leaf:
            return
        match why:
            case "undo":
                self.undone.append((self.leaf, to))
            case "redo":
                self.undone.pop()
            case _:
                self.undone.clear()
        self.leaf = to

    def take(self, step: str) -> None:
        command, _, argument = step.partition(" ")
        match command:
            case "say":
                self.add("user")
                self.add("assistant")
            case "/branch" if argument and self.there_is(int(argument)):
                number = int(argument)
                before = self.role(number) == "user"
                self.move(self.parents[number - 1] if before else number)
            case "/goto":
                number = self.names.get(argument) or (int(argument) if argument.isdigit() else 0)
                if self.there_is(number):
                    self.move(number)
            case "/undo":
                said = [n for n in self.path(self.leaf) if self.role(n) == "user"]
                if said:
                    self.move(self.parents[said[-int(argument or 1) :][0] - 1], "undo")
            case "/redo":
                self.redo()
            case "/label" if argument:
                self.label(argument)

    def redo(self) -> None:
        if not self.undone:
            return
        source, target = self.undone[-1]
        path, upper = self.path(self.leaf), self.path(target)
        below = path[len(upper) :]
        if path[: len(upper)] == upper and all(self.role(n) == "label" for n in below):
            self.move(source, "redo")

    def label(self, argument: str) -> None:
        name, _, number = argument.partition(" ")
        if name.startswith("-"):
            if self.names.pop(name[1:], None):
                self.add("label")
            return
        said = [n for n in self.path(self.leaf) if self.role(n) != "label"]
        if number and not self.there_is(int(number)):
            name = argument
        elif number:
            said = [int(number)]
        if said and self.names.get(name) != said[-1]:
            self.names = {one: at for one, at in self.names.items() if at != said[-1]}
            self.names[name] = said[-1]
            self.add("label")


@examples(0.4)
@given(st.lists(STEPS, min_size=5, max_size=16))
@example(["say", "/undo", "/undo", "/redo", "/redo", "/undo 2", "/redo"])
@example(["say", "/undo", "/label a", "/undo", "/label b", "/redo", "/label b", "/redo"])
@example(["/branch 1", "/label a 2", "say", "/undo", "/goto a", "say", "/redo", "/branches"])
def test_the_conversation_is_where_the_model_is(steps: list[str]) -> None:
    asyncio.run(_walk(steps))


async def _walk(steps: list[str]) -> None:
    store = await open_fresh()
    off = {"session": {"branch_summaries": "off"}}
    async with gateway(ECHO, store=store, config=off) as g:
        model = Model()
        await _take(g, model, "say")
        for step in steps:
            await _take(g, model, step)
            assert await numbers(store) == model.path(model.leaf), step
            assert await labels(store) == model.names, step


async def _take(g: Gateway, model: Model, step: str) -> None:
    model.take(step)
    if step == "say":
        await talk(g, f"message {len(model.parents)}")
    else:
        shown = await ask(g, step)
        assert "⚠️" not in shown.text, step
        assert len(shown.text) < 1_900
