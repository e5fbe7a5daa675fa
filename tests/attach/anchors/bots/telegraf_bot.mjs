// telegraf: a bot that polls, and a listener for texts.
import { Telegraf } from "telegraf";
import { message } from "telegraf/filters";
import { ask } from "./model.mjs";

const bot = new Telegraf(process.env.TELEGRAM_BOT_TOKEN, { telegram: { apiRoot: process.env.TELEGRAM_API_ROOT } });
bot.on(message("text"), async (ctx) => {
  await ctx.reply(await ask(`${ctx.chat.id}/${ctx.message.message_thread_id}`, ctx.message.text));
});
bot.launch();
