"""The peer: a bot on python-telegram-bot that echoes, keeps nothing and knows nobody.

python -m benchmarks.echo_bot BASE_URL TOKEN
"""

import sys

from telegram import Update
from telegram.ext import Application, ContextTypes, MessageHandler, filters


async def echo(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    message = update.message
    assert message is not None
    assert message.text is not None
    await message.reply_text(message.text)


def main() -> None:
    base_url, token = sys.argv[1:]
    application = Application.builder().base_url(base_url).token(token).build()
    application.add_handler(MessageHandler(filters.TEXT, echo))
    application.run_polling()


if __name__ == "__main__":
    main()
