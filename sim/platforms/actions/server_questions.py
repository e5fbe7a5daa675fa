"""The answers of a platform to questions about members, channels, threads and other objects of a server."""

from __future__ import annotations

from typing import Any

from trunkline.core.action_names import Action
from trunkline.core.errors import Refused
from trunkline.sim.platforms.actions.questions import Answer, Question
from trunkline.sim.platforms.rooms import Room


def _search(question: Question) -> list[dict[str, Any]]:
    """The newest messages with a text, in the rooms that the account is a member of."""
    wanted = str(question.fields.get("query", "")).strip().lower()
    if not wanted:
        raise Refused("query is missing")
    place = question.fields.get("channelId")
    found = [
        message
        for message in question.platform.board.all
        if not message.deleted
        and question.account in message.room.accounts
        and place in (None, message.room.conversation)
        and wanted in message.text.lower()
    ]
    return question.newest(found)


def _member(question: Question) -> dict[str, Any]:
    platform, person = question.platform, str(question.fields.get("userId", ""))
    member = platform.server.members.get(person)
    if member is None:
        raise Refused("unknown member")
    usual = platform.usual_roles.get(person, ())
    return {
        "userId": person,
        "name": member.peer.name,
        "roles": list(platform.server.roles(person, usual)),
        "status": member.out or ("timed out" if question.now < member.timeout else "member"),
    }


def _roles(question: Question) -> list[dict[str, Any]]:
    platform = question.platform
    known = {
        role
        for person in platform.server.members
        for role in platform.server.roles(person, platform.usual_roles.get(person, ()))
    }
    return [{"roleId": role, "name": role} for role in sorted(known)]


def _channels(question: Question) -> list[dict[str, Any]]:
    rooms = question.platform.rooms
    return [_shown(room) for room in rooms if _is_channel(room) and question.account in room.accounts]


def _channel(question: Question) -> dict[str, Any]:
    settings = question.platform.server.rooms.get(question.room.conversation, {})
    return {**settings, **_shown(question.room)}


def _threads(question: Question) -> list[dict[str, Any]]:
    above = question.fields.get("channelId")
    return [
        _shown(room)
        for room in question.platform.rooms
        if (room.parent or (room.conversation if room.thread else None)) is not None
        and room.closed != "deleted"
        and above in (None, room.parent or room.conversation)
        and question.account in room.accounts
    ]


def _is_channel(room: Room) -> bool:
    return not room.owner and room.thread is None and room.parent is None and room.closed != "deleted"


def _shown(room: Room) -> dict[str, Any]:
    shown = {
        "channelId": room.conversation,
        "name": room.title or room.name,
        "threadId": room.thread,
        "parentId": room.parent,
        "archived": room.closed == "archived",
    }
    return {name: value for name, value in shown.items() if value is not None}


def _permissions(question: Question) -> dict[str, Any]:
    can = question.platform.capabilities[question.account]
    return {"channelId": question.room.conversation, "actions": sorted(action.value for action in can.actions)}


def _objects(kind: str) -> Answer:
    def listed(question: Question) -> list[dict[str, Any]]:
        there = question.platform.server.objects_of(kind)
        return [{**fields, f"{kind}Id": number} for number, fields in there.items()]

    return listed


def _stickers(question: Question) -> list[dict[str, Any]]:
    wanted = str(question.fields.get("query", "")).strip().lower()
    return [sticker for sticker in _objects("sticker")(question) if wanted in str(sticker["name"]).lower()]


def _voice(question: Question) -> dict[str, Any]:
    """The voice state of a person, who is never in a voice channel here."""
    return {"userId": str(question.fields.get("userId", "")), "connected": False}


def _file(question: Question) -> dict[str, Any]:
    """A file of the conversation, by its address; the fakes have no contents."""
    wanted = str(question.fields.get("fileId", ""))
    if not any(wanted in message.media for message in question.platform.board.sent if message.room is question.room):
        raise Refused("no such file")
    return {"fileId": wanted, "url": wanted}


#: the questions that concern no message
SERVER_QUESTIONS: dict[Action, Answer] = {
    Action.SEARCH: _search,
    Action.STICKER_SEARCH: _stickers,
    Action.MEMBER_INFO: _member,
    Action.ROLE_INFO: _roles,
    Action.EMOJI_LIST: _objects("emoji"),
    Action.CHANNEL_INFO: _channel,
    Action.CHANNEL_LIST: _channels,
    Action.THREAD_LIST: _threads,
    Action.PERMISSIONS: _permissions,
    Action.VOICE_STATUS: _voice,
    Action.EVENT_LIST: _objects("event"),
    Action.DOWNLOAD_FILE: _file,
}
