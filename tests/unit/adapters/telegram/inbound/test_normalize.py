import json
from dataclasses import replace
from typing import Any

import pytest
import telegram
from hypothesis import given
from hypothesis import strategies as st

from adapters.events import Conversation, File, Message, Press, User
from adapters.telegram.inbound.normalize import normalize
from tests.stand_ins.telegram_checks import Json
from tests.stand_ins.telegram_world import World

BOT = {"id": 77, "is_bot": True, "first_name": "Bough", "username": "bough_bot"}
ME = telegram.User(77, "Bough", True, username="bough_bot")
PRIVATE, GROUP, FORUM = 1001, -55, -1_000_000_000_001


@pytest.fixture
def world() -> World:
    world = World(BOT, lambda: 1_700_000_000.0, lambda: None)
    world.person(1001, "Ann")
    return world


def normalized(update: Json) -> Message | Press | None:
    return normalize(telegram.Update.de_json(update, None), ME)


def message(update: Json) -> Message:
    arrived = normalized(update)
    assert isinstance(arrived, Message)
    return arrived


def test_a_private_message_carries_who_where_and_what(world: World) -> None:
    world.people[1001]["last_name"] = "Lee"
    said = world.say(PRIVATE, 1001, "hello")
    assert message(said) == Message(
        key="telegram:1001:1",
        conversation=Conversation("telegram", "1001"),
        user=User("telegram", "1001", "Ann Lee"),
        text="hello",
        message_id="1",
        private=True,
        sent=float(said["message"]["date"]),
    )


def test_the_key_names_the_message_and_not_the_update(world: World) -> None:
    update = world.say(PRIVATE, 1001, "hello")
    again = {**update, "update_id": 5}
    assert message(update).key == message(again).key


def test_talk_in_a_group_that_is_said_to_nobody_is_not_addressed(world: World) -> None:
    said = message(world.say(GROUP, 1001, "lunch?"))
    assert (said.text, said.addressed) == ("lunch?", False)
    assert message(world.say(GROUP, 1001, "@bough_bot lunch?")).addressed
    assert message(world.say(PRIVATE, 1001, "lunch?")).addressed


def test_talk_in_a_group_that_is_for_somebody_else_is_nothing(world: World) -> None:
    theirs = world.say(GROUP, 1002, "the plan")["message"]
    assert normalized(world.say(GROUP, 1001, "well", reply_to=theirs)) is None
    assert normalized(world.say(GROUP, 1001, "hey @somebody_else")) is None


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("@bough_bot what now?", "what now?"),
        ("@Bough_Bot, what now?", "what now?"),
        ("what now, @bough_bot?", "what now?"),
        ("tell me @bough_bot what now", "tell me what now"),
        ("what now @bough_bot", "what now"),
        ("what now,\n@bough_bot", "what now"),
        ("what @bough_bot, now", "what, now"),
        ("😀 @bough_bot 😀 now", "😀 😀 now"),
        ("first\n@bough_bot second", "first\nsecond"),
        ("@bough_bot\n    indented", "    indented"),
        ("@bough_bot @bough_bot hi", "hi"),
        ("@bough_bot", ""),
        ("@bough_bot /new", "/new"),
        ("@bough_bot /new@bough_bot now", "/new now"),
    ],
)
def test_a_mention_calls_the_bot_and_is_cut_out(world: World, said: str, heard: str) -> None:
    arrived = message(world.say(GROUP, 1001, said))
    assert arrived.text == heard
    assert not arrived.private


def test_a_name_that_telegram_did_not_mark_is_no_mention(world: World) -> None:
    update = world.say(GROUP, 1001, "mail me at @bough_bot")
    del update["message"]["entities"]
    assert not message(update).addressed


def test_a_mention_by_id_calls_the_bot(world: World) -> None:
    entity = {"type": "text_mention", "offset": 3, "length": 5, "user": BOT}
    assert message(world.say(GROUP, 1001, "😀 Bough hi", entities=[entity])).text == "😀 hi"


def test_a_mention_by_id_of_somebody_else_is_nothing(world: World) -> None:
    other = {"id": 5, "is_bot": False, "first_name": "Bough"}
    entity = {"type": "text_mention", "offset": 0, "length": 5, "user": other}
    assert normalized(world.say(GROUP, 1001, "Bough hi", entities=[entity])) is None


@pytest.mark.parametrize(
    ("said", "heard"),
    [("/stop", "/stop"), ("/new@bough_bot", "/new"), ("/goto@BOUGH_bot 12", "/goto 12")],
)
def test_a_command_in_a_group_is_for_the_bot(world: World, said: str, heard: str) -> None:
    assert message(world.say(GROUP, 1001, said)).text == heard


def test_a_command_for_another_bot_is_not_ours(world: World) -> None:
    assert normalized(world.say(GROUP, 1001, "/new@other_bot @bough_bot")) is None


def test_a_command_in_the_middle_of_group_talk_is_not_for_the_bot(world: World) -> None:
    assert not message(world.say(GROUP, 1001, "try /help@bough_bot")).addressed


def test_a_reply_to_the_bot_is_for_the_bot_and_quotes_nothing(world: World) -> None:
    ours = world.message(world.chat(GROUP), BOT, text="our words")
    arrived = message(world.say(GROUP, 1001, "why?", reply_to=ours))
    assert (arrived.text, arrived.quoted) == ("why?", "")


def test_a_reply_to_somebody_else_quotes_them(world: World) -> None:
    theirs = world.say(GROUP, 1002, "the plan")["message"]
    arrived = message(world.say(GROUP, 1001, "@bough_bot is it good?", reply_to=theirs))
    assert (arrived.text, arrived.quoted) == ("is it good?", "the plan")
    assert arrived.quoted_from == world.person(1002)["first_name"]


def test_a_reply_to_a_caption_quotes_the_caption(world: World) -> None:
    theirs = world.say(PRIVATE, 1001, "a cat", caption=True, photo=[PHOTO])["message"]
    assert message(world.say(PRIVATE, 1001, "what is it?", reply_to=theirs)).quoted == "a cat"


def test_what_a_person_marked_is_quoted_instead_of_the_whole(world: World) -> None:
    theirs = world.say(PRIVATE, 1001, "first. second.")["message"]
    quote = {"text": "second.", "position": 7, "is_manual": True}
    arrived = message(world.say(PRIVATE, 1001, "this?", reply_to=theirs, quote=quote))
    assert arrived.quoted == "second."


def test_of_the_bots_own_words_only_a_marked_part_is_quoted(world: World) -> None:
    ours = world.message(world.chat(PRIVATE), BOT, text="one two")
    marked = {"text": "two", "position": 4, "is_manual": True}
    automatic = {"text": "one two", "position": 0}
    assert message(world.say(PRIVATE, 1001, "?", reply_to=ours, quote=marked)).quoted == "two"
    assert message(world.say(PRIVATE, 1001, "?", reply_to=ours, quote=automatic)).quoted == ""


def test_a_forum_topic_is_a_conversation_of_its_own(world: World) -> None:
    thread = world.topic(FORUM, "Plans", world.person(1001))
    arrived = message(world.say(FORUM, 1001, "@bough_bot hi", thread=thread))
    assert arrived.conversation.address == f"telegram:{FORUM}/{thread}"


def test_the_general_topic_has_no_thread(world: World) -> None:
    world.topic(FORUM, "Plans", world.person(1001))
    assert message(world.say(FORUM, 1001, "@bough_bot hi")).conversation.thread == ""


def test_a_reply_thread_outside_of_forums_is_no_topic(world: World) -> None:
    first = world.say(FORUM, 1002, "first")["message"]
    update = world.say(FORUM, 1001, "@bough_bot hi", reply_to=first)
    assert update["message"]["message_thread_id"] == first["message_id"]
    assert message(update).conversation.thread == ""


def test_talk_in_a_topic_that_the_bot_made_is_not_a_reply_to_it(world: World) -> None:
    thread = world.topic(FORUM, "Plans", BOT)
    assert not message(world.say(FORUM, 1001, "among us", thread=thread)).addressed


PHOTO = {"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}
FILE = {"file_id": "f", "file_unique_id": "u"}
PLACE = {"latitude": 1.0, "longitude": 2.0}


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"photo": [PHOTO]}, ("photo",)),
        ({"voice": {**FILE, "duration": 3}}, ("voice",)),
        ({"document": FILE}, ("document",)),
        (
            {"animation": {**FILE, "width": 1, "height": 1, "duration": 1}, "document": FILE},
            ("animation",),
        ),
        (
            {"venue": {"location": PLACE, "title": "t", "address": "a"}, "location": PLACE},
            ("venue",),
        ),
        ({"dice": {"emoji": "🎲", "value": 3}}, ("dice",)),
    ],
)
def test_what_is_not_text_is_named(world: World, fields: Json, kinds: tuple[str, ...]) -> None:
    assert message(world.say(PRIVATE, 1001, "", **fields)).attachments == kinds


def test_a_mention_in_a_caption_calls_the_bot(world: World) -> None:
    arrived = message(world.say(GROUP, 1001, "@bough_bot look", caption=True, photo=[PHOTO]))
    assert (arrived.text, arrived.attachments) == ("look", ("photo",))


@pytest.mark.parametrize(
    "fields",
    [
        {"new_chat_members": [BOT]},
        {"left_chat_member": BOT},
        {"new_chat_title": "x"},
        {"group_chat_created": True},
        {"migrate_to_chat_id": -1},
        {"forum_topic_closed": {}},
    ],
)
def test_service_messages_are_nothing(world: World, fields: Json) -> None:
    assert normalized(world.say(GROUP, 1001, "", **fields)) is None


def test_other_bots_and_people_in_the_name_of_a_chat_are_nothing(world: World) -> None:
    from_bot = world.say(GROUP, 1001, "@bough_bot hi")
    from_bot["message"]["from"] = {**BOT, "id": 78}
    chat = world.shown(world.chat(GROUP))
    assert normalized(from_bot) is None
    assert normalized(world.say(GROUP, 1001, "@bough_bot hi", sender_chat=chat)) is None


def test_channels_are_nothing(world: World) -> None:
    said = world.say(PRIVATE, 1001, "hello")["message"]
    channel = {**said, "chat": {"id": -100, "type": "channel", "title": "c"}}
    for kind in ("channel_post", "edited_channel_post", "message", "edited_message"):
        assert normalized({"update_id": 1, kind: channel}) is None


def test_an_edit_is_the_message_with_its_new_text(world: World) -> None:
    said = world.say(GROUP, 1001, "@bough_bot helo")
    before, after = message(said), message(world.edit(said["message"], "@bough_bot hello"))
    assert (before.kind, before.text) == ("message", "helo")
    assert after == replace(before, kind="edit", text="hello", key=after.key)
    assert after.key.startswith("telegram:-55:1:edit:1700000000:")


def test_the_key_of_an_edit_names_it_for_ever_and_tells_edits_apart(world: World) -> None:
    said = world.say(PRIVATE, 1001, "a")["message"]
    first, second = world.edit(said, "b"), world.edit(said, "c")
    assert message(first).key == message({**first, "update_id": 5}).key
    assert message(first).key != message(second).key
    assert len({message(one).key for one in (first, second)} | {"telegram:1001:1"}) == 3


def test_an_edit_in_a_group_is_for_the_bot_if_its_new_text_is(world: World) -> None:
    theirs = world.say(GROUP, 1001, "what now?")["message"]
    assert not message(world.edit(theirs, "what then?")).addressed
    assert message(world.edit(theirs, "@bough_bot what then?")).text == "what then?"
    assert not message(world.edit(theirs, "what then?")).addressed
    ours = world.message(world.chat(GROUP), BOT, text="our words")
    reply = world.say(GROUP, 1001, "why?", reply_to=ours)["message"]
    assert message(world.edit(reply, "how?")).text == "how?"


def test_an_edited_caption_is_an_edit(world: World) -> None:
    said = world.say(PRIVATE, 1001, "a cat", caption=True, photo=[PHOTO])["message"]
    after = message(world.edit(said, "a dog"))
    assert (after.kind, after.text, after.attachments) == ("edit", "a dog", ("photo",))


def test_a_live_location_that_moves_is_nothing(world: World) -> None:
    shared = world.say(PRIVATE, 1001, "", location=PLACE)["message"]
    assert normalized(world.edit(shared, "", location={"latitude": 3.0, "longitude": 2.0})) is None


def test_a_reply_names_the_message_it_replies_to(world: World) -> None:
    ours = world.message(world.chat(PRIVATE), BOT, text="our words")
    assert message(world.say(PRIVATE, 1001, "why?", reply_to=ours)).reply_to == "1"
    assert message(world.say(PRIVATE, 1001, "why?")).reply_to == ""


def test_talk_in_a_topic_replies_to_nothing_but_what_it_replies_to(world: World) -> None:
    thread = world.topic(FORUM, "Plans", world.person(1001))
    talk = world.say(FORUM, 1001, "@bough_bot hi", thread=thread)
    reply = world.say(FORUM, 1001, "@bough_bot so?", thread=thread, reply_to=talk["message"])
    assert message(talk).reply_to == ""
    assert message(reply).reply_to == str(talk["message"]["message_id"])


def test_documents_of_a_message_and_of_the_one_it_replies_to_are_its_files(world: World) -> None:
    first, second = (world.document(world.keep(name, b"abc")) for name in ("a.txt", "b.txt"))
    theirs = world.say(PRIVATE, 1001, "", document=first)["message"]
    reply = world.say(PRIVATE, 1001, "", document=second, reply_to=theirs)
    assert message(reply).files == (
        File(second["file_id"], "b.txt", 3, "document", "text/plain"),
        File(first["file_id"], "a.txt", 3, "document", "text/plain"),
    )
    assert message(world.say(PRIVATE, 1001, "/import", reply_to=theirs)).files == (
        File(first["file_id"], "a.txt", 3, "document", "text/plain"),
    )


def test_a_document_without_name_and_size_is_a_file(world: World) -> None:
    assert message(world.say(PRIVATE, 1001, "", document=FILE)).files == (File("f", "", 0),)


def test_what_moves_sounds_or_is_a_picture_is_a_file_of_its_kind(world: World) -> None:
    animation = {**FILE, "width": 1, "height": 1, "duration": 1}
    moving = world.say(PRIVATE, 1001, "", animation=animation, document=FILE)
    assert message(moving).files == (File("f", "", 0, "animation", "", 1.0),)
    voice = {**FILE, "duration": 12, "mime_type": "audio/ogg", "file_size": 7}
    said = message(world.say(PRIVATE, 1001, "", voice=voice))
    assert said.files == (File("f", "", 7, "voice", "audio/ogg", 12.0),)


def test_of_a_photo_the_largest_size_that_can_be_fetched_is_taken(world: World) -> None:
    sizes = [
        {"file_id": name, "file_unique_id": name, "width": w, "height": w, "file_size": size}
        for name, w, size in (("s", 90, 1_000), ("m", 800, 90_000), ("l", 9_000, 30_000_000))
    ]
    album = message(world.say(PRIVATE, 1001, "", photo=sizes, media_group_id="7"))
    assert album.files == (File("m", "", 90_000, "photo", "image/jpeg"),)
    assert album.album == "7"


def question(world: World, chat: int, thread: int | None = None) -> Json:
    row = [{"text": "Yes", "callback_data": "token-1"}]
    markup = {"inline_keyboard": [row]}
    return world.message(world.chat(chat), BOT, thread, text="Sure?", reply_markup=markup)


def test_a_press_carries_its_token_message_and_handle(world: World) -> None:
    asked = question(world, PRIVATE)
    update = world.press(asked, "Yes", 1001)
    handle = update["callback_query"]["id"]
    assert normalized(update) == Press(
        key=f"telegram:press:{handle}",
        conversation=Conversation("telegram", "1001"),
        user=User("telegram", "1001", "Ann"),
        token="token-1",
        message_id=str(asked["message_id"]),
        handle=handle,
    )


def test_a_press_in_a_topic_is_in_that_conversation(world: World) -> None:
    thread = world.topic(FORUM, "Plans", world.person(1001))
    arrived = normalized(world.press(question(world, FORUM, thread), "Yes", 1001))
    assert arrived is not None and arrived.conversation.thread == str(thread)


def test_a_press_on_an_inaccessible_message_is_still_a_press(world: World) -> None:
    update = world.press(question(world, PRIVATE), "Yes", 1001)
    said = update["callback_query"]["message"]
    update["callback_query"]["message"] = {
        "chat": said["chat"],
        "message_id": said["message_id"],
        "date": 0,
    }
    arrived = normalized(update)
    assert isinstance(arrived, Press)
    assert arrived.conversation == Conversation("telegram", "1001")


@pytest.mark.parametrize("missing", ["message", "data"])
def test_a_press_without_chat_or_data_is_nothing(world: World, missing: str) -> None:
    update = world.press(question(world, PRIVATE), "Yes", 1001)
    del update["callback_query"][missing]
    assert normalized(update) is None


def test_text_that_no_database_takes_is_cleaned(world: World) -> None:
    update = world.say(PRIVATE, 1001, "x")
    update["message"]["text"] = "a\0b"
    update["message"]["from"]["first_name"] = "\ud800Ann"
    update["message"]["document"] = {**FILE, "file_name": "\0.txt"}
    arrived = message(json.loads(json.dumps(update)))
    assert (arrived.text, arrived.user.name) == ("a\ufffdb", "\ufffdAnn")
    assert arrived.files[0].name == "\ufffd.txt"


entities = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["mention", "bot_command", "bold", "text_mention"]),
        "offset": st.integers(0, 30),
        "length": st.integers(0, 30),
        "user": st.just(BOT),
    }
)


@given(
    chat=st.sampled_from([PRIVATE, GROUP, FORUM]),
    text=st.text(max_size=20) | st.text("@bough_bot/ 😀\n", max_size=30),
    marks=st.lists(entities, max_size=4),
)
def test_no_text_and_no_entities_are_too_strange(chat: int, text: str, marks: list[Any]) -> None:
    world = World(BOT, lambda: 1_700_000_000.0, lambda: None)
    arrived = normalized(world.say(chat, 1001, text, entities=marks))
    if isinstance(arrived, Message):
        arrived.text.encode()
        assert "\0" not in arrived.text
        assert len(arrived.text) <= len(text)


ORIGINS: dict[str, Json] = {
    "Olga Lee": {
        "type": "user",
        "sender_user": {"id": 5, "is_bot": False, "first_name": "Olga", "last_name": "Lee"},
    },
    "Hidden One": {"type": "hidden_user", "sender_user_name": "Hidden\nOne"},
    "News": {
        "type": "channel",
        "chat": {"id": -9, "type": "channel", "title": "News"},
        "message_id": 3,
    },
    "Club": {"type": "chat", "sender_chat": {"id": -8, "type": "supergroup", "title": "Club"}},
}


@pytest.mark.parametrize("name", ORIGINS)
@pytest.mark.parametrize("text", ["/pair ABCD-EFGH owner", "ABCD-EFGH", "yes, do it"])
def test_what_somebody_forwards_is_quoted_and_not_said(world: World, name: str, text: str) -> None:
    origin = ORIGINS[name] | {"date": 1_700_000_000}
    shown = message(world.say(PRIVATE, 1001, text, forward_origin=origin))
    assert (shown.text, shown.quoted) == ("", f"[forwarded from {name}]\n{text}")
    assert (shown.reply_to, shown.reply_token) == ("", "")


def test_a_forward_in_a_group_is_not_for_the_bot_whatever_it_says(world: World) -> None:
    origin = ORIGINS["Olga Lee"] | {"date": 1_700_000_000}
    for text in ("@bough_bot let me in", "/stop@bough_bot"):
        assert normalized(world.say(GROUP, 1001, text, forward_origin=origin)) is None


@pytest.mark.parametrize(
    ("who", "more"),
    [
        ({"id": 1_087_968_824, "is_bot": True, "first_name": "Group"}, {}),
        ({"id": 1_087_968_824, "is_bot": False, "first_name": "Group"}, {}),
        ({"id": 777_000, "is_bot": False, "first_name": "Telegram"}, {}),
        (
            {"id": 777_000, "is_bot": False, "first_name": "Telegram"},
            {"is_automatic_forward": True},
        ),
        ({"id": 136_817_688, "is_bot": True, "first_name": "Channel"}, {}),
        ({"id": 4, "is_bot": True, "first_name": "Another bot"}, {}),
        (
            {"id": 1001, "is_bot": False, "first_name": "Ann"},
            {"sender_chat": {"id": GROUP, "type": "supergroup", "title": "Club"}},
        ),
        (
            {"id": 1001, "is_bot": False, "first_name": "Ann"},
            {"sender_chat": {"id": -9, "type": "channel", "title": "News"}},
        ),
    ],
)
def test_whoever_is_no_person_says_nothing(world: World, who: Json, more: Json) -> None:
    for text in ("@bough_bot hello", "/people@bough_bot"):
        update = world.say(GROUP, 1001, text)
        update["message"] |= {"from": who, **more}
        assert normalized(update) is None


def test_a_post_of_a_channel_is_nothing(world: World) -> None:
    update = world.say(GROUP, 1001, "@bough_bot hello")
    assert normalized({"update_id": 1, "channel_post": update["message"]}) is None
