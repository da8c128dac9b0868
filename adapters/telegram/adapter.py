"""Telegram, through python-telegram-bot's `Bot` and a getUpdates loop of our own."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar, assert_never

import telegram
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, InvalidToken
from telegram.request import HTTPXRequest

from adapters.base import (
    Acknowledge,
    Body,
    CommandSpec,
    Draft,
    Edit,
    Menu,
    OpenThread,
    Outgoing,
    Post,
    Receive,
    Refused,
    Suggest,
    Typing,
    Unavailable,
    Unreachable,
)
from adapters.cleaning import clean
from adapters.events import Conversation
from adapters.inbound.ordering import Alone, of_rights
from adapters.telegram.errors import (
    adapter_errors,
    hidden,
    is_unauthorized,
    refused_token,
    start_errors,
)
from adapters.telegram.files import fetch
from adapters.telegram.inbound.normalize import PLATFORM
from adapters.telegram.inbound.polling import Poller, PollingRequest
from adapters.telegram.logs import hide_token
from adapters.telegram.menus import set_menus, set_own_menu
from adapters.telegram.render import (
    addressed,
    caption,
    keyboard,
    label,
    notice,
    render,
    unformatted,
)

T = TypeVar("T")
_Said = TypeVar("_Said", Post, Edit)

log = logging.getLogger(__name__)

_NO_PREVIEW = telegram.LinkPreviewOptions(is_disabled=True)
_HAS_CAPTION = ("there is no text in the message to edit", "message text is empty")
"""How Telegram refuses to edit the text of a message that is a file."""


class Source(Protocol):
    """How updates arrive."""

    async def run(self, receive: Receive) -> None: ...


MakeSource = Callable[[telegram.Bot, str, Callable[[], object], Alone], Source]
"""Bot, token, what to call once updates arrive, which are taken in alone → where they come from."""


class TelegramAdapter:
    """`base_url` is what stands before the token in the Bot API's URLs. `owners`: ids of people.

    `poll_timeout` is how many seconds Telegram may hold a getUpdates request; there is none where
    `source` makes what updates come from. Misconfigured where the token is empty.
    """

    name = PLATFORM
    numbers_buttons = False

    def __init__(
        self,
        token: str,
        *,
        base_url: str = "https://api.telegram.org/bot",
        base_file_url: str = "https://api.telegram.org/file/bot",
        commands: Sequence[CommandSpec] = (),
        owners: Sequence[str] = (),
        poll_timeout: int = 30,
        source: MakeSource | None = None,
    ) -> None:
        if not token:
            raise refused_token()
        hide_token(token)
        self._token = token
        self._commands = tuple(commands)
        self._owners = tuple(owners)
        polling = PollingRequest(connection_pool_size=1, connect_timeout=10, read_timeout=10)
        self._bot = telegram.Bot(
            token,
            base_url,
            base_file_url,
            request=HTTPXRequest(
                connection_pool_size=64, connect_timeout=10, read_timeout=20, pool_timeout=20
            ),
            get_updates_request=polling,
        )
        self._closed = False
        self._ready = asyncio.Event()
        ready, alone = self._ready.set, of_rights(self._commands)
        self._source: Source = (
            source(self._bot, token, ready, alone)
            if source is not None
            else Poller(self._bot, token, poll_timeout, ready, polling, alone)
        )

    def label(self, text: str) -> str:
        return label(text)

    def render(self, markdown: str) -> list[Body]:
        return render(markdown)

    async def start(self) -> str:
        """May be called again after it, or `run`, has failed. `run` is what takes the bot's
        updates, and takes them from whoever has them: who only looks here takes nothing."""
        await self.close()
        self._closed = False
        with start_errors(self._token):
            try:
                await self._bot.initialize()
            except InvalidToken:  # 401, or 404 for what does not even look like a token
                raise refused_token() from None
        return f"@{self._bot.username}"

    @property
    def feeds(self) -> tuple[str, ...]:
        """A bot is polled by one process, and any number serve its webhook."""
        if not isinstance(self._source, Poller):
            return ()
        bot = self._token.partition(":")[0]
        return (f"poll:telegram:{hashlib.sha256(bot.encode()).hexdigest()[:12]}",)

    async def prepare(self, feeds: Collection[str]) -> None:
        """Menus that Telegram refuses are only missed: it is served without them."""
        with start_errors(self._token):
            try:
                await set_menus(self._bot, self._commands, self._owners)
            except BadRequest as error:
                said = hidden(str(error), self._token)
                log.warning("Telegram refuses the menus of commands: %s", said)

    async def run(self, receive: Receive, cursors: Mapping[str, str]) -> None:
        """Cursors are not needed: Telegram keeps what it has not heard to be committed.

        A failing `receive` is tried again with the same update, later. Misconfigured where the
        token is revoked meanwhile.
        """
        await self._source.run(receive)

    async def wait_ready(self) -> None:
        await self._ready.wait()

    async def deliver(self, outgoing: Outgoing) -> str | None:
        """Follows a group that became a supergroup to its new chat."""
        if self._closed:
            raise Unavailable("the Telegram adapter is not started")
        with adapter_errors(self._token):
            match outgoing:
                case Post():
                    return await self._post(_with_formats_or_not(outgoing))
                case Edit():
                    await self._edit(_with_formats_or_not(outgoing))
                case Draft():
                    await self._draft(outgoing)
                case Typing():
                    await self._typing(outgoing)
                case Acknowledge():
                    await self._acknowledge(outgoing)
                case Menu():
                    await set_own_menu(
                        self._bot, self._commands, outgoing.conversation.chat, owner=outgoing.owner
                    )
                case OpenThread() | Suggest():
                    raise Refused("Telegram has no threads on messages, and no options of commands")
                case _:
                    assert_never(outgoing)
        return None

    async def fetch(self, ref: str, limit: int) -> bytes:
        """Telegram itself gives bots files of at most 20 MB."""
        with adapter_errors(self._token):
            return await fetch(self._bot, ref, limit)

    async def close(self) -> None:
        self._closed = True
        self._ready.clear()
        await self._bot.shutdown()

    async def _post(self, post: Post) -> str:
        chat, _ = _place(post.conversation)
        return str((await _following(chat, lambda to: self._send(to, post))).message_id)

    async def _send(self, to: int | str, post: Post) -> telegram.Message:
        """A picture that was refused goes out as a document: Telegram shows no very large and no
        very narrow ones."""
        _, thread = _place(post.conversation)
        reply = _reply(post.reply_to)
        markup: telegram.InlineKeyboardMarkup | telegram.ForceReply | None
        markup = keyboard(post.buttons)
        if post.asks is not None:
            # Selective: it opens a reply for those alone whom it answers or names.
            post = replace(post, body=addressed(post.body, post.asks))
            markup = telegram.ForceReply(selective=True)
        if (upload := post.upload) is None:
            return await self._bot.send_message(
                to,
                post.body["text"],
                entities=_entities(post.body),
                link_preview_options=_NO_PREVIEW,
                message_thread_id=thread,
                reply_parameters=reply,
                reply_markup=markup,
            )
        body, is_picture = caption(post.body), upload.picture and not post.plain
        send: Callable[..., Awaitable[telegram.Message]] = (
            self._bot.send_photo if is_picture else self._bot.send_document
        )
        return await send(
            to,
            upload.data,
            caption=body["text"] or None,
            caption_entities=_entities(body),
            filename=clean(upload.name),
            message_thread_id=thread,
            reply_parameters=reply,
            reply_markup=markup,
        )

    async def _edit(self, edit: Edit) -> None:
        chat, _ = _place(edit.conversation)
        try:
            await _following(chat, lambda to: self._edit_text(to, edit))
        except BadRequest as error:
            if "message is not modified" not in str(error).lower():
                raise

    async def _edit_text(self, to: int | str, edit: Edit) -> None:
        message_id, markup = _message_id(edit.message_id), keyboard(edit.buttons)
        try:
            await self._bot.edit_message_text(
                edit.body["text"],
                to,
                message_id,
                entities=_entities(edit.body),
                link_preview_options=_NO_PREVIEW,
                reply_markup=markup,
            )
        except BadRequest as error:
            if not any(part in str(error).lower() for part in _HAS_CAPTION):
                raise
            body = caption(edit.body)
            await self._bot.edit_message_caption(
                to,
                message_id,
                caption=body["text"] or None,
                caption_entities=_entities(body),
                reply_markup=markup,
            )

    async def _draft(self, draft: Draft) -> None:
        chat, thread = _place(draft.conversation)
        if not isinstance(chat, int) or chat < 0:
            raise Refused("Telegram shows drafts in private chats only")
        try:
            await self._bot.send_message_draft(
                chat,
                draft.key,
                draft.body["text"],
                entities=_entities(draft.body),
                message_thread_id=thread,
            )
        except InvalidToken as error:
            if is_unauthorized(error):
                raise
            # 404: an older Bot API server.
            raise Refused("this Bot API server does not know drafts") from None

    async def _typing(self, typing: Typing) -> None:
        chat, thread = _place(typing.conversation)

        async def show(to: int | str) -> bool:
            return await self._bot.send_chat_action(to, ChatAction.TYPING, message_thread_id=thread)

        await _following(chat, show)

    async def _acknowledge(self, acknowledge: Acknowledge) -> None:
        text = notice(acknowledge.text)
        try:
            await self._bot.answer_callback_query(
                acknowledge.handle, text=text or None, show_alert=True if text else None
            )
        except BadRequest as error:
            if "query" not in str(error).lower():
                raise
            log.info("a press was acknowledged too late for Telegram: %s", error)


async def _following(chat: int | str, call: Callable[[int | str], Awaitable[T]]) -> T:
    """Call with the chat, or with the one that it has become."""
    try:
        return await call(chat)
    except ChatMigrated as moved:
        log.info("Telegram's chat %s has become %d", chat, moved.new_chat_id)
        return await call(moved.new_chat_id)


def _place(conversation: Conversation) -> tuple[int | str, int | None]:
    """Chat and topic for Telegram; a chat may be a public "@name" too."""
    chat, thread = conversation.chat, conversation.thread
    try:
        return chat if chat.startswith("@") else int(chat), int(thread) if thread else None
    except ValueError:
        raise Unreachable(f"{conversation.address} is not a chat of Telegram") from None


def _message_id(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Refused(f"{text!r} is not a message of Telegram") from None


def _reply(message_id: str) -> telegram.ReplyParameters | None:
    if not message_id:
        return None
    return telegram.ReplyParameters(_message_id(message_id), allow_sending_without_reply=True)


def _with_formats_or_not(message: _Said) -> _Said:
    return replace(message, body=unformatted(message.body)) if message.plain else message


def _entities(body: Body) -> Sequence[telegram.MessageEntity] | None:
    formats = body.get("entities")
    return telegram.MessageEntity.de_list(formats, None) if formats else None
