"""Changes of threads, members, channels and other objects of a server, and of the account itself."""

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.errors import Refused
from trunkline.core.values import Address, ChatKind
from trunkline.sim.platforms.actions.changes import Done, Handler, RequestedChange
from trunkline.sim.platforms.actions.server import Member
from trunkline.sim.platforms.rooms import Room

#: the longest timeout of a member, in minutes: 28 days
_LONGEST = 28 * 24 * 60
_STATUSES = ("online", "idle", "dnd", "invisible")
#: parameters that say where an action goes, and are not stored with what it changes
_ROUTING = frozenset({"channel", "target", "to", "accountId", "guildId", "channelId", "dryRun"})


def _create_thread(change: RequestedChange) -> Done:
    """Open a thread, named after its title, on a message or by itself."""
    threads, room = change.platform.threads, change.room
    title = change.word("threadName", "name")
    place = room.address(change.account)
    if change.request.message_id is not None and change.platform.opens_threads:
        opened = threads.on_message(place, change.living.id, title)
        if opened is None:
            raise Refused("no thread can be opened there")
    else:
        opened = threads.child(place, title, title.replace("/", "-").replace(":", "-"))
    return _at(change, opened, title)


def _edit_topic(change: RequestedChange) -> Done:
    topic, name = change.room, change.word("name", "topicName")
    number = change.fields.get("threadId") or change.fields.get("messageThreadId")
    if topic.thread is None and number is not None:
        found = change.platform.room_at(_in(change, str(number)))
        topic = topic if found is None else found
    if topic.thread is None:
        raise Refused("no such topic")
    before, topic.title = topic.title or topic.name, name
    return _at(change, topic, name, before=before, repeated=before == name)


def _in(change: RequestedChange, thread: str) -> Address:
    place = change.room.address(change.account)
    return msgspec.structs.replace(place, thread=thread)


def _at(change: RequestedChange, room: Room, text: str, *, before: str = "", repeated: bool = False) -> Done:
    """The outcome at another place than that of the request."""
    where = room.address(change.account)
    named = room.thread or room.conversation
    return Done(address=where, provider_id=named, text=text, before=before, repeated=repeated)


def _member(change: RequestedChange) -> Member:
    guild, given = change.platform.spec.guild, change.fields.get("guildId")
    if guild is not None and given is not None and given != guild:
        raise Refused("unknown guild")
    member = change.platform.server.members.get(change.word("userId"))
    if member is None:
        raise Refused("unknown member")
    return member


def _timeout(change: RequestedChange) -> Done:
    """Keep a member from posting for some minutes; 0 ends a timeout."""
    member = _member(change)
    minutes = change.fields.get("durationMin", 0)
    if not isinstance(minutes, int | float) or not 0 <= minutes <= _LONGEST:
        raise Refused(f"durationMin is at most {_LONGEST}")
    if member.out is not None:
        raise Refused("unknown member")
    until = change.now + 60.0 * minutes
    repeated = not minutes and member.timeout <= change.now
    member.timeout = until
    return change.done_with(member.peer.id, text=f"{minutes:g} min", repeated=repeated)


def _remove(how: str) -> Handler:
    def remove(change: RequestedChange) -> Done:
        member = _member(change)
        before, repeated = member.out or "", member.out in (how, "banned")
        member.out = member.out if repeated else how
        return change.done_with(member.peer.id, text=how, before=before, repeated=repeated)

    return remove


def _role(*, give: bool) -> Handler:
    def change_role(change: RequestedChange) -> Done:
        member, role = _member(change), change.word("roleId")
        gains, loses = (member.given, member.taken) if give else (member.taken, member.given)
        repeated = role in gains
        gains.add(role)
        loses.discard(role)
        return change.done_with(member.peer.id, text=role, repeated=repeated)

    return change_role


def _create_channel(change: RequestedChange) -> Done:
    platform, name = change.platform, change.word("name")
    number = sum(room.title == name for room in platform.rooms) + 1
    named = name if number == 1 else f"{name}+{number}"
    room = Room(
        channel=platform.channel,
        name=named,
        title=name,
        kind=platform.room_kind,
        conversation=platform.new_id("room", "created", named),
        accounts=(change.account,),
    )
    platform.add_room(room)
    platform.server.settings(room.conversation).update(_stored(change))
    return _at(change, room, name)


def _edit_room(change: RequestedChange) -> Done:
    """Change settings of a channel or group; a new name is its title."""
    room, given = _not_direct(change), _stored(change)
    name = next((str(given[key]) for key in ("displayName", "name") if given.get(key)), change.request.text)
    settings, before = change.platform.server.settings(room.conversation), room.title or room.name
    repeated = (not name or name == before) and all(settings.get(key) == value for key, value in given.items())
    settings.update(given)
    room.title = name or room.title
    return _at(change, room, name, before=before, repeated=repeated)


def _delete_channel(change: RequestedChange) -> Done:
    room = _not_direct(change)
    repeated = room.closed == "deleted"
    if not repeated:
        change.platform.threads.close(room, "deleted", change.request.cause)
    return _at(change, room, room.title or room.name, repeated=repeated)


def _participant(*, add: bool) -> Handler:
    def change_participants(change: RequestedChange) -> Done:
        room, who = _not_direct(change), change.word("address", "participant")
        settings = change.platform.server.settings(room.conversation)
        there: dict[str, bool] = settings.setdefault("participants", {})
        repeated = there.get(who) is add
        there[who] = add
        return _at(change, room, who, repeated=repeated)

    return change_participants


def _leave(change: RequestedChange) -> Done:
    """Leave a group: nothing can be sent to it any more."""
    room = _not_direct(change)
    repeated = change.account in room.left
    room.left.add(change.account)
    return _at(change, room, room.title or room.name, repeated=repeated)


def _not_direct(change: RequestedChange) -> Room:
    if change.room.kind is ChatKind.DIRECT:
        raise Refused("a direct conversation is no group")
    return change.room


def _create(kind: str, *names: str) -> Handler:
    def create(change: RequestedChange) -> Done:
        name, there = change.word(*names), change.platform.server.objects_of(kind)
        made = change.platform.new_id(kind, name, str(len(there)))
        there[made] = {**_stored(change), "name": name}
        return change.done_with(made, text=name)

    return create


def _edit_category(change: RequestedChange) -> Done:
    number, there = change.word("categoryId"), change.platform.server.objects_of("category")
    if number not in there:
        raise Refused("unknown category")
    given = {key: value for key, value in _stored(change).items() if key != "categoryId"}
    before, repeated = str(there[number]["name"]), all(there[number].get(key) == given[key] for key in given)
    there[number].update(given)
    return change.done_with(number, text=str(there[number]["name"]), before=before, repeated=repeated)


def _delete_category(change: RequestedChange) -> Done:
    number, there = change.word("categoryId"), change.platform.server.objects_of("category")
    gone = change.platform.server.objects_of("deleted category")
    if number not in there and number not in gone:
        raise Refused("unknown category")
    repeated = number in gone
    if not repeated:
        gone[number] = there.pop(number)
    return change.done_with(number, text=str(gone[number]["name"]), repeated=repeated)


def _presence(change: RequestedChange) -> Done:
    given, there = _stored(change), change.platform.server.presences
    status = given.setdefault("status", "online")
    if status not in _STATUSES:
        raise Refused(f"status is one of {', '.join(_STATUSES)}")
    before = there.get(change.account, {})
    there[change.account] = given
    return change.done_with(
        change.actor, text=str(status), before=str(before.get("status", "")), repeated=before == given
    )


def _profile(change: RequestedChange) -> Done:
    given, there = _stored(change), change.platform.server.profiles.setdefault(change.account, {})
    repeated = all(there.get(key) == value for key, value in given.items())
    there.update(given)
    name = given.get("displayName") or given.get("name") or change.request.text
    return change.done_with(change.actor, text=str(name), repeated=repeated)


def _stored(change: RequestedChange) -> dict[str, object]:
    return {key: value for key, value in change.fields.items() if key not in _ROUTING}


#: the changes that are none of a message
SERVER_CHANGES: dict[Action, Handler] = {
    Action.THREAD_CREATE: _create_thread,
    Action.TOPIC_CREATE: _create_thread,
    Action.TOPIC_EDIT: _edit_topic,
    Action.TIMEOUT: _timeout,
    Action.KICK: _remove("kicked"),
    Action.BAN: _remove("banned"),
    Action.ROLE_ADD: _role(give=True),
    Action.ROLE_REMOVE: _role(give=False),
    Action.CHANNEL_CREATE: _create_channel,
    Action.CHANNEL_EDIT: _edit_room,
    Action.CHANNEL_MOVE: _edit_room,
    Action.CHANNEL_DELETE: _delete_channel,
    Action.RENAME_GROUP: _edit_room,
    Action.SET_GROUP_ICON: _edit_room,
    Action.ADD_PARTICIPANT: _participant(add=True),
    Action.REMOVE_PARTICIPANT: _participant(add=False),
    Action.LEAVE_GROUP: _leave,
    Action.CATEGORY_CREATE: _create("category", "name"),
    Action.CATEGORY_EDIT: _edit_category,
    Action.CATEGORY_DELETE: _delete_category,
    Action.EVENT_CREATE: _create("event", "eventName", "name"),
    Action.EMOJI_UPLOAD: _create("emoji", "emojiName", "name"),
    Action.STICKER_UPLOAD: _create("sticker", "stickerName", "name"),
    Action.SET_PRESENCE: _presence,
    Action.SET_PROFILE: _profile,
}
#: changes of rooms that are possible after the account or the room has left
IN_ROOMS_LEFT = frozenset({Action.LEAVE_GROUP, Action.CHANNEL_DELETE})
