"""The contents of events sent by the gateway. Pure."""

import msgspec

from trunkline.core.adapters.json_values import Json, as_texts
from trunkline.core.channels import rules_for
from trunkline.core.errors import Refused
from trunkline.core.message_parts import MessageParts
from trunkline.core.text.chunking.utf16 import units


class MatrixEvent(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    event_id: str
    sender: str
    origin_server_ts: float
    content: Json
    unsigned: Json = {}
    state_key: str | None = None
    #: of a redaction: the event that it takes away
    redacts: str | None = None


def read_direct(content: Json) -> dict[str, tuple[str, ...]]:
    """The direct rooms of each user, by the account data ``m.direct``."""
    return {user: tuple(as_texts(rooms)) for user, rooms in content.items()}


MESSAGE, REACTION = "m.room.message", "m.reaction"
_KINDS = ("image", "video", "audio")


def check_text(text: str) -> None:
    """Raise `Refused` for a text over the limit."""
    limit = rules_for("matrix").text_limit
    if units(text) > limit:
        raise Refused(f"longer than {limit}")


def text_content(text: str, html: str | None = None) -> Json:
    """The content of a text. Without a list of mentions, clients would search the text for names."""
    content: Json = {"msgtype": "m.text", "body": text, "m.mentions": {}}
    if html is not None:
        content |= {"format": "org.matrix.custom.html", "formatted_body": html}
    return content


def file_content(address: str, name: str, mime_type: str, size: int, text: str, parts: MessageParts | None) -> Json:
    kind = mime_type.partition("/")[0]
    content: Json = {
        "msgtype": f"m.{kind if kind in _KINDS else 'file'}",
        "body": text or name,
        "filename": name,
        "url": address,
        "info": {"mimetype": mime_type, "size": size},
        "m.mentions": {},
    }
    if parts is not None and parts.as_voice and kind == "audio":
        content["org.matrix.msc3245.voice"] = {}
    return content


def relation(thread: str | None, reply_to: str | None) -> Json:
    """The part of a content with the thread and the quoted message."""
    if thread is None:
        return {} if reply_to is None else {"m.relates_to": {"m.in_reply_to": {"event_id": reply_to}}}
    # Clients without threads show a message of a thread as a reply to its root.
    quoted = {"is_falling_back": reply_to is None, "m.in_reply_to": {"event_id": reply_to or thread}}
    return {"m.relates_to": {"rel_type": "m.thread", "event_id": thread, **quoted}}


def edit_content(event_id: str, text: str, html: str | None) -> Json:
    return {
        **text_content(f"* {text}", None if html is None else f"* {html}"),
        "m.new_content": text_content(text, html),
        "m.relates_to": {"rel_type": "m.replace", "event_id": event_id},
    }


def reaction_content(event_id: str, emoji: str) -> Json:
    return {"m.relates_to": {"rel_type": "m.annotation", "event_id": event_id, "key": emoji}}
