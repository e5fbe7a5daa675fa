"""The fields of a call that make a message: its text, its files, its poll, its buttons and its other parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.errors import InvalidAction
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.message_tool.parsing.text_marks import split_reply_tag, without_reasoning
from trunkline.core.reasons import Reason
from trunkline.core.sends.api import split_media
from trunkline.core.values import Poll
from trunkline.core.well_formed import is_well_formed

if TYPE_CHECKING:
    from trunkline.core.message_tool.parsing.parse import Given
    from trunkline.core.profiles import Profile

_TEXTS = ("message", "text", "newText", "content", "caption")
_DATA_URL = re.compile(r"\s*data:([^;,\s]+)(?:;[^;,]*)*;base64,(.*)", re.IGNORECASE | re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_MOST_BUTTONS = 100
_LABELS, _VALUES = ("text", "label"), ("callback_data", "callbackData", "value")


def message_of(given: Given, profile: Profile) -> tuple[str, tuple[str, ...], str | None]:
    """Text, files, and the message that a tag in the text says it answers."""
    texts = {name: text for name in _TEXTS if (text := given.text(name)) is not None}
    if len(set(texts.values())) > 1 and not profile.upstream:
        both = " and ".join(f"`{name}`" for name in texts)
        raise InvalidAction(f"{both} are different texts.", Reason.BAD_TEXT, remedy="Give only `message`.")
    text, replied = split_reply_tag(without_reasoning(next(iter(texts.values()), "")))
    named = (given.get(name, str) for name in ("media", "path", "filePath"))
    text, media = split_media(text, tuple(one.strip() for one in named if one), profile)
    return text, media, replied


def split_data_url(text: str | None, mime_type: str | None) -> tuple[str | None, str | None]:
    """The base64 of a file and its MIME type, from base64 or from a data URL. Raises `InvalidAction`."""
    if text is None:
        return None, mime_type
    found = _DATA_URL.fullmatch(text)
    base64 = "".join((found[2] if found else text).split())
    if not _BASE64.fullmatch(base64):
        raise InvalidAction("`buffer` is not base64.", remedy="Give base64, or a data: URL.")
    return base64, mime_type or (found[1] if found else None)


def poll_of(given: Given) -> Poll | None:
    """The poll; None while question or options are missing, which `core.actions.planning.requirements` reports."""
    question, options = given.get("pollQuestion", str), given.texts("pollOption")
    if question is None or not options:
        return None
    return Poll(
        question=question.strip(),
        options=options,
        max_selections=max(2, len(options)) if given.flag("pollMulti") else 1,
        duration_hours=given.get("pollDurationHours", int),
        duration_seconds=given.get("pollDurationSeconds", int),
        anonymous=given.get("pollAnonymous", bool),
    )


def parts_of(given: Given, action: Action, mime_type: str | None) -> MessageParts | None:
    """Buttons, card and the other parts beside text and files; None: none of them. Raises `InvalidAction`."""
    stickers = given.texts("stickerId")
    parts = MessageParts(
        silent=given.flag("silent"),
        buttons=_buttons(given.get("buttons", object)),
        card=_object("card", given.get("card", object)),
        components=_json_text("components", given.get("components", object)),
        effect=_stripped(given.text("effectId", "effect")),
        sticker=(stickers[0] if stickers else given.text("fileId")) if action is Action.STICKER else None,
        file_name=_stripped(given.text("filename")),
        mime_type=_stripped(mime_type),
        as_voice=given.flag("asVoice"),
        gif=given.flag("gifPlayback"),
    )
    return None if parts == _NO_PARTS else parts


def _stripped(text: str | None) -> str | None:
    return None if text is None else text.strip()


def _object(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, dict):
        raise InvalidAction(f"`{name}` is not an object.", remedy="Give the card as a JSON object.")
    return _json_text(name, cast("object", value))


def _json_text(name: str, value: object) -> str | None:
    if value is None:
        return None
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidAction(f"--{name} must be valid JSON") from error


def _buttons(value: object) -> tuple[tuple[Button, ...], ...]:
    """Rows of buttons; a list of buttons is one row."""
    if value is None:
        return ()
    rows = _members(value)
    if all(isinstance(one, dict) for one in rows):
        rows = (rows,)
    made = tuple(tuple(_button(one) for one in _members(row)) for row in rows)
    if sum(map(len, made)) > _MOST_BUTTONS:
        raise InvalidAction(f"A message has at most {_MOST_BUTTONS} buttons.")
    return tuple(row for row in made if row)


def _members(value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise _not_rows()
    return cast("Sequence[object]", value)


def _button(value: object) -> Button:
    if not isinstance(value, dict):
        raise _not_rows()
    fields = cast("Mapping[str, object]", value)
    text, data, url = _first(fields, _LABELS), _first(fields, _VALUES), _first(fields, ("url",))
    if not all(map(is_well_formed, (text, data, url))):
        raise InvalidAction("`buttons` is not valid Unicode.", Reason.BAD_TEXT)
    if not text or not (data or url):
        raise InvalidAction("A button needs `text`, and `callback_data` or `url`.")
    return Button(text=text, value=data, url=url or None)


def _first(fields: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := fields.get(name), str) and value.strip()), "")


def _not_rows() -> InvalidAction:
    remedy = 'For example [[{"text": "Yes", "callback_data": "yes"}]].'
    return InvalidAction("`buttons` is not a list of rows of buttons.", remedy=remedy)


_NO_PARTS = MessageParts()
