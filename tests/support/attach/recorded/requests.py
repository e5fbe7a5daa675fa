"""The requests of a recorded wire: whether one sends, changes or does neither, what it says, and its digest."""

import hashlib
import json
import re
from typing import Any, cast

from tests.support.attach.recorded.places import RecordedPlaces, relation_of
from trunkline.core.action_catalogue import Action
from trunkline.sim.events.wire import WireCalled

#: parameters that differ where the request does not
_KEYS = ("nonce", "client_msg_id", "random_id", "txn")
_SENDS = {
    "telegram": re.compile(r"(?i)send(?!ChatAction|(Rich)?MessageDraft)\w+|copyMessages?|forwardMessages?"),
    "discord": re.compile(r"POST /channels/:id/messages"),
    "slack": re.compile(r"chat\.(postMessage|postEphemeral|startStream)"),
    "matrix": re.compile(r"PUT rooms/[^/]+/send/(m\.room\.(message|encrypted)|m\.sticker)/.*"),
}
_EDITS = {
    "telegram": re.compile(r"(?i)editMessage\w*"),
    "discord": re.compile(r"PATCH /channels/:id/messages/:id"),
    "slack": re.compile(r"chat\.(update|appendStream|stopStream)"),
}
_DELETES = {
    "telegram": re.compile(r"(?i)deleteMessages?"),
    "discord": re.compile(r"DELETE /channels/:id/messages/:id"),
    "slack": re.compile(r"chat\.delete"),
}
#: on Matrix, an event that changes another one has this relation to it
REPLACES = "m.replace"
_TEXTS = ("text", "content", "caption", "markdown_text", "body", "rich_message")


def called(line: dict[str, Any], places: RecordedPlaces) -> WireCalled:
    """The event of a request. Raises `ValueError` for a line without a method."""
    platform, method = str(line.get("platform", "")), line.get("method")
    if not isinstance(method, str):
        raise ValueError("it names no method")
    given = line.get("params")
    params = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    path = str(line.get("path") or method.partition(" ")[2])
    what, action = _kind(platform, method)
    related, other = relation_of(params)
    if what == "send" and related == REPLACES:
        what, action = "act", Action.EDIT
    address = places.target(platform, params, path) if what else None
    return WireCalled(
        channel=platform,
        method=method,
        account="" if address is None else address.account,
        what=what if address is not None else "",
        address=address,
        text=_text(params),
        message_id=(other or _message_id(params, path)) if what == "act" else None,
        action=action,
        digest=_digest(params),
    )


def _kind(platform: str, method: str) -> tuple[str, Action | None]:
    """``send``, ``act`` or nothing, and the action."""
    for table, what, action in ((_SENDS, "send", None), (_EDITS, "act", Action.EDIT), (_DELETES, "act", Action.DELETE)):
        pattern = table.get(platform)
        if pattern is not None and pattern.fullmatch(method):
            return what, action
    return "", None


def sends(platform: str, method: str) -> bool:
    """Whether a request posts something that people read."""
    pattern = _SENDS.get(platform)
    return pattern is None or pattern.fullmatch(method) is not None


def _text(params: dict[str, Any]) -> str:
    found = next((params[name] for name in _TEXTS if params.get(name)), "")
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def _message_id(params: dict[str, Any], path: str) -> str | None:
    found = re.search(r"/messages/(\d+)", path)
    given = params.get("message_id") or params.get("ts") or (found[1] if found else None)
    return None if given is None else str(given)


def _digest(params: dict[str, Any]) -> str:
    kept = {name: value for name, value in params.items() if name not in _KEYS}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()[:12]
