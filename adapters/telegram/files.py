"""A file of a message, fetched from Telegram."""

import telegram
from telegram.error import BadRequest, InvalidToken

from adapters.base import Refused
from adapters.telegram.errors import is_unauthorized

_GONE = "Telegram does not have this file any more: send it again"


async def fetch(bot: telegram.Bot, ref: str, limit: int) -> bytes:
    """The content of a file by its file_id. Refused where it is gone or has more than `limit`
    bytes; else a TelegramError."""
    file = await _found(bot, ref)
    _check_size(file.file_size or 0, limit)
    try:
        content = bytes(await file.download_as_bytearray())
    except InvalidToken as error:
        if is_unauthorized(error):
            raise
        raise Refused(_GONE) from None  # 404: links to files end after an hour
    _check_size(len(content), limit)
    return content


async def _found(bot: telegram.Bot, ref: str) -> telegram.File:
    try:
        file = await bot.get_file(ref)
    except BadRequest as error:
        if "too big" in str(error).lower():
            raise Refused("the file is too big: Telegram gives bots at most 20 MB") from None
        if "file_id" in str(error).lower() or "unavailable" in str(error).lower():
            raise Refused(_GONE) from None
        raise
    if file.file_path is None:
        raise Refused(_GONE)
    if not file.file_path.startswith(bot.base_file_url):
        # The library takes a path that exists here for a file on this disk, and would read that.
        raise Refused("the Bot API server gives no files: start it without --local")
    return file


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise Refused(f"the file has {size} bytes, and at most {limit} are taken")
