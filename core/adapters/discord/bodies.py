"""The JSON bodies of messages. Pure.

A webhook's message has no nonce, no quoted message and no sticker: Discord has none of these for webhooks.
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from trunkline.core.adapters.discord.calls import UploadFile, nonce_of
from trunkline.core.errors import Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Poll, SendRequest

SILENT = 1 << 12
#: types of components, and styles of buttons
_ROW, _BUTTON = 1, 2
_SECONDARY, _LINK = 2, 5
_IN_A_ROW, _ROWS = 5, 5
_LONGEST_NAME = 80
_DEFAULT_LAYOUT = 1


def message_body(request: SendRequest, mentions: Sequence[str], files: Sequence[UploadFile] = ()) -> dict[str, Any]:
    """The body of a send. Raises `Refused` for content without a form on Discord."""
    parts = request.parts or MessageParts()
    body = _payload(request.payload)
    body |= {"content": request.text, "allowed_mentions": {"parse": list(mentions), "replied_user": True}}
    if request.identity is not None:
        if parts.sticker is not None:
            raise Refused("a webhook sends no stickers on Discord")
        body["username"] = request.identity.name[:_LONGEST_NAME]
    else:
        body |= {"nonce": nonce_of(request.key), "enforce_nonce": True}
        if request.reply_to is not None:
            # The message is sent even if the answered message was deleted before.
            body["message_reference"] = {"message_id": request.reply_to, "fail_if_not_exists": False}
    body |= _parts(parts)
    if request.poll is not None:
        body["poll"] = _poll(request.poll)
    if files:
        body["attachments"] = [{"id": number, "filename": file.name} for number, file in enumerate(files)]
    return body


def edit_body(text: str, mentions: Sequence[str]) -> dict[str, Any]:
    return {"content": text, "allowed_mentions": {"parse": list(mentions)}}


def _parts(parts: MessageParts) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if parts.silent:
        body["flags"] = SILENT
    if parts.embed is not None:
        body["embeds"] = [{"description": parts.embed}]
    components = _rows(parts.buttons) + _components(parts.components)
    if components:
        body["components"] = components
    if parts.sticker is not None:
        body["sticker_ids"] = [parts.sticker]
    return body


def _rows(rows: Sequence[Sequence[Button]]) -> list[Any]:
    """Rows of buttons; a row with too many continues in the next."""
    cut = [row[start : start + _IN_A_ROW] for row in rows for start in range(0, len(row), _IN_A_ROW)]
    if len(cut) > _ROWS:
        raise Refused(f"more than {_ROWS} rows of {_IN_A_ROW} buttons")
    return [{"type": _ROW, "components": [_button(button) for button in row]} for row in cut]


def _button(button: Button) -> dict[str, Any]:
    if button.url is not None:
        return {"type": _BUTTON, "style": _LINK, "label": button.text, "url": button.url}
    value = button.value or button.text
    return {"type": _BUTTON, "style": _SECONDARY, "label": button.text, "custom_id": value}


def _components(text: str | None) -> list[Any]:
    """Components as JSON: a list of rows, a row, or an object with `components`."""
    if text is None:
        return []
    found = _json(text, "components")
    if isinstance(found, list):
        return cast("list[Any]", found)
    if isinstance(found, dict):
        component = cast("dict[str, Any]", found)
        inner = component.get("components")
        return cast("list[Any]", inner) if "type" not in component and isinstance(inner, list) else [component]
    raise Refused("components are a list or an object on Discord")


def _poll(poll: Poll) -> dict[str, Any]:
    body: dict[str, Any] = {
        "question": {"text": poll.question},
        "answers": [{"poll_media": {"text": option}} for option in poll.options],
        # Discord knows a single choice or any number of choices.
        "allow_multiselect": poll.max_selections > 1,
        "layout_type": _DEFAULT_LAYOUT,
    }
    if poll.duration_hours is not None:
        body["duration"] = poll.duration_hours
    return body


def _payload(text: str | None) -> dict[str, Any]:
    """Further fields of the message, which never replace text, key or notified people."""
    if text is None:
        return {}
    found = _json(text, "the payload")
    if not isinstance(found, dict):
        raise Refused("the payload of a message is a JSON object on Discord")
    return cast("dict[str, Any]", found)


def _json(text: str, what: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise Refused(f"{what} is no JSON: {error}") from None
