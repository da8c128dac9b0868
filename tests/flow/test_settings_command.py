"""/settings: what holds in a chat, chosen by buttons and in words."""

from typing import Any

from adapters.base import Acknowledge
from adapters.recording import Shown
from gateway.access.denials import NOT_YOUR_SETTINGS
from gateway.chats.settings import ChatSettings
from storage.records.chats.chat_settings import ChatChoice
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP, command, labels, newest, press
from tests.flow.conftest import ON_BOTH, Gateway, gateway

HERE = "telegram:1"
PEOPLE: dict[str, Any] = {
    "access": {
        "allow": ["telegram:*"],
        "owners": ["telegram:1"],
        "approvers": ["telegram:2"],
    }
}
OWNER, APPROVER, MEMBER = "1", "2", "3"


def held(g: Gateway) -> ChatSettings:
    return g.app.router.context.settings


async def rows(store: Store) -> list[ChatChoice]:
    return await store.read(lambda tx: tx.chat_settings.all())


def words_told(g: Gateway) -> list[str]:
    """What those who pressed were told, they alone."""
    return [one.text for one in g.chat.outgoing if isinstance(one, Acknowledge) and one.text]


async def in_group(g: Gateway, text: str, user: str) -> Shown:
    return await command(g, text, chat=GROUP, user=user)


@ON_BOTH
async def test_a_press_changes_what_holds_and_the_list_is_edited_in_place(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        shown = await command(g, "/settings")
        assert "• **busy** · interrupt: what is said during a turn begins it anew" in shown.text
        assert "answer" not in labels(shown)[0] and len(g.chat.shown) == 1
        assert labels(shown)[:3] == ["Stream: off", "Busy: queue", "Busy: steer"]
        await press(g, shown, "Busy: queue")
        assert shown.text.startswith("✅ busy: queue.")
        assert "• **busy** · queue (chosen here): " in shown.text
        assert len(g.chat.shown) == 1
        assert held(g).busy_at(HERE) == "queue"
        assert [(row.key, row.value, row.by) for row in await rows(store)] == [
            ("busy", "queue", "telegram:1")
        ]
        await press(g, shown, "Busy: default")
        assert held(g).busy_at(HERE) == "interrupt"
        assert await rows(store) == []


async def test_every_setting_is_chosen_by_its_button_and_taken_back_by_default(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store, config=PEOPLE) as g:
        at = f"telegram:{GROUP}"
        shown = await in_group(g, "/settings", OWNER)
        settings = held(g)
        for label in ("Stream: off", "Busy: steer", "Summaries: auto", "Answer: all"):
            await press(g, shown, label, user=OWNER)
        await press(g, shown, "Thoughts: on", user=OWNER)
        assert not settings.stream_at(at) and settings.busy_at(at) == "steer"
        assert settings.summaries_at(at) == "auto" and settings.answer_at(at) == "all"
        assert settings.thoughts_at(at)
        for key in ("Stream", "Busy", "Summaries", "Answer", "Thoughts"):
            await press(g, shown, f"{key}: default", user=OWNER)
        assert settings.stream_at(at) and settings.busy_at(at) == "interrupt"
        assert settings.summaries_at(at) == "ask" and settings.answer_at(at) == "mention"
        assert not settings.thoughts_at(at)
        assert await rows(store) == []


async def test_it_is_typed_too_and_what_is_wrong_is_said(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        assert "✅ stream: off." in (await command(g, "/settings stream off")).text
        assert not held(g).stream_at(HERE)
        assert "stream is off already." in (await command(g, "/settings Stream=OFF")).text
        assert "✅ stream: on." in (await command(g, "/settings stream default")).text
        wrong = (await command(g, "/settings steam off")).text
        assert "There is no setting steam." in wrong and "/settings stream" in wrong
        assert "**busy** may be interrupt, queue" in (await command(g, "/settings busy no")).text
        assert "for groups" in (await command(g, "/settings answer all")).text
        assert await rows(store) == []


async def test_in_a_group_others_get_words_and_nothing_changes(store: Store) -> None:
    async with gateway(ECHO, store=store, config=PEOPLE) as g:
        listed = await in_group(g, "/settings", OWNER)
        before = listed.text
        await press(g, listed, "Answer: all", user=MEMBER)
        assert listed.text == before and "Answer: all" in labels(listed)
        await g.chat.wait_for(lambda _: bool(words_told(g)))
        assert words_told(g) == [NOT_YOUR_SETTINGS]
        assert "Nothing was changed" in (await in_group(g, "/settings stream off", MEMBER)).text
        assert labels(await in_group(g, "/settings", MEMBER)) == []
        assert await rows(store) == []
        await press(g, listed, "Answer: all", user=APPROVER)
        assert [row.by for row in await rows(store)] == ["telegram:2"]
        assert "Chosen by User 2." in listed.text


async def test_an_outdated_list_shows_how_it_is_now_and_changes_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        old = await command(g, "/settings")
        await press(g, await command(g, "/settings"), "Busy: queue")
        await press(g, old, "Busy: steer")
        assert old.text.startswith("Somebody changed that since; nothing was done.")
        assert "• **busy** · queue (chosen here)" in old.text
        assert held(g).busy_at(HERE) == "queue"
        await press(g, old, "Busy: steer")
        assert held(g).busy_at(HERE) == "steer"


async def test_what_was_chosen_and_the_buttons_outlive_a_restart(database: str) -> None:
    async with gateway(ECHO, store=await SqlStore.open(database)) as g:
        await press(g, await command(g, "/settings"), "Stream: off")
        shown = newest(g)
    async with gateway(ECHO, store=await SqlStore.open(database)) as g:
        assert not held(g).stream_at(HERE)
        g.chat.shown[shown.id] = shown
        await press(g, shown, "Stream: default")
        assert held(g).stream_at(HERE)


async def test_a_topic_has_what_was_chosen_for_its_chat_unless_it_chose_itself(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store, config=PEOPLE) as g:
        chat, topic = f"telegram:{GROUP}", f"telegram:{GROUP}/7"
        await in_group(g, "/settings busy queue", OWNER)
        assert held(g).busy_at(topic) == "queue"
        await store.run(lambda tx: tx.chat_settings.choose(topic, "busy", "steer", HERE))
        assert (held(g).busy_at(topic), held(g).busy_at(chat)) == ("steer", "queue")
        await store.run(lambda tx: tx.chat_settings.take_back(topic, "busy"))
        assert held(g).busy_at(topic) == "queue"


async def test_what_another_process_chose_is_read_with_the_next_sweep(database: str) -> None:
    async with gateway(ECHO, store=await SqlStore.open(database)) as g:
        other = await SqlStore.open(database)
        await other.run(lambda tx: tx.chat_settings.choose(HERE, "busy", "steer", "telegram:1"))
        await other.run(lambda tx: tx.chat_settings.choose(HERE, "odd", "x", "telegram:1"))
        await other.close()
        await held(g).read(g.app.store)
        assert held(g).busy_at(HERE) == "steer"


async def test_owners_see_the_model_and_the_toolsets_too(store: Store) -> None:
    config = PEOPLE | {"tools": {"toolsets": ["file_read"]}}
    async with gateway(ECHO, store=store, config=config) as g:
        shown = await in_group(g, "/settings", OWNER)
        assert "Usual model: **parent** (/model)" in shown.text and "file" in shown.text
        assert "Usual model" not in (await in_group(g, "/settings", APPROVER)).text
