"""The answers of a platform to questions about messages, members and channels. They name fields as the tool does."""

from collections.abc import Callable
from typing import Any, cast

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.errors import Refused
from trunkline.sim.platforms.actions.changes import PlacedAction, poll_of
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.rooms import Room

#: entries of a list, unless the question asks for fewer
_MOST = 50


class Question(PlacedAction, frozen=True, kw_only=True):
    query: ActionQuery

    @property
    def account(self) -> str:
        return self.query.address.account

    @property
    def message(self) -> BoardMessage:
        """The message that is meant. Raises `Refused` if it is not there."""
        named, poll = self.query.message_id, self.fields.get("pollId")
        found = None if named is None else self.platform.board.get(self.room, named)
        if named is None and poll is not None:
            of_poll = (
                post for post in self.platform.board.sent if post.receipt.poll_id == poll and post.room is self.room
            )
            found = next(of_poll, None)
        if found is None or found.deleted:
            raise Refused("no such message")
        return found

    def newest(self, messages: list[BoardMessage]) -> list[dict[str, Any]]:
        """The last messages, newest first, as many as `limit` says."""
        limit = self.fields.get("limit", _MOST)
        most = min(_MOST, limit) if isinstance(limit, int) and limit > 0 else _MOST
        return [_message(message) for message in reversed(messages[-most:])]


Answer = Callable[[Question], Any]


def _message(post: BoardMessage) -> dict[str, Any]:
    return {"messageId": post.id, "authorId": post.author, "text": post.text, "at": post.at, "pinned": post.pinned}


def _reactions(question: Question) -> list[dict[str, Any]]:
    return [
        {"emoji": emoji, "count": len(who), "users": list(who)} for emoji, who in question.message.reactions.items()
    ]


def _read(question: Question) -> list[dict[str, Any]]:
    return question.newest(list(question.platform.board.within(question.room)))


def _pins(question: Question) -> list[dict[str, Any]]:
    return question.newest([message for message in question.platform.board.within(question.room) if message.pinned])


def _poll_results(question: Question) -> dict[str, Any]:
    """The votes of a poll so far. An anonymous poll does not say who voted."""
    message = question.message
    poll = poll_of(message)
    chosen = [option for options in message.votes.values() for option in options]
    found: dict[str, Any] = {
        "messageId": message.id,
        "pollId": cast("PostedMessage", message).receipt.poll_id,
        "question": poll.question,
        "options": [{"text": text, "votes": chosen.count(number)} for number, text in enumerate(poll.options)],
        "voters": len(message.votes),
    }
    if not poll.anonymous:
        found["votes"] = {voter: [poll.options[index] for index in options] for voter, options in message.votes.items()}
    return found


# Questions about members, channels, threads and other objects of a server.


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


#: question -> how a platform answers it
QUESTIONS: dict[Action, Answer] = {
    Action.REACTIONS: _reactions,
    Action.READ: _read,
    Action.LIST_PINS: _pins,
    Action.POLL_RESULTS: _poll_results,
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
