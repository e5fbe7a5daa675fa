// matrix-js-sdk: a client that syncs, and a listener for the timeline.
import * as sdk from "matrix-js-sdk";
import { ask } from "./model.mjs";

const client = sdk.createClient({
  baseUrl: process.env.MATRIX_HOMESERVER,
  accessToken: process.env.MATRIX_ACCESS_TOKEN,
  userId: process.env.MATRIX_USER_ID,
});
client.on(sdk.RoomEvent.Timeline, async (event, room, toStartOfTimeline, _removed, data) => {
  if (toStartOfTimeline || !data.liveEvent || event.getType() !== "m.room.message") return;
  if (event.getSender() === client.getUserId()) return;
  const thread = event.threadRootId ?? null;
  const text = await ask(`${room.roomId}/${thread}`, event.getContent().body);
  await client.sendMessage(room.roomId, thread, { msgtype: "m.text", body: text });
});
await client.startClient({ threadSupport: true });
