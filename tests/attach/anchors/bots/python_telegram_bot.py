"""python-telegram-bot: an application that polls, and a handler for texts."""

# A bot as a newcomer types it; its library is in an environment of its own.
# pyright: reportMissingImports=false, reportOptionalMemberAccess=false
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import asyncio
import os

from model import ask
from telegram import Update
from telegram.ext import Application, ContextTypes, MessageHandler, filters


async def answer(update: Update, _context: ContextTypes.DEFAULT_TYPE) -> None:
    message = update.message
    place = message.chat_id, message.message_thread_id
    await message.reply_text(await asyncio.to_thread(ask, place, message.text))


root = os.environ["TELEGRAM_API_ROOT"]
application = Application.builder().token(os.environ["TELEGRAM_BOT_TOKEN"]).base_url(f"{root}/bot").build()
application.add_handler(MessageHandler(filters.TEXT, answer))
application.run_polling()
