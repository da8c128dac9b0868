import time
from dataclasses import replace
from datetime import datetime
from typing import Any

import discord
import pytest
from discord.utils import snowflake_time
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import CommandSpec
from adapters.discord.client import new_client
from adapters.discord.inbound.normalize import normalize_edit, normalize_message
from adapters.discord.inbound.normalize_interaction import normalize_interaction
from adapters.discord.interactions import Handle
from adapters.events import Completion, Conversation, File, Message, Press, User
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_files import Sent
from tests.stand_ins.discord_world import Channel, Json

ATTACHMENT = {"id": "1", "filename": "a", "size": 1, "url": "", "proxy_url": ""}


class Told:
    """A Discord that is not served, and discord.py's objects for what happens in it."""

    def __init__(self) -> None:
        self.discord = DiscordServer()
        self.discord.watchers.append(lambda event, data: self._events.append(data))
        self._events: list[Json] = []
        self._state = new_client("http://127.0.0.1", None)._connection
        self.me = discord.ClientUser(state=self._state, data=self._json(self.discord.world.bot))
        self._state.user = self.me

    def message(self, channel: Channel, text: str, **more: Any) -> Message | None:
        return self.heard(self.discord.say(channel, "ann", text, **more))

    def dm(self, text: str, **more: Any) -> Message | None:
        return self.message(self.discord.dm_of("ann"), text, **more)

    def heard(self, _: Json) -> Message | None:
        """The newest message, as the library and then normalize see it."""
        return normalize_message(self._newest(), self.me)

    def changed(self) -> Message | None:
        """The newest change of a message."""
        return normalize_edit(self._newest(), self.me)

    def _newest(self) -> discord.Message:
        data: Any = self._events[-1]
        self._state._add_guild(
            discord.Guild(data=self._json(self.discord.world.guild_json), state=self._state)
        )
        channel, _guild = self._state._get_guild_channel(data)
        return discord.Message(channel=channel, data=data, state=self._state)  # type: ignore[arg-type]

    def interaction(self, **menu: CommandSpec) -> Message | Press | Completion | None:
        data: Any = self._events[-1]
        return normalize_interaction(discord.Interaction(data=data, state=self._state), menu)

    @property
    def paths(self) -> list[str]:
        """Where files are kept, oldest first."""
        return list(self.discord.world.cdn.contents)

    @staticmethod
    def _json(thing: Any) -> Any:
        return thing() if callable(thing) else thing.json()


def text_of(message: Message | None) -> str:
    assert message is not None
    return message.text


def test_a_private_message_is_for_the_bot() -> None:
    told = Told()
    chat = told.discord.dm_of("ann")
    raw = told.discord.dm("ann", "hello")
    assert told.heard(raw) == Message(
        key=f"discord:{chat.id}:{raw['id']}",
        conversation=Conversation("discord", str(chat.id)),
        user=User("discord", str(told.discord.user("ann").id), "ann"),
        text="hello",
        message_id=raw["id"],
        private=True,
        sent=snowflake_time(int(raw["id"])).timestamp(),
    )


def test_talk_in_a_channel_that_is_said_to_nobody_is_not_addressed_to_the_bot() -> None:
    told = Told()
    said = told.message(told.discord.general, "hello everybody")
    assert said is not None and (said.text, said.addressed) == ("hello everybody", False)
    named = told.message(told.discord.general, f"{told.discord.mention} hello")
    assert named is not None and named.addressed


def test_talk_that_cannot_be_read_is_nothing() -> None:
    told = Told()
    assert told.message(told.discord.general, "") is None


def test_talk_that_names_others_and_not_the_bot_is_nothing() -> None:
    told = Told()
    bob = told.discord.user("bob")
    assert told.message(told.discord.general, f"<@{bob.id}> hello") is None
    both = told.message(told.discord.general, f"<@{bob.id}> {told.discord.mention} hello")
    assert both is not None and both.addressed


def test_who_said_what_a_message_replies_to_is_named() -> None:
    told = Told()
    bobs = told.discord.say(told.discord.general, "bob", "which one?")
    said = told.message(told.discord.general, f"{told.discord.mention} this", reply_to=bobs)
    assert said is not None and (said.quoted, said.quoted_from) == ("which one?", "bob")


def test_a_message_in_a_thread_says_which_channel_that_is_in() -> None:
    told = Told()
    thread = told.discord.thread("details")
    said = told.message(thread, f"{told.discord.mention} hello")
    assert said is not None
    assert said.channel == f"discord:{told.discord.general.id}"
    assert said.conversation == Conversation("discord", str(thread.id))


def test_an_option_that_is_typed_is_a_completion() -> None:
    told = Told()
    told.discord.world.commands = [
        {"id": "1", "name": "goto", "options": [{"name": "name", "type": 3, "autocomplete": True}]}
    ]
    typing = told.discord.type_option(told.discord.general, "ann", "goto", "pla\ud800")
    assert told.interaction() == Completion(
        key=f"discord:completion:{typing.id}",
        conversation=Conversation("discord", str(told.discord.general.id)),
        user=User("discord", str(told.discord.user("ann").id), "ann"),
        command="goto",
        typed="pla\ufffd",
        handle=f"completion:{typing.id}:{typing.token}",
        private=False,
    )


def test_a_command_of_a_messages_menu_is_about_that_message() -> None:
    told = Told()
    told.discord.world.commands = [{"id": "1", "name": "Retry", "type": 3}]
    bobs = told.discord.say(told.discord.general, "bob", "which one?")
    told.discord.give_on(bobs, "ann", "Retry")
    given_on = told.interaction(Retry=CommandSpec("retry", "again", on_message="Retry"))
    assert isinstance(given_on, Message)
    assert (given_on.text, given_on.about) == ("/retry", bobs["id"])
    assert told.interaction() is None


def test_a_mention_addresses_the_bot_and_is_cut_out() -> None:
    told = Told()
    bot = told.discord.mention
    said = told.message(told.discord.general, f"{bot}, what is <@!{told.me.id}> doing?")
    assert text_of(said) == "what is doing?"
    assert said is not None and not said.private
    assert text_of(told.message(told.discord.general, f"and now? {bot}")) == "and now?"
    assert text_of(told.message(told.discord.general, bot)) == ""


def test_cutting_a_mention_leaves_the_lines_below_it_alone() -> None:
    told = Told()
    code = "```py\nif x:\n    y()\n```"
    said = told.message(told.discord.general, f"{told.discord.mention} run\n{code}")
    assert text_of(said) == f"run\n{code}"


def test_a_mention_of_the_bots_own_role_addresses_it() -> None:
    told = Told()
    role = f"<@&{told.discord.world.role_id}>"
    assert text_of(told.message(told.discord.general, f"{role} hello")) == "hello"


def test_a_mention_of_another_role_does_not_address_it() -> None:
    told = Told()
    assert told.message(told.discord.general, f"<@&{told.discord.world.guild_id}> hello") is None


def test_other_mentions_are_readable() -> None:
    told = Told()
    bob, place = told.discord.user("bob"), told.discord.general
    everyone = told.discord.world.guild_id
    text = f"{told.discord.mention} ask <@{bob.id}> in <#{place.id}> or <@&{everyone}>"
    assert text_of(told.message(place, text)) == "ask @bob in #general or @@everyone"
    unknown = "<@123456789012345678> <#123456789012345678> <@&123456789012345678>"
    assert text_of(told.dm(unknown)) == unknown


def test_a_reply_to_the_bot_needs_no_mention() -> None:
    told = Told()
    bots = told.discord.world.post(told.discord.general, {"content": "which one?"})
    said = told.message(told.discord.general, "the second", reply_to=bots)
    assert text_of(said) == "the second"
    assert said is not None and said.quoted == ""


def test_a_reply_to_somebody_else_is_not_for_the_bot() -> None:
    told = Told()
    bobs = told.discord.say(told.discord.general, "bob", "which one?")
    assert told.message(told.discord.general, "the second", reply_to=bobs) is None


def test_what_a_message_replies_to_is_quoted_where_the_bot_did_not_say_it() -> None:
    told = Told()
    bobs = told.discord.say(told.discord.general, "bob", "2+2=5")
    said = told.message(told.discord.general, f"{told.discord.mention} right?", reply_to=bobs)
    assert said is not None
    assert (said.text, said.quoted) == ("right?", "2+2=5")


def test_a_deleted_message_is_quoted_as_nothing() -> None:
    told = Told()
    reference = {"type": 0, "channel_id": "1", "message_id": "2"}
    said = told.dm("what was that?", type=19, message_reference=reference, referenced_message=None)
    assert said is not None and said.quoted == ""


def test_a_forwarded_message_is_quoted() -> None:
    told = Told()
    original = {
        "type": 0,
        "content": "read this",
        "embeds": [],
        "attachments": [ATTACHMENT | {"content_type": "image/png"}],
        "timestamp": "2020-01-01T00:00:00+00:00",
        "edited_timestamp": None,
    }
    said = told.dm("", message_snapshots=[{"message": original}])
    assert said is not None
    assert (said.text, said.quoted, said.attachments) == ("", "read this", ("image",))


def test_a_reply_whose_content_is_hidden_is_nothing() -> None:
    told = Told()
    bots = told.discord.world.post(told.discord.general, {"content": "which one?"})
    assert told.message(told.discord.general, "", reply_to=bots, ping=False) is None


def test_bots_and_webhooks_are_not_heard() -> None:
    told = Told()
    world = told.discord.world
    assert told.heard(world.say(told.discord.dm_of("ann"), world.bot, "beep")) is None
    assert told.dm("beep", webhook_id="77") is None


def test_what_discord_says_itself_is_not_heard() -> None:
    told = Told()
    pinned, joined, boosted, renamed = 6, 7, 8, 4
    for kind in (pinned, joined, boosted, renamed):
        assert told.dm("", type=kind) is None


def test_attachments_are_named_by_kind() -> None:
    told = Told()
    kinds = ["image/png", "audio/ogg", "video/mp4", "application/pdf", None]
    given = [ATTACHMENT | {"content_type": kind} for kind in kinds]
    given.append(ATTACHMENT | {"content_type": "audio/ogg", "flags": 0, "waveform": "AA=="})
    given[-1] |= {"duration_secs": 1.0}
    stickers = [{"id": "1", "name": "wave", "format_type": 1}]
    said = told.dm("", attachments=given, sticker_items=stickers)
    assert said is not None
    assert said.attachments == ("image", "audio", "video", "file", "file", "voice", "sticker")


def test_an_edit_is_the_message_as_it_is_now_under_a_key_of_its_own() -> None:
    told = Told()
    raw = told.discord.dm("ann", "helo")
    first = told.heard(raw)
    told.discord.edit(raw, "hello")
    edit = told.changed()
    assert first is not None and edit is not None
    when = edit.key.removeprefix(f"{first.key}:edit:")
    assert datetime.fromisoformat(when) == datetime.fromisoformat(raw["edited_timestamp"])
    sent = datetime.fromisoformat(when).timestamp()
    assert edit == replace(first, key=edit.key, text="hello", kind="edit", sent=sent)


def test_every_edit_has_another_key_and_each_keeps_its_own() -> None:
    told = Told()
    raw = told.discord.dm("ann", "one")
    told.discord.edit(raw, "two")
    first = told.changed()
    told.discord.preview(raw)
    assert told.changed() == first
    told.discord.world.clock = lambda: time.time() + 1
    told.discord.edit(raw, "two")
    second = told.changed()
    assert first is not None and second is not None
    assert (first.text, second.text) == ("two", "two")
    assert first.key != second.key


def test_a_preview_of_a_link_is_no_edit() -> None:
    told = Told()
    raw = told.discord.dm("ann", "see https://example.com/")
    told.discord.preview(raw)
    assert told.changed() is None


def test_an_edit_that_leaves_no_words_is_nothing() -> None:
    told = Told()
    raw = told.discord.dm("ann", "look", files={"a.txt": b"a"})
    told.discord.edit(raw, "")
    assert told.changed() is None


def test_an_edit_is_for_the_bot_as_a_message_is() -> None:
    told = Told()
    raw = told.discord.say(told.discord.general, "ann", "hello everybody")
    told.discord.edit(raw, "hello all")
    first = told.changed()
    assert first is not None and not first.addressed
    told.discord.edit(raw, f"{told.discord.mention} hello")
    edit = told.changed()
    assert edit is not None and (edit.text, edit.kind) == ("hello", "edit")


def test_what_the_bot_changes_itself_is_no_edit_of_a_person() -> None:
    told = Told()
    place = told.discord.dm_of("ann")
    own = told.discord.world.post(place, {"content": "sure?"})
    told.discord.world.edit(place, own, {"content": "Yes"})
    assert told.changed() is None


def test_a_reply_says_what_it_replies_to_even_when_that_is_gone() -> None:
    told = Told()
    first = told.discord.dm("ann", "first")
    reply = told.dm("second", reply_to=first)
    assert reply is not None and reply.reply_to == first["id"]
    reference = {"type": 0, "channel_id": "1", "message_id": "2"}
    reply = told.dm("third", type=19, message_reference=reference, referenced_message=None)
    assert reply is not None and reply.reply_to == "2"


def test_a_forward_replies_to_nothing() -> None:
    told = Told()
    reference = {"type": 1, "channel_id": "1", "message_id": "2"}
    forward = told.dm("look", message_reference=reference)
    assert forward is not None and forward.reply_to == ""


def test_files_come_with_their_address_name_and_size() -> None:
    told = Told()
    said = told.dm("", files={"notes.txt": b"four", "tree.png": b""})
    assert said is not None
    urls = [f"{told.discord.world.cdn.origin}{path}?ex=0&is=0&hm=0&" for path in told.paths]
    assert said.files == (
        File(urls[0], "notes.txt", 4, "document", "text/plain"),
        File(urls[1], "tree.png", 0, "photo", "image/png"),
    )


def test_a_message_without_files_brings_those_of_the_message_it_replies_to() -> None:
    told = Told()
    bots = told.discord.world.post(
        told.discord.general, {"content": "your export"}, {0: Sent("tree.jsonl", b"{}")}
    )
    said = told.message(told.discord.general, "/import", reply_to=bots)
    assert said is not None
    assert [(file.name, file.size) for file in said.files] == [("tree.jsonl", 2)]
    said = told.message(told.discord.general, "/import", reply_to=bots, files={"own.txt": b""})
    assert said is not None and [file.name for file in said.files] == ["own.txt"]


def test_a_file_given_to_a_slash_command_comes_with_it() -> None:
    told = Told()
    options = [{"type": 3, "name": "title"}, {"type": 11, "name": "attachment"}]
    told.discord.world.commands = [{"id": "1", "name": "import", "options": options}]
    given = Sent("talk.jsonl", b"{}")
    told.discord.slash(told.discord.general, "ann", "import", "Old talk", given)
    said = told.interaction()
    assert isinstance(said, Message)
    assert said.text == "/import Old talk"
    assert [(file.name, file.size) for file in said.files] == [("talk.jsonl", 2)]
    assert "/ephemeral-attachments/" in said.files[0].ref


def test_a_file_that_discord_does_not_describe_is_left_out() -> None:
    told = Told()
    told.discord.world.commands = [
        {"id": "1", "name": "import", "options": [{"type": 11, "name": "attachment"}]}
    ]
    told.discord.slash(told.discord.general, "ann", "import", file=Sent("talk.jsonl", b"{}"))
    del told._events[-1]["data"]["resolved"]
    said = told.interaction()
    assert isinstance(said, Message)
    assert (said.text, said.files) == ("/import", ())


def test_a_thread_is_a_conversation_of_its_own() -> None:
    told = Told()
    thread = told.discord.thread("details")
    said = told.message(thread, f"{told.discord.mention} go on")
    assert said is not None
    assert said.conversation == Conversation("discord", str(thread.id))
    assert said.conversation.address == f"discord:{thread.id}"


def test_a_slash_command_is_a_message_that_can_be_answered_in_place() -> None:
    told = Told()
    told.discord.world.commands = [
        {"id": "1", "name": "goto", "options": [{"type": 3, "name": "entry"}]}
    ]
    raw = told.discord.slash(told.discord.general, "ann", "goto", " 12 ")
    said = told.interaction()
    assert isinstance(said, Message)
    assert said.text == "/goto 12"
    assert said.key == f"discord:interaction:{raw.id}"
    assert (said.message_id, said.private) == ("", False)
    assert said.conversation == Conversation("discord", str(told.discord.general.id))
    assert Handle.parse(said.handle) == Handle("command", raw.id, raw.token)


def test_a_slash_command_in_a_private_chat_is_private() -> None:
    told = Told()
    told.discord.world.commands = [{"id": "1", "name": "new"}]
    told.discord.slash(told.discord.dm_of("ann"), "ann", "new")
    said = told.interaction()
    assert isinstance(said, Message)
    assert (said.text, said.private) == ("/new", True)


def test_a_press_brings_the_token_behind_our_prefix() -> None:
    told = Told()
    message = told.discord.world.post(told.discord.general, {"content": "sure?"})
    raw = told.discord.press_forged(message, "bough:secret", "ann")
    assert told.interaction() == Press(
        key=f"discord:press:{raw.id}",
        conversation=Conversation("discord", str(told.discord.general.id)),
        user=User("discord", str(told.discord.user("ann").id), "ann"),
        token="secret",
        message_id=message["id"],
        handle=str(Handle("press", raw.id, raw.token)),
    )


def test_a_press_of_a_button_that_is_not_ours_is_nothing() -> None:
    told = Told()
    message = told.discord.world.post(told.discord.general, {"content": "sure?"})
    told.discord.press_forged(message, "other:secret", "ann")
    assert told.interaction() is None


def test_an_interaction_in_a_place_that_the_library_does_not_know_cannot_be_read() -> None:
    told = Told()
    message = told.discord.world.post(told.discord.dm_of("ann"), {"content": "sure?"})
    told.discord.press_forged(message, "bough:secret", "ann")
    told._events[-1]["channel"]["type"] = 99
    with pytest.raises(ValueError, match="where"):
        told.interaction()


def test_what_is_not_a_handle_is_none() -> None:
    for text in ("", "press", "press:1", "press:x:y", "modal:1:t", "press:1:"):
        assert Handle.parse(text) is None


@given(st.text(alphabet=st.characters(codec=None)), st.text(), st.booleans())
def test_any_text_becomes_text_that_can_be_stored(before: str, after: str, private: bool) -> None:
    told = Told()
    place = told.discord.dm_of("ann") if private else told.discord.general
    said = told.message(place, f"{before}{told.discord.mention}{after}")
    assert said is not None
    assert told.discord.mention not in said.text
    assert not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in said.text)
