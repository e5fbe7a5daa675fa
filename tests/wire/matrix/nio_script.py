"""Runs in the environment of matrix-nio, which checks every answer against schemas of its own.

Arguments: address of the server, the token, the user, a room, a person, a text that the person has said in the room.
Prints what went wrong, as JSON.
"""

import asyncio
import json
import sys
from typing import Any

import nio  # pyright: ignore[reportMissingImports] -- in an environment of its own

WRONG: list[str] = []


def expect(kind: type, found: Any, what: str) -> Any:
    """Note an answer of another kind, and events that could not be read."""
    if not isinstance(found, kind):
        WRONG.append(f"{what}: expected {kind.__name__}, got {found}")
    return found


def text(body: str, **relation: Any) -> dict[str, Any]:
    return {"msgtype": "m.text", "body": body, **({"m.relates_to": relation} if relation else {})}


async def send(
    client: nio.AsyncClient, room: str, content: dict[str, Any], kind: str = "m.room.message", txn: str = ""
) -> str:
    found = await client.room_send(room, kind, content, tx_id=txn or f"nio-{len(SENT)}")
    expect(nio.RoomSendResponse, found, f"send {kind}")
    SENT.append(getattr(found, "event_id", ""))
    return SENT[-1]


SENT: list[str] = []


async def messages(client: nio.AsyncClient, room: str, person: str, said: str) -> None:
    first = expect(nio.SyncResponse, await client.sync(timeout=0, full_state=True), "sync")
    events = first.rooms.join[room].timeline.events + first.rooms.join[room].state
    WRONG.extend(f"unreadable: {one}" for one in events if isinstance(one, nio.BadEvent | nio.UnknownBadEvent))
    if said not in [one.body for one in events if isinstance(one, nio.RoomMessageText)]:
        WRONG.append(f"{said!r} is not in the sync: {events}")
    if client.rooms[room].users.keys() < {person, client.user_id}:
        WRONG.append(f"members: {client.rooms[room].users}")
    root = await send(client, room, text("one"), txn="same")
    if await send(client, room, text("one"), txn="same") != root:
        WRONG.append("the same transaction is another event")
    reply = await send(client, room, text("in it", rel_type="m.thread", event_id=root))
    await send(client, room, text("* two", rel_type="m.replace", event_id=root) | {"m.new_content": text("two")})
    reaction = {"m.relates_to": {"rel_type": "m.annotation", "event_id": root, "key": "+"}}
    await send(client, room, reaction, "m.reaction")
    later = expect(nio.SyncResponse, await client.sync(timeout=1000, since=first.next_batch), "a later sync")
    there = [one.event_id for one in later.rooms.join[room].timeline.events]
    if not {root, reply} <= set(there):
        WRONG.append(f"own messages are not in the later sync: {there}")
    expect(nio.RoomGetEventResponse, await client.room_get_event(room, root), "event")
    expect(nio.RoomGetEventError, await client.room_get_event(room, "$nothing"), "no event")
    page = expect(nio.RoomMessagesResponse, await client.room_messages(room, later.next_batch, limit=3), "a page")
    if len(page.chunk) != 3:
        WRONG.append(f"a page of {len(page.chunk)}")
    expect(nio.RoomRedactResponse, await client.room_redact(room, reply), "redact")
    pinned = await client.room_put_state(room, "m.room.pinned_events", {"pinned": [root]})
    expect(nio.RoomPutStateResponse, pinned, "pin")
    expect(nio.RoomTypingResponse, await client.room_typing(room), "typing")
    expect(nio.RoomReadMarkersResponse, await client.room_read_markers(room, root), "read markers")


async def rooms(client: nio.AsyncClient, room: str, person: str) -> None:
    expect(nio.WhoamiResponse, await client.whoami(), "whoami")
    expect(nio.JoinedRoomsResponse, await client.joined_rooms(), "joined rooms")
    expect(nio.JoinedMembersResponse, await client.joined_members(room), "members")
    expect(nio.JoinedMembersError, await client.joined_members("!nowhere:example.org"), "members of no room")
    expect(nio.RoomGetStateResponse, await client.room_get_state(room), "state")
    expect(nio.RoomGetStateEventResponse, await client.room_get_state_event(room, "m.room.name"), "name")
    expect(nio.RoomGetStateEventError, await client.room_get_state_event(room, "m.room.topic"), "no topic")
    expect(nio.ProfileGetResponse, await client.get_profile(person), "profile")
    expect(nio.ProfileGetDisplayNameResponse, await client.get_displayname(person), "display name")
    expect(nio.ProfileGetError, await client.get_profile("@nobody:example.org"), "no profile")
    expect(nio.ProfileSetDisplayNameResponse, await client.set_displayname("Lamp"), "a new name")
    expect(nio.RoomResolveAliasError, await client.room_resolve_alias("#nothing:example.org"), "no alias")
    expect(nio.JoinResponse, await client.join(room), "join again")
    expect(nio.JoinError, await client.join("!closed:example.org"), "join without an invitation")
    expect(nio.ContentRepositoryConfigResponse, await client.content_repository_config(), "size of files")
    uploaded, _ = await client.upload(lambda *_: b"a lamp", content_type="image/png", filename="lamp.png", filesize=6)
    expect(nio.UploadResponse, uploaded, "upload")
    found = expect(nio.DownloadResponse, await client.download(uploaded.content_uri), "download")
    if found.body != b"a lamp":
        WRONG.append(f"the file is {found.body}")


async def main(url: str, token: str, user: str, room: str, person: str, said: str) -> None:
    client = nio.AsyncClient(url, user)
    expect(nio.LoginError, await client.login("wrong"), "login with a wrong password")
    expect(nio.LoginResponse, await client.login(token), "login")
    try:
        await messages(client, room, person, said)
        await rooms(client, room, person)
        client.access_token = "wrong"
        expect(nio.SyncError, await client.sync(timeout=0), "sync with a wrong token")
    finally:
        await client.close()
    print(json.dumps(WRONG))


asyncio.run(main(*sys.argv[1:]))
