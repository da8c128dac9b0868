"""Killed while branches are answered, summarised and left, over HTTP: what was answered is not
asked again, and the leaf is where it must be.

Several chats are brought to model calls that hang; then one process dies, and the next one carries
all of them on. That one finishes more, of which no platform hears before it dies too.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from agent.models.scripted import Rule
from tests.crash.patience import SECONDS, until
from tests.crash.rules import SUMMARY, parsed_rules
from tests.crash.scene import Scene, scene
from tests.crash.trees import Tree, Trees
from tests.stand_ins.model import Hang, ModelServer, Received
from tests.stand_ins.telegram_checks import Json
from tests.support.session_files import HEADER, file_of, user

pytestmark = pytest.mark.crash

FOR_EVER = 3600.0
"""Seconds."""
WINDOW = 8_000
"""Tokens."""
LONG = "word " * 1_200
"""With its answer, and one more, it is more than half of what the window holds."""

FILE = file_of(HEADER, user("a", None, "from a file"))

CHATS = ("compact", "grow", "leave", "retry", "edit", "draft", "wait", "reply", "fan")
CHAT = {name: number for number, name in enumerate(CHATS, start=1)}
"""What is tried in which chat. Everything said in it begins with its name."""


HANGS = {
    "compact": "/compact",
    "grow": f"grow two {LONG}",
    "leave": "/branch 3",
    "retry": "/retry other",
}
"""What leads to a model call at once."""
UNHEARD = {
    "compact": ("/branch 1", ["Summarising", "You are at the very beginning"]),
    "grow": ("/compact", ["Summarising", "Compacted at"]),
    "leave": ("/goto #4", ["You are after #4"]),
    "retry": ("/retry", ["answer to retry two"]),
    "draft": ("/fork #2", ["Forked after #2"]),
    "wait": ("/export", ["“wait one”"]),
    "fan": ("/fan 2 parent thinker", ["Asking", "1/2", "2/2", "The conversation goes on"]),
}
"""What is said last in a chat, and how the messages begin that answer it."""


def other_models() -> list[Rule]:
    """One that answers, one that thinks and then hangs, one that hangs at once; each of them hangs
    once."""
    thinks = {"tool_calls": [{"name": "think", "arguments": {"thought": "let me see"}}]}
    written: list[dict[str, Any]] = [
        {"when": {"tier": "thinker", "turn": 0}, "reply": thinks},
        {"when": {"tier": "thinker"}, "times": 1, "reply": {"delay": FOR_EVER}},
        {"when": {"tier": "sleeper"}, "times": 1, "reply": {"delay": FOR_EVER}},
        {"when": {"tier": "thinker"}, "reply": {"text": "thought about"}},
        {"when": {"tier": "sleeper"}, "reply": {"text": "slept over"}},
        {"when": {"tier": "other"}, "reply": {"text": "answer to {last}"}},
    ]
    return [Rule.model_validate(rule) for rule in written]


@dataclass
class Play:
    running: Scene
    trees: Trees
    models: ModelServer
    cut: list[Received] = field(default_factory=list)
    """Model calls that hang when a process is killed, and are to be made again."""
    given_up: list[Received] = field(default_factory=list)
    """Calls that hung, and that nobody waits for any more."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """What each chat has heard and was looked at."""

    def say(self, name: str, text: str, **more: Any) -> Json:
        chat = CHAT[name]
        said: Json = self.running.telegram.say(chat, chat, text, **more)["message"]
        return said

    def heard(self, name: str) -> list[Json]:
        """The messages of the bot in a chat."""
        return self.running.telegram.messages(CHAT[name])

    @asynccontextmanager
    async def hanging(self, calls: list[Received] | None = None) -> AsyncIterator[None]:
        """What is done within leads to a model call that hangs."""
        self.models.faults.append(Hang())
        yield
        await until(lambda: not self.models.faults)
        (self.cut if calls is None else calls).append(self.models.requests[-1])

    def look(self) -> dict[str, Tree]:
        return {name: self.trees.of(chat) for name, chat in CHAT.items()}

    def news(self) -> dict[str, list[str]]:
        """What each chat has heard since the last time."""
        before, self.texts = (
            self.texts,
            {name: self.running.telegram.texts(chat) for name, chat in CHAT.items()},
        )
        return {name: texts[len(before.get(name, ())) :] for name, texts in self.texts.items()}

    async def talk(self) -> dict[str, Json]:
        """Two exchanges in every chat, but one where a message is long. The last messages."""
        said = {}
        for word in ("one", "two"):
            for name in CHATS:
                if name != "grow":
                    said[name] = self.say(name, f"{name} {word}")
                elif word == "one":
                    said[name] = self.say(name, f"{name} {word} {LONG}")
            await self.running.quiet()
        return said

    async def hang(self, said: Mapping[str, Json]) -> None:
        """Bring every chat to a call that hangs."""
        telegram = self.running.telegram
        for name, text in HANGS.items():
            async with self.hanging():
                self.say(name, text)
        async with self.hanging():
            telegram.edit(said["edit"], "edit 2")
        async with self.hanging(self.given_up):
            draft = self.say("draft", "draft three")
        async with self.hanging():
            telegram.edit(draft, "draft 3")
        async with self.hanging():
            self.say("wait", "/compact")
        telegram.edit(self.say("wait", "wait three"), "wait 3")
        self.say("reply", "reply three", reply_to=self.heard("reply")[0])
        newest = await telegram.hears("answer to reply three", CHAT["reply"])
        async with self.hanging():
            telegram.press(newest, "Branch from there", CHAT["reply"])
        await self._fan()
        await self.running.recorded_as_sent()

    async def _fan(self) -> None:
        """One arm has answered, one hangs after a thought, one hangs at once."""
        first = len(self.models.requests)
        self.say("fan", "/fan 3 other thinker sleeper")

        def stages() -> tuple[bool, int]:
            tree = self.trees.of(CHAT["fan"])
            answered = len(tree.saying("answer to fan two")) == 2
            return answered, len(self.models.requests) - first

        await until(lambda: stages() == (True, 4))
        asked = self.models.requests[first:]
        self.cut.append(next(request for request in asked if request.model == "sleeper"))
        self.cut.append([request for request in asked if request.model == "thinker"][-1])

    async def finish_unheard(self) -> None:
        """Something in every chat is done to its end, and no platform hears of it."""
        telegram = self.running.telegram
        for method in ("sendMessage", "editMessageText", "sendDocument"):
            telegram.fail_next(method, times=1000)
        for name, (text, _) in UNHEARD.items():
            self.say(name, text)
        document = telegram.document("session.jsonl", FILE)
        self.say("reply", "/import", caption=True, document=document)
        newest = telegram.world.chats[CHAT["edit"]].messages
        mine = [one for one in newest.values() if one["from"]["id"] == CHAT["edit"]]
        telegram.edit(mine[-1], "edit 3")
        await telegram.wait_for(lambda: not telegram.world.pending, SECONDS)
        await until(lambda: not self.running.database.open_rows())


@dataclass(frozen=True, slots=True)
class Aftermath:
    dead: dict[str, Tree]
    """The trees when the first process had died."""
    alive: dict[str, Tree]
    """When the next one was done."""
    heard: dict[str, list[str]]
    """What the next one said."""
    shown: dict[str, list[list[str]]]
    """The buttons of those messages."""
    calls: Counter[str]
    cut: Counter[str]
    """How often each model call was made that was cut and is still wanted."""
    given_up: Counter[str]
    unheard: dict[str, Tree]
    """The trees when the second one had died."""
    late: dict[str, Tree]
    """When the third one was done."""
    late_heard: dict[str, list[str]]
    late_calls: int
    """How many model calls the third one made."""
    files: list[bytes]
    """What was exported."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    folder = tmp_path_factory.mktemp("branches")
    async with ModelServer([*other_models(), *parsed_rules()]) as models:
        parent = {"model": "parent", "api_base": models.url, "context_window": WINDOW}
        presets = {name: {**parent, "model": name} for name in ("other", "thinker", "sleeper")}
        session = {
            "branch_summaries": "auto",
            "compaction_threshold": 0.5,
            "keep_recent_tokens": 1000,
        }
        config = {"parent": parent, "presets": presets}
        access = {"owners": ["telegram:*"]}
        async with scene(folder, config, session=session, access=access) as running:
            return await _play(Play(running, Trees(folder), models))


async def _play(play: Play) -> Aftermath:
    running, telegram, requests = play.running, play.running.telegram, play.models.requests
    await play.hang(await play.talk())
    await running.gateway.kill()
    dead, _ = play.look(), play.news()
    await running.gateway.start()
    await running.quiet()
    alive, heard, made = play.look(), play.news(), _counted(requests)
    shown = {
        name: [telegram.labels(one) for one in play.heard(name)[-len(heard[name]) :]]
        for name in CHATS
    }
    await play.finish_unheard()
    await running.gateway.kill()
    telegram.recover()
    unheard, asked = play.look(), len(requests)
    assert not any(play.news().values())
    await running.gateway.start()
    await running.quiet()
    return Aftermath(
        dead,
        alive,
        heard,
        shown,
        made,
        Counter({key: made[key] for key in _counted(play.cut)}),
        Counter({key: made[key] for key in _counted(play.given_up)}),
        unheard,
        play.look(),
        play.news(),
        len(requests) - asked,
        [kept.content for one in play.heard("wait") if (kept := telegram.file(one)) is not None],
    )


def _counted(requests: Iterable[Received]) -> Counter[str]:
    return Counter(json.dumps(request.body, sort_keys=True) for request in requests)


def talk(name: str) -> list[str]:
    return [f"{name} one", f"answer to {name} one", f"{name} two", f"answer to {name} two"]


def test_a_call_that_was_cut_is_made_once_more(aftermath: Aftermath) -> None:
    assert len(aftermath.cut) == len(CHATS) + 1
    assert set(aftermath.cut.values()) == {2}


def test_a_call_for_a_text_that_was_changed_is_not_made_again(aftermath: Aftermath) -> None:
    assert list(aftermath.given_up.values()) == [1]


def test_no_other_call_is_made_twice(aftermath: Aftermath) -> None:
    assert set((aftermath.calls - aftermath.cut).values()) == {1}


def test_a_compaction_that_was_asked_for_is_made_once(aftermath: Aftermath) -> None:
    assert aftermath.dead["compact"].said() == talk("compact")
    tree = aftermath.alive["compact"]
    assert tree.said() == [*talk("compact"), SUMMARY]
    assert len(tree.of("compaction")) == 1
    (told,) = aftermath.heard["compact"]
    assert told.startswith("Compacted at #5")


def test_a_compaction_that_was_due_is_made_once_and_the_answer_follows(
    aftermath: Aftermath,
) -> None:
    assert len(aftermath.dead["grow"].own) == 3
    tree = aftermath.alive["grow"]
    assert [node.kind for node in tree.path()] == [*["message"] * 3, "compaction", "message"]
    assert len(tree.own) == 5
    assert "".join(aftermath.heard["grow"]).count("answer to grow two") == 1


def test_the_leaf_stays_until_the_summary_is_there_and_moves_once(aftermath: Aftermath) -> None:
    assert aftermath.dead["leave"].said() == talk("leave")
    assert aftermath.dead["leave"].moves == []
    tree = aftermath.alive["leave"]
    assert tree.said() == [*talk("leave")[:2], SUMMARY]
    assert len(tree.of("branch_summary")) == tree.moved("branch") == len(tree.moves) == 1
    (told,) = aftermath.heard["leave"]
    assert told.startswith("You are after #2")


def test_a_message_is_answered_again_once(aftermath: Aftermath) -> None:
    assert aftermath.dead["retry"].said() == talk("retry")[:3]
    tree = aftermath.alive["retry"]
    assert tree.said() == talk("retry")
    assert len(tree.saying("answer to retry two")) == 2
    assert tree.moved("retry") == len(tree.moves) == 1
    assert aftermath.heard["retry"] == ["answer to retry two"]
    assert aftermath.shown["retry"] == [["◀", "2/2", "▶"]]


def test_a_message_that_was_changed_is_asked_once_beside_the_old_one(aftermath: Aftermath) -> None:
    tree = aftermath.alive["edit"]
    assert tree.said() == [*talk("edit")[:2], "edit 2", "answer to edit 2"]
    assert len(tree.own) == 6
    assert tree.moved("edit") == len(tree.moves) == 1
    assert aftermath.heard["edit"] == ["answer to edit 2"]
    assert aftermath.shown["edit"] == [["◀", "2/2", "▶"]]


def test_a_message_that_was_changed_during_its_turn_is_answered_as_it_is_now(
    aftermath: Aftermath,
) -> None:
    tree = aftermath.alive["draft"]
    assert tree.said() == [*talk("draft"), "draft 3", "answer to draft 3"]
    (old,) = tree.saying("draft three")
    assert not any(node.kind == "message" and node.parent == old.id for node in tree.own)
    assert tree.moved("edit") == len(tree.moves) == 1
    assert aftermath.heard["draft"] == ["answer to draft 3"]


def test_a_waiting_message_that_was_changed_is_answered_as_it_is_now(aftermath: Aftermath) -> None:
    tree = aftermath.alive["wait"]
    assert tree.said() == [*talk("wait"), SUMMARY, "wait 3", "answer to wait 3"]
    assert len(tree.own) == 7
    compacted, answered = aftermath.heard["wait"]
    assert compacted.startswith("Compacted at #5")
    assert answered == "answer to wait 3"


def test_a_reply_is_asked_once_where_it_belongs(aftermath: Aftermath) -> None:
    tree = aftermath.alive["reply"]
    assert tree.said() == [*talk("reply")[:2], "reply three", "answer to reply three"]
    assert len(tree.own) == 8
    assert tree.moved("branch") == len(tree.moves) == 1
    assert aftermath.heard["reply"][-1] == "answer to reply three"
    assert aftermath.heard["reply"][:-1] in ([], ["Going on after #2."])


def test_each_arm_of_a_fan_is_answered_once(aftermath: Aftermath) -> None:
    tree = aftermath.alive["fan"]
    assert len(tree.saying("answer to fan two")) == 2
    assert len(tree.saying("thought about")) == len(tree.saying("slept over")) == 1
    assert len(tree.saying("Noted.")) == 1
    assert tree.said() == talk("fan")
    assert tree.moved("fan") == len(tree.moves) == 1
    headings = [text.partition("\n")[0] for text in aftermath.heard["fan"]]
    assert headings[:3] == ["1/3 · other", "2/3 · thinker", "3/3 · sleeper"]
    assert headings[3].startswith("The conversation goes on with 1/3")
    assert len(headings) == 4


@pytest.mark.parametrize("name", UNHEARD)
def test_what_was_done_and_not_sent_is_told_once(aftermath: Aftermath, name: str) -> None:
    heard, beginnings = aftermath.late_heard[name], UNHEARD[name][1]
    assert len(heard) == len(beginnings)
    for text, beginning in zip(heard, beginnings, strict=True):
        assert text.startswith(beginning)


def test_what_was_done_and_not_sent_is_not_done_again(aftermath: Aftermath) -> None:
    assert aftermath.late == aftermath.unheard
    assert aftermath.late_calls == 0


def test_a_file_that_was_not_sent_arrives_once(aftermath: Aftermath) -> None:
    (file,) = aftermath.files
    assert b"wait 3" in file


def test_what_was_taken_in_from_a_file_is_told_once(aftermath: Aftermath) -> None:
    (told,) = aftermath.late_heard["reply"]
    assert told.startswith("Taken in")
    assert aftermath.late["reply"].said() == ["from a file"]


def test_an_answer_to_a_changed_message_that_was_not_sent_is_told_once(
    aftermath: Aftermath,
) -> None:
    assert aftermath.late_heard["edit"] == ["answer to edit 3"]
