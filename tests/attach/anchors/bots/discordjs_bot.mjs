// discord.js: a client with the partials that direct messages need.
import { Client, Events, GatewayIntentBits, Partials } from "discord.js";
import { ask } from "./model.mjs";

const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits;
const client = new Client({
  intents: [Guilds, GuildMessages, DirectMessages, MessageContent],
  partials: [Partials.Channel],
  rest: { api: process.env.DISCORD_API_URL.replace(/\/v10$/, "") },
});
client.on(Events.MessageCreate, async (message) => {
  if (!message.author.bot) await message.channel.send(await ask(message.channelId, message.content));
});
client.login(process.env.DISCORD_BOT_TOKEN);
