"""Checks the types of a client's request: hints bind nobody at run time, and a bad value must not get far."""

# pyright: reportUnnecessaryIsInstance=false
from operator import attrgetter

import msgspec

from trunkline.core.errors import InvalidSend
from trunkline.core.message_parts import MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.sends.api import SendMessage
from trunkline.core.untrusted import check_address
from trunkline.core.values import Address, Poll

_OPTIONAL: tuple[str, ...] = ("channel", "account", "thread", "reply_to", "agent", "session_key", "payload")
_optional = attrgetter(*_OPTIONAL)


def check_message(message: object) -> None:
    """Raise `InvalidSend` if a field of a request has the wrong type."""
    if not _is_plain(message) and (wrong := _check(message)):
        raise InvalidSend(f"the request: {wrong}", Reason.BAD_ARGUMENT)


def _is_plain(message: object) -> bool:
    """Whether a request needs no closer look: most are a text for an exact place, and every send is checked."""
    if type(message) is not SendMessage:
        return False
    to, media = message.to, message.media
    return (
        type(to) is Address
        and type(message.key) is str
        and type(message.text) is str
        and type(media) is tuple
        and not media
        and message.channel is None
        and message.account is None
        and message.thread is None
        and message.reply_to is None
        and message.agent is None
        and message.session_key is None
        and message.payload is None
        and message.poll is None
        and message.parts is None
        and not check_address(to)
    )


def _check(message: object) -> str:
    if not isinstance(message, SendMessage):
        return f"it is of type {type(message).__name__} instead of a SendMessage"
    to: object = message.to
    if isinstance(to, Address):
        if wrong := check_address(to):
            return f"to: {wrong}"
    elif not isinstance(to, str):
        return _not("to", to, "a str or an Address")
    if not isinstance(message.key, str):
        return _not("key", message.key, "a str")
    if not isinstance(message.text, str):
        return _not("text", message.text, "a str")
    for name, value in zip(_OPTIONAL, _optional(message), strict=True):
        if value is not None and not isinstance(value, str):
            return _not(name, value, "a str")
    media: object = message.media
    if media != () and not (isinstance(media, tuple | list) and all(isinstance(file, str) for file in media)):  # pyright: ignore[reportUnknownVariableType]
        return "media is not a tuple of texts"
    poll: object = message.poll
    if poll is not None and not isinstance(poll, Poll):
        return _not("poll", poll, "a Poll")
    return "" if message.parts is None else _check_parts(message.parts)


def _check_parts(parts: object) -> str:
    if not isinstance(parts, MessageParts):
        return _not("parts", parts, "MessageParts")
    try:
        # Clients construct them without validation; what cannot be stored fails too.
        msgspec.json.decode(msgspec.json.encode(parts), type=MessageParts)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        return f"parts: {error}"
    return ""


def _not(name: str, value: object, expected: str) -> str:
    return f"{name} is of type {type(value).__name__} instead of {expected}"
