"""python-telegram-bot without a model: `SAYS` is what it answers, with the text of the message in it."""

# A bot as a newcomer types it; its library is in an environment of its own.
# pyright: reportMissingImports=false, reportOptionalMemberAccess=false
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import os

from telegram import Update
from telegram.ext import Application, ContextTypes, MessageHandler, filters


async def answer(update: Update, _context: ContextTypes.DEFAULT_TYPE) -> None:
    await update.message.reply_text(os.environ.get("SAYS", "You said: {}").format(update.message.text))


root = os.environ["TELEGRAM_API_ROOT"]
application = Application.builder().token(os.environ["TELEGRAM_BOT_TOKEN"]).base_url(f"{root}/bot").build()
application.add_handler(MessageHandler(filters.TEXT, answer))
application.run_polling(drop_pending_updates=os.environ.get("DROPS") == "1")
