"""What of a group's talk is for the bot, and in which conversation it is answered.

In a channel whose questions are answered in threads, a question goes to the thread that hangs on
it. Discord calls such a thread by the id of the message it hangs on, so the conversation is known
before there is a thread: the question, the row that says of which channel the thread is and the
parcel that opens it are one commit, and opening it again changes nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.cleaning import clean, shows
from adapters.events import Conversation, Message, Press
from adapters.platforms import PLATFORMS
from agent.text.untrusted import visible
from gateway.access.roles import Access
from gateway.chats.known_threads import KnownThreads
from gateway.chats.settings import ChatSettings
from gateway.commands.registry import parse_command
from storage.records.inbox_outbox import OutboxDraft, Thread
from storage.store import Store, Transaction

MOST_LOOKED_AT = 200
"""Threads that could not be opened, the newest: of a reply in their channel."""
LONGEST_NAME = 60
"""Characters of a question that its thread is called by."""
NAMELESS = "Question"


@dataclass(frozen=True, slots=True)
class Threads:
    settings: ChatSettings
    access: Access

    def placed(self, message: Message) -> Message | None:
        """A message, in the conversation that it is answered in; None where it is not for the
        bot."""
        if message.private:
            return message
        here = message.conversation.address
        if message.channel:
            self._known.seen(here, message.channel)
        own = self._thread_on(message)
        if own is not None and self._is_opened(own.address, here):
            return _moved(message, own)  # it is edited, or comes again
        if not message.addressed:
            return message if self._listens(message) else None
        if own is not None and self._opens_one(message):
            self._known.opens(own.address, here)
            return _moved(message, own)
        return message

    async def pressed(self, press: Press, store: Store) -> Press:
        """A press, in the conversation that its button belongs to: of a thread that cannot be
        opened, the messages stand in its channel."""
        here = press.conversation.address
        if not self._known.refused_in(here):
            return press
        button = await store.read(lambda tx: tx.buttons.get(press.token))
        thread = self._known.refused_at(button.address) if button is not None else None
        if button is None or thread is None or thread.channel != here:
            return press
        return replace(press, conversation=Conversation.parse(button.address))

    async def replied(self, message: Message, store: Store) -> Message:
        """A message, in the conversation that it goes on with: what the bot says in a thread that
        cannot be opened stands in its channel, and so do replies to it."""
        here = message.conversation.address
        refused = self._known.refused_in(here)
        if not (message.reply_to and refused):
            return message
        places = refused[-MOST_LOOKED_AT:]
        found = await store.read(lambda tx: _place_of(tx, message.reply_to, places))
        return _moved(message, Conversation.parse(found)) if found else message

    def note(self, tx: Transaction, message: Message) -> None:
        """What belongs to the commit that takes a message in: of which channel its thread is; and
        the thread is opened, where it is to hang on this very message."""
        if not message.channel:
            return
        here = message.conversation
        thread = self._known.at(here.address) or Thread(message.channel)
        first = tx.directory.note_thread(here.address, thread)
        if first and thread.opened and here == self._thread_on(message):
            hangs_on = {"channel": thread.channel, "message_id": message.message_id}
            payload = {**hangs_on, "name": thread_name(message.text)}
            tx.outbox.enqueue(OutboxDraft(here.address, "thread", payload))

    @property
    def _known(self) -> KnownThreads:
        return self.settings.threads

    def _thread_on(self, message: Message) -> Conversation | None:
        """The thread that hangs on a message, or could; None where there are no such threads."""
        platform = PLATFORMS.get(message.conversation.platform)
        opens = platform is not None and platform.threads and message.message_id
        return replace(message.conversation, chat=message.message_id) if opens else None

    def _is_opened(self, address: str, channel: str) -> bool:
        """Whether a thread is one that the bot opens in a channel."""
        thread = self._known.at(address)
        return thread is not None and thread.opened and thread.channel == channel

    def _listens(self, message: Message) -> bool:
        """Whether what is said to nobody is said to the bot."""
        if not self.access.may_talk(message.user.identity):
            return False
        here = message.conversation.address
        thread = self._known.at(here)
        in_own_thread = thread is not None and thread.opened
        return in_own_thread or self.settings.answer_at(here) == "all"

    def _opens_one(self, message: Message) -> bool:
        """Not for a command, for a reply to the bot, nor within a thread."""
        replies_to_bot = bool(message.reply_to) and not message.quoted_from
        return (
            not (message.channel or replies_to_bot)
            and parse_command(message.text) is None
            and self.access.may_talk(message.user.identity)
            and self.settings.answer_at(message.conversation.address) == "thread"
        )


def cursors(tx: Transaction, platform: str) -> dict[str, str]:
    """How far each conversation was read. A channel is read as far as the newest question there
    that got a thread: such a thread bears the number of its question."""
    read = dict(tx.directory.cursors(platform))
    for at, thread in tx.directory.threads().items():
        number = Conversation.parse(at).chat
        if not (thread.opened and at.startswith(f"{platform}:") and number.isdecimal()):
            continue
        before = read.get(thread.channel, "")
        if int(number) > (int(before) if before.isdecimal() else 0):
            read[thread.channel] = number
        if thread.refused:
            read.pop(at, None)  # there is no such place
    return read


def thread_name(text: str) -> str:
    """What a question's thread is called: its first words, on one line, without markup and what
    cannot be seen."""
    line = " ".join(re.sub(r"[`*_~|>#]+", "", visible(clean(text))).split())
    if not shows(line):
        return NAMELESS
    if len(line) <= LONGEST_NAME:
        return line
    return f"{line[: LONGEST_NAME - 1].rsplit(' ', 1)[0].rstrip()}…"


def _place_of(tx: Transaction, message_id: str, places: Sequence[str]) -> str:
    """In which of some conversations a message was said; "" for none."""
    for at in reversed(places):
        posted = tx.outbox.linked_entry(at, message_id) or tx.questions.posted([at], message_id)
        if posted is not None:
            return at
    return ""


def _moved(message: Message, thread: Conversation) -> Message:
    channel = message.channel or message.conversation.address
    return replace(message, conversation=thread, channel=channel)
