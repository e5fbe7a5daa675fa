"""discord.py: a client that sees the texts of messages."""

# A bot as a newcomer types it; its library is in an environment of its own.
# pyright: reportMissingImports=false, reportOptionalMemberAccess=false
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import asyncio
import os

import discord
import yarl
from discord.gateway import DiscordWebSocket
from model import ask

discord.http.Route.BASE = os.environ["DISCORD_API_URL"]
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ["DISCORD_GATEWAY_URL"])
intents = discord.Intents.default()
intents.message_content = True
client = discord.Client(intents=intents)


@client.event
async def on_message(message: discord.Message) -> None:
    if message.author != client.user:
        await message.channel.send(await asyncio.to_thread(ask, message.channel.id, message.content))


client.run(os.environ["DISCORD_BOT_TOKEN"])
