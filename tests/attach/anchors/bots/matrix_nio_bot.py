"""matrix-nio: a client that syncs, and a callback for texts. It answers in the thread of a question, if it has one."""

# A bot as a newcomer types it; its library is in an environment of its own.
# pyright: reportMissingImports=false, reportOptionalMemberAccess=false
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import asyncio
import os

from model import ask
from nio import AsyncClient, MatrixRoom, RoomMessageText

client = AsyncClient(os.environ["MATRIX_HOMESERVER"], os.environ["MATRIX_USER_ID"])


async def answer(room: MatrixRoom, event: RoomMessageText) -> None:
    if event.sender == client.user_id:
        return
    relation = event.source["content"].get("m.relates_to", {})
    thread = relation["event_id"] if relation.get("rel_type") == "m.thread" else None
    text = await asyncio.to_thread(ask, (room.room_id, thread), event.body)
    content = {"msgtype": "m.text", "body": text}
    if thread is not None:
        content["m.relates_to"] = {"rel_type": "m.thread", "event_id": thread}
    await client.room_send(room.room_id, "m.room.message", content)


async def main() -> None:
    client.restore_login(os.environ["MATRIX_USER_ID"], "ANCHOR", os.environ["MATRIX_ACCESS_TOKEN"])
    await client.sync()  # what was said before the start
    client.add_event_callback(answer, RoomMessageText)
    await client.sync_forever(timeout=30000)


asyncio.run(main())
