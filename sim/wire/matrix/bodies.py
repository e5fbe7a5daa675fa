"""JSON as a homeserver writes it: events, state, errors. Pure."""

from collections.abc import Mapping

from aiohttp import web

from trunkline.core.errors import PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import DeedKind, Envelope
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.platforms.api.wire_faults import refused_as
from trunkline.sim.platforms.rooms import Room, letters
from trunkline.sim.wire.json_values import Json, NoObject, object_in

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#: who may do what, as a new room has it
_LEVELS: Json = {
    "users_default": 0,
    "events_default": 0,
    "state_default": 50,
    "ban": 50,
    "kick": 50,
    "redact": 50,
    "invite": 0,
    "historical": 100,
    "events": {
        "m.room.avatar": 50,
        "m.room.canonical_alias": 50,
        "m.room.encryption": 100,
        "m.room.history_visibility": 100,
        "m.room.name": 50,
        "m.room.power_levels": 100,
        "m.room.server_acl": 100,
        "m.room.tombstone": 150,
    },
}


def derived_id(*what: str) -> str:
    """A stable id of an event that no message of the world is."""
    return f"${letters('matrix', *what, length=16, alphabet=_ALPHABET)}"


def failed(status: int, code: str, why: str, **more: object) -> web.Response:
    return web.json_response({"errcode": code, "error": why, **more}, status=status)


class MatrixSays(Exception):
    """An error response; raised by handlers."""

    def __init__(self, status: int, code: str, why: str) -> None:
        super().__init__(why)
        self.response = failed(status, code, why)


#: refusal that a scenario asks for -> status, code and words
_AS = {
    "blocked": (403, "M_FORBIDDEN", "User not in room"),
    "chat-not-found": (403, "M_FORBIDDEN", "User not in room"),
    "kicked": (403, "M_FORBIDDEN", "User not in room"),
    "no-rights": (403, "M_FORBIDDEN", "You don't have permission to post that to the room."),
    "cant-parse": (400, "M_BAD_JSON", "Content must be a JSON object."),
    "too-long": (413, "M_TOO_LARGE", "event too large"),
}


def refused(error: PlatformError, *, joined: bool, thread: bool) -> web.Response:
    """The response that means an error of the platform.

    `joined`: the account is in the room. `thread`: the request names a thread.
    """
    if isinstance(error, Unauthorized):
        return failed(401, "M_UNKNOWN_TOKEN", "Access token has expired", soft_logout=True)
    if isinstance(error, RateLimited):
        seconds = error.retry_after or 1.0
        response = failed(429, "M_LIMIT_EXCEEDED", "Too Many Requests", retry_after_ms=round(seconds * 1000))
        response.headers["Retry-After"] = str(-int(-seconds // 1))
        return response
    if not isinstance(error, Refused):
        return failed(500, "M_UNKNOWN", "Internal server error")
    if name := refused_as(error):
        return failed(*_AS[name])
    if joined and thread:
        return failed(400, "M_UNKNOWN", "Can't send relation to unknown event")
    return failed(403, "M_FORBIDDEN", error.facts)


def body_of(raw: bytes) -> Json:
    """The JSON object of a request. Raises `MatrixSays`."""
    try:
        return object_in(raw)
    except NoObject:
        raise MatrixSays(400, "M_BAD_JSON", "Content must be a JSON object.") from None
    except ValueError:
        raise MatrixSays(400, "M_NOT_JSON", "Content not JSON.") from None


def event(room_id: str, kind: str, event_id: str, sender: str, at: float, content: Json) -> Json:
    """An event of a room's timeline. `at`: seconds since 1970."""
    return {
        "type": kind,
        "event_id": event_id,
        "room_id": room_id,
        "sender": sender,
        "origin_server_ts": round(at * 1000),
        "content": content,
        "unsigned": {"age": 0, "membership": "join"},
    }


def in_sync(found: Json) -> Json:
    """An event inside of its room in an answer of a sync, which says the room already."""
    return {name: value for name, value in found.items() if name != "room_id"}


def content_of(envelope: Envelope) -> tuple[str, Json]:
    """Type and content of the event of a message or a deed."""
    deed = envelope.deed
    if deed is None:
        return "m.room.message", message_content(envelope)
    if deed.kind is DeedKind.DELETE:
        return "m.room.redaction", {"redacts": deed.of}
    if deed.kind is DeedKind.EDIT:
        new, relation = message_content(envelope), {"rel_type": "m.replace", "event_id": deed.of}
        return "m.room.message", {**new, "body": f"* {envelope.text}", "m.new_content": new, "m.relates_to": relation}
    relation = {"rel_type": "m.annotation", "event_id": deed.of, "key": envelope.text}
    return "m.reaction", {"m.relates_to": relation}


def message_content(envelope: Envelope) -> Json:
    content: Json = {"msgtype": "m.notice" if envelope.bot else "m.text", "body": envelope.text}
    for file in envelope.files:
        kind = file.mime_type.partition("/")[0]
        content = {
            "msgtype": f"m.{kind if kind in ('image', 'video', 'audio') else 'file'}",
            "body": envelope.text or file.name,
            "filename": file.name,
            "url": f"mxc://example.org/{file.name}",
            "info": {"mimetype": file.mime_type, "size": 1},
        }
    chain = envelope.address.thread
    if chain is not None and envelope.threaded:
        content["m.relates_to"] = {
            "rel_type": "m.thread",
            "event_id": chain,
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": chain},
        }
    elif chain is not None:
        content["m.relates_to"] = {"m.in_reply_to": {"event_id": chain}}
    return content


def now_of(found: Json, message: BoardMessage) -> Json:
    """An event as it is now: deleted ones have lost their content, edited ones carry their last edit."""
    if message.deleted:
        named, redacts = derived_id("redaction", message.id), {"redacts": message.id}
        because = event(found["room_id"], "m.room.redaction", named, message.author, 0.0, dict(redacts)) | redacts
        unsigned = {**found["unsigned"], "redacted_by": named, "redacted_because": _inner(because)}
        return {**found, "content": {}, "unsigned": unsigned}
    if not message.edits:
        return found
    text = {"msgtype": "m.text", "body": message.text}
    content = {
        **text,
        "body": f"* {message.text}",
        "m.new_content": text,
        "m.relates_to": {"rel_type": "m.replace", "event_id": message.id},
    }
    edit = {**found, "event_id": derived_id("edit", message.id, str(message.edits)), "content": content}
    return {**found, "unsigned": {**found["unsigned"], "m.relations": {"m.replace": _inner(edit)}}}


def _inner(found: Json) -> Json:
    """An event inside of another one, which does not say whether the account was a member then."""
    unsigned = {name: value for name, value in found["unsigned"].items() if name != "membership"}
    return {**found, "unsigned": unsigned}


def reactions_of(room_id: str, message_id: str, reactions: Mapping[str, list[str]], at: float) -> list[Json]:
    found: list[Json] = []
    for emoji, users in reactions.items():
        for user in users:
            content = {"m.relates_to": {"rel_type": "m.annotation", "event_id": message_id, "key": emoji}}
            found.append(event(room_id, "m.reaction", reaction_id(message_id, emoji, user), user, at, content))
    return found


def reaction_id(message_id: str, emoji: str, user: str) -> str:
    return derived_id("reaction", message_id, emoji, user)


def state_of(room_id: str, room: Room, members: Mapping[str, str], me: str, pinned: list[str], at: float) -> list[Json]:
    """The state of a room. `members`: their names."""
    first = next(iter(members), me)
    contents: list[tuple[str, str, str, Json]] = [
        ("m.room.create", "", first, {"room_version": "10", "creator": first}),
        *(("m.room.member", user, user, {"membership": "join", "displayname": name}) for user, name in members.items()),
        ("m.room.power_levels", "", first, {**_LEVELS, "users": dict.fromkeys(members, 100)}),
        ("m.room.join_rules", "", first, {"join_rule": "invite"}),
        ("m.room.history_visibility", "", first, {"history_visibility": "shared"}),
    ]
    if not room.owner:
        contents.append(("m.room.name", "", first, {"name": room.title or room.name}))
    if pinned:
        contents.append(("m.room.pinned_events", "", me, {"pinned": pinned}))
    found: list[Json] = []
    for kind, key, sender, content in contents:
        made = event(room_id, kind, derived_id("state", room_id, kind, key), sender, at, content)
        found.append({**_inner(made), "state_key": key})
    return found
