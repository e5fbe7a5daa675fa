"""aiogram: a dispatcher that polls, and a handler for messages."""

# A bot as a newcomer types it; its library is in an environment of its own.
# pyright: reportMissingImports=false, reportOptionalMemberAccess=false
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import asyncio
import os

from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.types import Message
from model import ask

dispatcher = Dispatcher()


@dispatcher.message()
async def answer(message: Message) -> None:
    place = message.chat.id, message.message_thread_id
    await message.answer(await asyncio.to_thread(ask, place, message.text))


async def main() -> None:
    server = TelegramAPIServer.from_base(os.environ["TELEGRAM_API_ROOT"])
    await dispatcher.start_polling(Bot(os.environ["TELEGRAM_BOT_TOKEN"], session=AiohttpSession(api=server)))


asyncio.run(main())
