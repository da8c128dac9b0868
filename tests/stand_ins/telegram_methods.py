"""The methods of the Bot API that the stand-in has, on a world of chats."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from tests.stand_ins.telegram_checks import (
    ApiError,
    Json,
    bad_request,
    check_keyboard,
    checked_caption,
    checked_text,
    picture_size,
)
from tests.stand_ins.telegram_webhook import Deliveries, checked_hook
from tests.stand_ins.telegram_world import STALE, Chat, World

Method = Callable[[Json], Awaitable[Any]]

_ACTIONS = ("typing", "upload_photo", "upload_document")
"""Those that the bot shows."""
LARGEST_DOWNLOAD = 20 * 1024 * 1024
"""Bytes of a file that a bot may fetch."""


class Methods:
    def __init__(self, world: World, wait_change: Callable[[], Awaitable[None]]) -> None:
        self._world = world
        self._wait_change = wait_change
        self._poll: object | None = None
        self.webhook = ""
        self.deliveries = Deliveries(world, wait_change)
        self.menus: dict[str, list[Json]] = {}
        """By scope: its type, and the chat's id where it is one chat."""
        self.answers: list[Json] = []
        """What presses were answered with, in order."""
        self.drafts: list[Json] = []
        """What drafts showed, in order."""
        self.table: dict[str, Method] = {
            "answerCallbackQuery": self._answer_callback_query,
            "deleteWebhook": self._delete_webhook,
            "editMessageCaption": self._edit_message_caption,
            "editMessageText": self._edit_message_text,
            "getFile": self._get_file,
            "getMe": self._get_me,
            "getUpdates": self._get_updates,
            "getWebhookInfo": self._get_webhook_info,
            "sendChatAction": self._send_chat_action,
            "sendDocument": self._send_document,
            "sendMessage": self._send_message,
            "sendMessageDraft": self._send_message_draft,
            "sendPhoto": self._send_photo,
            "setMyCommands": self._set_my_commands,
            "setWebhook": self._set_webhook,
            "deleteMyCommands": self._delete_my_commands,
        }

    async def _get_me(self, params: Json) -> Json:
        return self._world.me

    async def _get_updates(self, params: Json) -> list[Json]:
        """Held until there is something, as long as `timeout` says. A newer call ends an older."""
        if self.webhook:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; "
                "use deleteWebhook to delete the webhook first",
            )
        if "allowed_updates" in params:
            self._world.allowed = params["allowed_updates"]
        if offset := params.get("offset"):
            self._world.confirm(offset)
        poll = self._poll = object()
        self._world.changed()
        try:
            async with asyncio.timeout(params.get("timeout", 0)):
                while self._poll is poll and not self._world.pending:
                    await self._wait_change()
        except TimeoutError:
            return []
        if self._poll is not poll:
            raise ApiError(
                409,
                "Conflict: terminated by other getUpdates request; "
                "make sure that only one bot instance is running",
            )
        return self._world.pending[: params.get("limit", 100)]

    def release(self) -> None:
        """End a held getUpdates."""
        self._poll = None
        self._world.changed()

    async def _get_webhook_info(self, params: Json) -> Json:
        waiting = len(self._world.pending)
        return {
            "url": self.webhook,
            "has_custom_certificate": False,
            "pending_update_count": waiting,
            **self.deliveries.info(),
        }

    async def _set_webhook(self, params: Json) -> bool:
        """Ends a getUpdates that is being held."""
        hook = checked_hook(params)
        self.webhook, self.deliveries.hook = hook.url, hook
        if "allowed_updates" in params:
            self._world.allowed = params["allowed_updates"]
        if params.get("drop_pending_updates"):
            self._world.forget()
        self.release()
        return True

    async def _delete_webhook(self, params: Json) -> bool:
        self.webhook, self.deliveries.hook = "", None
        if params.get("drop_pending_updates"):
            self._world.forget()
        return True

    async def _set_my_commands(self, params: Json) -> bool:
        if not 1 <= len(params.get("commands", [])) <= 100:
            raise bad_request("BOT_COMMANDS_TOO_MUCH")
        for command in params.get("commands", []):
            name, words = command.get("command", ""), command.get("description", "")
            if not re.fullmatch("[a-z0-9_]{1,32}", name):
                raise bad_request("BOT_COMMAND_INVALID")
            if not 1 <= len(words) <= 256:
                raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
        self.menus[self._scope(params)] = params.get("commands", [])
        return True

    async def _delete_my_commands(self, params: Json) -> bool:
        self.menus.pop(self._scope(params), None)
        return True

    def _scope(self, params: Json) -> str:
        scope = params.get("scope") or {"type": "default"}
        if "chat_id" not in scope:
            return str(scope["type"])
        if int(scope["chat_id"]) not in self._world.chats:
            raise bad_request("chat not found")
        return f"{scope['type']}:{scope['chat_id']}"

    async def _send_message(self, params: Json) -> Json:
        chat = self._open_chat(params)
        text, entities = checked_text(params.get("text"), params.get("entities", []))
        preview = params.get("link_preview_options")
        return self._sent(
            chat, params, text=text, entities=entities or None, link_preview_options=preview
        )

    async def _send_message_draft(self, params: Json) -> bool:
        chat = self._open_chat(params)
        if chat.kind != "private":
            raise bad_request("drafts can be sent in private chats only")
        if not params.get("draft_id"):
            raise bad_request("DRAFT_ID_INVALID")
        text, entities = checked_text(params.get("text"), params.get("entities", []))
        self.drafts.append({**params, "text": text, "entities": entities})
        return True

    async def _send_document(self, params: Json) -> Json:
        chat = self._open_chat(params)
        return self._sent(
            chat, params, document=self._uploaded(params, "document"), **_told(params)
        )

    async def _send_photo(self, params: Json) -> Json:
        chat = self._open_chat(params)
        file = self._uploaded(params, "photo")
        width, height = picture_size(self._world.files[file["file_id"]].content)
        size = {name: file[name] for name in ("file_id", "file_unique_id", "file_size")}
        photo = [{**size, "width": width, "height": height}]
        return self._sent(chat, params, photo=photo, **_told(params))

    def _sent(self, chat: Chat, params: Json, **content: Any) -> Json:
        markup = params.get("reply_markup")
        check_keyboard(markup)
        asks = bool(markup and markup.get("force_reply"))
        message = self._world.message(
            chat,
            self._world.me,
            params.get("message_thread_id"),
            **content,
            reply_to_message=self._reply(chat, params.get("reply_parameters")),
            reply_markup=None if asks else markup,
        )
        if asks:
            self._world.asking.append(message)
        return message

    def _uploaded(self, params: Json, name: str) -> Json:
        """The file of the parameters as a Document: a new one, or one that was sent before."""
        given = params.get(name)
        file_id = given["id"] if isinstance(given, dict) else given
        if file_id not in self._world.files:
            raise bad_request(f"there is no {name} in the request")
        if not self._world.files[file_id].content:
            raise bad_request("file must be non-empty")
        return self._world.document(file_id)

    async def _get_file(self, params: Json) -> Json:
        kept = self._world.files.get(params.get("file_id", ""))
        if kept is None:
            raise bad_request("wrong file_id or the file is temporarily unavailable")
        if len(kept.content) > LARGEST_DOWNLOAD:
            raise bad_request("file is too big")
        document = self._world.document(kept.id)
        size = {name: document[name] for name in ("file_id", "file_unique_id", "file_size")}
        return {**size, "file_path": kept.path}

    def _reply(self, chat: Chat, wanted: Json | None) -> Json | None:
        if wanted is None:
            return None
        if wanted["message_id"] in chat.messages:
            return self._world.replied(chat, wanted["message_id"])
        if wanted.get("allow_sending_without_reply"):
            return None
        raise bad_request("message to be replied not found")

    async def _edit_message_text(self, params: Json) -> Json:
        message = self._own_message(params)
        text, entities = checked_text(params.get("text"), params.get("entities", []))
        if "text" not in message:
            raise bad_request("there is no text in the message to edit")
        return self._edited(message, params, {"text": text, "entities": entities})

    async def _edit_message_caption(self, params: Json) -> Json:
        message = self._own_message(params)
        told = _told(params)
        if "text" in message:
            raise bad_request("there is no caption in the message to edit")
        return self._edited(message, params, told)

    def _own_message(self, params: Json) -> Json:
        message = self._open_chat(params).messages.get(params.get("message_id", 0))
        if message is None:
            raise bad_request("message to edit not found")
        if message["from"]["id"] != self._world.me["id"]:
            raise bad_request("message can't be edited")
        if message in self._world.asking:
            # Only messages with an inline keyboard, or without any, can be.
            raise bad_request("message can't be edited")
        return message

    def _edited(self, message: Json, params: Json, content: Json) -> Json:
        check_keyboard(params.get("reply_markup"))
        wanted = {**content, "reply_markup": params.get("reply_markup")}
        changed = {name: value for name, value in wanted.items() if value}
        if changed == {name: message[name] for name in wanted if name in message}:
            raise bad_request(
                "message is not modified: specified new message content and reply markup are "
                "exactly the same as a current content and reply markup of the message"
            )
        for name in wanted:
            message.pop(name, None)
        message.update(changed, edit_date=int(self._world.clock()))
        return message

    async def _send_chat_action(self, params: Json) -> bool:
        self._open_chat(params)
        if params.get("action") not in _ACTIONS:
            raise bad_request("wrong parameter action in request")
        return True

    async def _answer_callback_query(self, params: Json) -> bool:
        query = self._world.queries.get(params.get("callback_query_id", ""))
        if query is None or self._world.clock() - query.asked >= STALE:
            raise bad_request(
                "query is too old and response timeout expired or query ID is invalid"
            )
        if len(params.get("text", "")) > 200:
            raise bad_request("MESSAGE_TOO_LONG")
        query.answered = True
        self.answers.append(params)
        return True

    def _open_chat(self, params: Json) -> Chat:
        """The chat of the parameters, if it takes the bot's messages."""
        chat = self._world.chats.get(params.get("chat_id", 0))
        if chat is None:
            raise bad_request("chat not found")
        if chat.moved_to is not None:
            raise ApiError(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=chat.moved_to,
            )
        if chat.blocked:
            raise ApiError(403, f"Forbidden: {chat.blocked}")
        thread = params.get("message_thread_id")
        if thread is not None and thread not in chat.topics:
            raise bad_request("message thread not found")
        return chat


def _told(params: Json) -> Json:
    """Caption and formats of the parameters, as a message has them."""
    text, entities = checked_caption(params.get("caption"), params.get("caption_entities", []))
    return {"caption": text or None, "caption_entities": entities or None}
