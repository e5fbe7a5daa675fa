// Bolt for JavaScript, in Socket Mode: it answers in the thread of a question, if it has one.
import bolt from "@slack/bolt";
import { ask } from "./model.mjs";

const app = new bolt.App({
  token: process.env.SLACK_BOT_TOKEN,
  appToken: process.env.SLACK_APP_TOKEN,
  socketMode: true,
  clientOptions: { slackApiUrl: process.env.SLACK_API_URL },
});
app.message(async ({ message, say }) => {
  const text = await ask(`${message.channel}/${message.thread_ts}`, message.text);
  await say({ text, thread_ts: message.thread_ts });
});
await app.start();
