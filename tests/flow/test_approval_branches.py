"""A decided call that stands on several branches, and on the path of a fork: one word, one run."""

from adapters.recording import Shown
from storage.store import Store
from tests.flow.approving import Launch, launches, question_of
from tests.flow.conftest import Gateway, gateway
from tests.flow.delegating import ANSWER, says

RULES = [
    launches("a"),
    launches("b", last="^other"),
    says("hello", tier="parent", last="^hi"),
    ANSWER,
]


async def write(g: Gateway, *texts: str) -> None:
    for text in texts:
        await g.chat.say(text)
        await g.settled()


async def test_what_was_allowed_once_runs_on_one_branch_alone(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        question = await question_of(g)
        await write(g, "hi 1", "/goto 3", "hi 2")
        await g.chat.press(question, "Once")
        await g.settled()
        assert tool.launched == ["a"]
        for count, number in enumerate((4, 3), 1):
            await write(g, f"/goto {number}", "other")
            await g.hears("interrupted, outcome unknown", count=count)
        assert tool.launched == ["a"]


async def test_a_fork_does_not_run_what_was_allowed_before_it(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        question = await question_of(g)
        pressed = Shown(question.id, question.conversation, question.text, question.buttons)
        await write(g, "/fork")
        await g.chat.press(pressed, "Once")
        await g.settled()
        assert tool.launched == ["a"]
        await write(g, "other")
        await g.hears("is not what was approved")
        assert tool.launched == ["a"]
