// grammY: a bot that polls, and a listener for texts.
import { Bot } from "grammy";
import { ask } from "./model.mjs";

const bot = new Bot(process.env.TELEGRAM_BOT_TOKEN, { client: { apiRoot: process.env.TELEGRAM_API_ROOT } });
bot.on("message:text", async (ctx) => {
  const thread = ctx.message.message_thread_id;
  await ctx.reply(await ask(`${ctx.chat.id}/${thread}`, ctx.message.text), { message_thread_id: thread });
});
bot.start();
