"""Runs in the environment of hikari, which reads every field of Discord's objects strictly.

Arguments: address of the REST API, token, id of a channel, of its server. Prints what it saw, as JSON.
"""

import asyncio
import json
import sys
from typing import Any

import hikari  # pyright: ignore[reportMissingImports] -- in an environment of its own


async def rest_calls(bot: hikari.GatewayBot, channel: int, guild: int, seen: dict[str, Any]) -> None:
    """What a bot does by REST; each answer is parsed as a whole."""
    rest = bot.rest
    posted = await rest.create_message(channel, "from hikari", nonce="hikari-1")
    again = await rest.create_message(channel, "again from hikari", embed=hikari.Embed(description="a note"))
    seen["edited"] = (await rest.edit_message(channel, posted, "edited by hikari")).content
    await rest.add_reaction(channel, posted, "\N{THUMBS UP SIGN}")
    seen["reactors"] = [
        str(one.id) for one in await rest.fetch_reactions_for_emoji(channel, posted, "\N{THUMBS UP SIGN}")
    ]
    await rest.pin_message(channel, posted)
    thread = await rest.create_message_thread(channel, again, "talk")
    seen["thread"] = [str(thread.id) == str(again.id), str(thread.parent_id)]
    seen["in_thread"] = str((await rest.create_message(thread, "in a thread")).channel_id) == str(thread.id)
    seen["history"] = [one.content for one in await rest.fetch_messages(channel).limit(10)]
    hook = await rest.create_webhook(channel, "hook")
    said = await rest.execute_webhook(hook, hook.token or "", "by a hook", username="Somebody")
    seen["webhook"] = [str(said.webhook_id) == str(hook.id), said.author.username]
    seen["channel"] = (await rest.fetch_channel(channel)).name
    seen["guild"] = str((await rest.fetch_guild(guild)).id)
    seen["channels"] = sorted(one.name or "" for one in await rest.fetch_guild_channels(guild))
    seen["roles"] = len(await rest.fetch_roles(guild))
    file = hikari.Bytes(b"lamp", "lamp.txt")
    seen["files"] = [
        one.filename for one in (await rest.create_message(channel, "a file", attachment=file)).attachments
    ]
    for name, call in {
        "no message": rest.fetch_message(channel, 404),
        "no channel": rest.create_message(404, "lost"),
        "empty": rest.create_message(channel, ""),
    }.items():
        try:
            await call
        except hikari.ClientHTTPResponseError as error:
            seen[name] = [type(error).__name__, int(error.code)]
    await rest.delete_message(channel, posted)


async def main() -> None:
    root, token, channel, guild = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    bot = hikari.GatewayBot(
        token,
        rest_url=root,
        banner=None,
        logs="ERROR",
        max_retries=0,
        intents=hikari.Intents.ALL_UNPRIVILEGED | hikari.Intents.MESSAGE_CONTENT,
    )
    seen: dict[str, Any] = {"heard": []}
    done = asyncio.Event()

    @bot.listen(hikari.MessageCreateEvent)
    async def heard(event: hikari.MessageCreateEvent) -> None:
        if event.is_bot:
            return
        where = "direct" if isinstance(event, hikari.DMMessageCreateEvent) else "guild"
        seen["heard"].append([where, event.content, event.author.global_name])
        if len(seen["heard"]) == 3:
            done.set()

    await bot.start(check_for_updates=False)
    await asyncio.wait_for(done.wait(), 20)
    seen["guilds"] = [str(one) for one in bot.cache.get_guilds_view()]
    await rest_calls(bot, channel, guild, seen)
    await bot.close()
    print(json.dumps(seen))


asyncio.run(main())
