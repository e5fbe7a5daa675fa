"""A bot on Telegram that asks a model, with two mistakes that `trunkline attach` finds: docs/attach.md shows them."""

import asyncio
import os

import httpx
from telegram import Update
from telegram.error import NetworkError
from telegram.ext import Application, ContextTypes, MessageHandler, filters

MODEL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")


async def ask(text: str) -> str:
    """The answer of the model to one message."""
    body = {"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": text}]}
    async with httpx.AsyncClient(
        timeout=60, headers={"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    ) as client:
        response = await client.post(f"{MODEL}/chat/completions", json=body)
    response.raise_for_status()
    return response.json()["choices"][0]["message"]["content"]


async def answer(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
    """Answer a message."""
    message = update.effective_message
    if message is None or message.text is None:
        return
    text = await ask(message.text)
    for _ in range(3):
        try:
            # The first mistake: a topic of a group needs its message_thread_id.
            await context.bot.send_message(message.chat_id, text)
        except NetworkError:
            # The second: a connection that broke does not say that the message was not sent.
            await asyncio.sleep(1)
        else:
            return


def main() -> None:
    """Poll until the process ends."""
    root = os.environ.get("TELEGRAM_API_ROOT", "https://api.telegram.org")
    bot = Application.builder().token(os.environ["TELEGRAM_BOT_TOKEN"]).base_url(f"{root}/bot").build()
    bot.add_handler(MessageHandler(filters.TEXT, answer))
    bot.run_polling()


if __name__ == "__main__":
    main()
