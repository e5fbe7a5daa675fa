"""hikari: a gateway bot that listens to new messages."""

# A bot as a newcomer types it; its library is in an environment of its own.
# pyright: reportMissingImports=false, reportOptionalMemberAccess=false
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import asyncio
import os

import hikari
from model import ask

bot = hikari.GatewayBot(
    os.environ["DISCORD_BOT_TOKEN"],
    rest_url=os.environ["DISCORD_API_URL"],
    intents=hikari.Intents.ALL_UNPRIVILEGED | hikari.Intents.MESSAGE_CONTENT,
)


@bot.listen()
async def answer(event: hikari.MessageCreateEvent) -> None:
    if event.is_human:
        await event.message.respond(await asyncio.to_thread(ask, event.channel_id, event.content))


bot.run(check_for_updates=False)
