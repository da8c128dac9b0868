from typing import Any

import discord
from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.client import new_client
from adapters.discord.interactions import Handle
from adapters.discord.normalize import normalize_interaction, normalize_message
from adapters.events import Conversation, Message, Press, User
from tests.stand_ins.discord import DiscordServer
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
        data: Any = self._events[-1]
        self._state._add_guild(
            discord.Guild(data=self._json(self.discord.world.guild_json), state=self._state)
        )
        channel, _guild = self._state._get_guild_channel(data)
        message = discord.Message(channel=channel, data=data, state=self._state)  # type: ignore[arg-type]
        return normalize_message(message, self.me)

    def interaction(self) -> Message | Press | None:
        data: Any = self._events[-1]
        return normalize_interaction(discord.Interaction(data=data, state=self._state))

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
    )


def test_talk_in_a_channel_that_is_not_addressed_to_the_bot_is_nothing() -> None:
    told = Told()
    assert told.message(told.discord.general, "hello everybody") is None


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


def test_an_interaction_in_a_place_that_the_library_does_not_know_is_nothing() -> None:
    told = Told()
    message = told.discord.world.post(told.discord.dm_of("ann"), {"content": "sure?"})
    told.discord.press_forged(message, "bough:secret", "ann")
    told._events[-1]["channel"]["type"] = 99
    assert told.interaction() is None


def test_a_handle_expires_after_fifteen_minutes() -> None:
    handle = Handle("command", (1_000_000 << 22) | 5, "token")
    created = 1_420_070_400 + 1_000
    assert not handle.expired(created + 14 * 60)
    assert handle.expired(created + 16 * 60)


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
