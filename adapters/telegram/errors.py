"""python-telegram-bot's errors as the adapter seam's, with the token taken out of every text."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import quote

from telegram import WebhookInfo
from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

from adapters.base import (
    AdapterError,
    Misconfigured,
    Refused,
    Throttled,
    Unavailable,
    Unreachable,
)
from adapters.cleaning import clean, printable
from adapters.wording import network_words

_GONE = (
    "bot is not a member",
    "channel_private",
    "chat not found",
    "chat was deactivated",
    "chat was deleted",
    "chat_restricted",
    "chat_write_forbidden",
    "have no rights to send",
    "message thread not found",
    "need administrator rights",
    "not enough rights to send",
    "peer_id_invalid",
    "topic_closed",
    "topic_deleted",
    "user is deactivated",
    "user not found",
)
"""Parts of the descriptions with which Telegram refuses the chat and not the message."""

_WORDS = 200
"""Characters of what Telegram says went wrong with a webhook."""
_TOO_LARGE = ("request entity too large", "content too large")
"""413, for which the library has no error of its own, in the words of Telegram and of HTTP."""


def hidden(text: str, token: str) -> str:
    """Without the token, also where it is quoted as in the URL of a file. In any case: the library
    writes some of Telegram's words in small letters."""
    shapes = f"{re.escape(token)}|{re.escape(quote(token))}"
    return re.sub(shapes, "[token]", text, flags=re.IGNORECASE)


@contextmanager
def adapter_errors(token: str) -> Iterator[None]:
    """Raise an AdapterError for every error of the library.

    The original stays out of the traceback: its text may show the token.
    """
    try:
        yield
    except TelegramError as error:
        raise adapter_error(error, token) from None


@contextmanager
def start_errors(token: str) -> Iterator[None]:
    """The same for a start: Misconfigured where no waiting helps, or Unavailable."""
    try:
        with adapter_errors(token):
            try:
                yield
            except TelegramError as error:
                raise refusal(error, token) or error from None
    except Throttled as error:
        raise Unavailable(f"Telegram: {error}") from None
    except (Refused, Unreachable) as error:
        raise Unavailable(
            f"Telegram does not let the bot start ({error}); where that stays, check "
            "[telegram] token, and base_url where it is set: bough doctor --fix"
        ) from None


def refusal(error: TelegramError, token: str) -> Misconfigured | None:
    """What to do where Telegram refuses a request that every start makes, and will refuse it the
    next time too; None where waiting may help."""
    match error:
        case InvalidToken() if is_unauthorized(error):
            return refused_token()
        case InvalidToken():  # 404
            return Misconfigured(
                "there is no Bot API at [telegram] base_url for this token: check both, or remove "
                "base_url, and run bough doctor"
            )
        case BadRequest():
            return Misconfigured(
                f"Telegram does not let the bot start ({hidden(str(error), token)}): check "
                "[telegram] token, and base_url, where it is set: it must lead to the Bot API "
                "server at which the bot is logged in. bough doctor tries both"
            )
        case _:
            return None


def adapter_error(error: TelegramError, token: str) -> AdapterError:
    text = hidden(str(error), token)
    match error:
        case RetryAfter():
            return Throttled(seconds(error))
        case InvalidToken() if is_unauthorized(error):
            return refused_token()
        case Forbidden():
            return Unreachable(text)
        case BadRequest():
            lower = text.lower()
            return Unreachable(text) if any(part in lower for part in _GONE) else Refused(text)
        case _ if any(part in text.lower() for part in _TOO_LARGE):
            return Refused(f"Telegram: {text}")
        case _ if text.startswith("httpx."):
            return Unavailable(f"Telegram: {network_words(text)}")
        case _:
            return Unavailable(f"Telegram: {text}")


def refused_token() -> Misconfigured:
    return Misconfigured(
        "Telegram refused the token: check [telegram] token (and base_url, where it is set)"
    )


def is_unauthorized(error: InvalidToken) -> bool:
    """The library has one error for 401, a wrong token, and 404, which a proxy may give too."""
    return "unauthorized" in str(error).lower()


def seconds(error: RetryAfter) -> float:
    wait = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def telegrams_words(info: WebhookInfo) -> str:
    """Its last failure to bring an update, on one line; "" where there was none."""
    return " ".join(printable(clean((info.last_error_message or "")[:_WORDS])).split())
