"""Checks of values from adapters. Python enforces no type hints, and a bad value must fail nothing but itself.

Each check says what is wrong, or returns an empty text. Ids must be storable as they are: a replaced character would
name another message, person or place. Other texts are made storable instead (`storable`).
"""

# pyright: reportUnnecessaryIsInstance=false
import math
import re
from collections.abc import Iterable
from typing import cast

import msgspec

from trunkline.core.message_parts import MOST_PARTS, Part, with_words
from trunkline.core.values import Address, ChatKind, Envelope, Identity, Peer, Receipt
from trunkline.core.well_formed import is_well_formed, plain_text

#: bounds of a platform's answer to a question: values, levels, characters of all texts, and the largest number
_MOST_JSON, _DEEPEST_JSON, _LONGEST_JSON, _LARGEST_JSON = 10_000, 50, 1_000_000, 2**63
#: seconds; no clock of a platform shows more
_LATEST = 1e12
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def check_envelope(value: object, channel: str, account: str, *, stable: bool) -> str:
    """The fault in an inbound message from the adapter of an account. `stable`: ids identify messages."""
    if not isinstance(value, Envelope):
        return f"{_kind(value)} instead of an Envelope"
    return (
        _check_place(value.address, channel, account)
        or _check_peer(value.peer)
        or (_check_id if stable else _check_text)("message_id", value.message_id)
        or _check_optional_id("stands_for", value.stands_for)
        or _check_optional_id("pressed", value.pressed)
        or _check_optional_id("deed", getattr(value.deed, "of", value.deed))
        or _check_texts(value)
        or _check_time(value.sent_at)
        or _check_flags(value)
        or _check_parts(value.parts)
    )


def storable(envelope: Envelope) -> Envelope:
    """A checked envelope whose texts can be stored: half characters in what is no id become ``?``."""
    peer, name = envelope.peer, plain_text(envelope.peer.name) or ""
    text = plain_text(envelope.text) or ""
    changed: dict[str, object] = {}
    if text is not envelope.text:
        changed["text"] = text
    if name is not peer.name:
        changed["peer"] = Peer(id=peer.id, name=name)
    for field in ("reply_to", "guild", "team", "webhook"):
        before = getattr(envelope, field)
        if before is not None and (after := plain_text(before)) is not before:
            changed[field] = after
    if envelope.roles:
        changed["roles"] = tuple(plain_text(role) or "" for role in envelope.roles)
    return msgspec.structs.replace(envelope, **changed) if changed else envelope


def check_address(value: object) -> str:
    """The fault in a place."""
    if type(value) is Address and _is_plain(value):
        return ""
    if not isinstance(value, Address):
        return f"{_kind(value)} instead of an Address"
    wrong = (
        _check_id("channel", value.channel)
        or _check_id("account", value.account)
        or _check_id("conversation", value.conversation)
        or _check_optional_id("thread", value.thread)
        or _check_optional_id("parent", value.parent)
    )
    if not wrong and type(value.kind) is not ChatKind:
        return f"kind is {_kind(value.kind)} instead of a ChatKind"
    return wrong


def _is_plain(address: Address) -> bool:
    """Whether a place needs no closer look: most have ids of ASCII, and each message has two places."""
    channel, account, conversation = address.channel, address.account, address.conversation
    if not (type(channel) is str and type(account) is str and type(conversation) is str):
        return False
    ids = bool(channel and account and conversation) and address.thread is None and address.parent is None
    return ids and (channel + account + conversation).isascii() and type(address.kind) is ChatKind


def check_receipt(value: object) -> str:
    """The fault in a receipt; an empty id is right on platforms whose responses name no message."""
    if not isinstance(value, Receipt):
        return f"{_kind(value)} instead of a Receipt"
    wrong = _check_text("provider_id", value.provider_id)
    return wrong or _within("address", check_address(value.address))


def check_identity(value: object) -> str:
    """The fault in a webhook identity."""
    if not isinstance(value, Identity):
        return f"{_kind(value)} instead of an Identity"
    return _check_id("id", value.id) or _check_text("name", value.name)


def check_ids(holder: object, *names: str) -> None:
    """Raise `ValueError` for an id with control characters. For `__post_init__` of what strangers write as JSON.

    They would be other lines, or nothing at all, wherever somebody looks for the id. Half characters are among them
    (`well_formed.decode_json`).
    """
    for name in names:
        value: object = getattr(holder, name)
        texts = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        for text in texts:
            if isinstance(text, str) and _CONTROL.search(text):
                raise ValueError(f"`{name}` has half a character, or a control character such as NUL or a line end")


def check_texts(names: Iterable[tuple[str, object]]) -> str:
    """The fault in optional texts which must be storable unchanged, by name."""
    return next((wrong for name, value in names if value is not None and (wrong := _check_text(name, value))), "")


def check_json(value: object) -> str:
    """The fault in an answer which must be a JSON value of bounded size and depth."""
    left = [(value, 0)]
    seen = said = 0
    while left:
        item, depth = left.pop()
        seen += 1
        if seen > _MOST_JSON or depth > _DEEPEST_JSON:
            return f"has more than {_MOST_JSON} values, or more than {_DEEPEST_JSON} levels"
        if isinstance(item, dict):
            members = cast("dict[object, object]", item)
            said += sum(len(name) for name in members if isinstance(name, str))
            if wrong := next((wrong for name in members if (wrong := _check_text("a name", name))), ""):
                return f"is no JSON: {wrong}"
            left += [(member, depth + 1) for member in members.values()]
        elif type(item) in (list, tuple):
            left += [(member, depth + 1) for member in cast("list[object]", item)]
        elif wrong := _check_scalar(item):
            return f"is no JSON: {wrong}"
        elif isinstance(item, str):
            said += len(item)
        if said > _LONGEST_JSON:
            return f"has more than {_LONGEST_JSON} characters"
    return ""


def _check_scalar(value: object) -> str:
    if isinstance(value, str):
        return _check_text("a text", value)
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"a number is {value}"
    if isinstance(value, int):
        # JSON readers of other languages have no larger numbers.
        return "" if abs(value) <= _LARGEST_JSON else "a number is too large"
    return "" if value is None else f"a value is {_kind(value)}"


def _check_place(value: object, channel: str, account: str) -> str:
    wrong = check_address(value)
    if wrong:
        return _within("address", wrong)
    assert isinstance(value, Address)
    if (value.channel, value.account) != (channel, account):
        return f"address is {value.channel}:{value.account}, which this adapter does not serve"
    return ""


def _check_peer(value: object) -> str:
    if not isinstance(value, Peer):
        return f"peer is {_kind(value)} instead of a Peer"
    if not isinstance(value.name, str):
        return f"peer.name is {_kind(value.name)} instead of a text"
    return _check_text("peer.id", value.id)


def _check_texts(value: Envelope) -> str:
    """The fault in the texts of an envelope, apart from ids: any text is right."""
    optional = (value.reply_to, value.guild, value.team, value.webhook)
    if not isinstance(value.text, str):
        return f"text is {_kind(value.text)} instead of a text"
    if not all(text is None or isinstance(text, str) for text in optional):
        return "reply_to, guild, team or webhook is not a text"
    if type(value.roles) is not tuple or not all(isinstance(role, str) for role in value.roles):
        return "roles is not a tuple of texts"
    return ""


def _check_time(value: object) -> str:
    if type(value) not in (int, float):
        return f"sent_at is {_kind(value)} instead of a number"
    # Also false for NaN.
    if not 0 <= value < _LATEST:  # pyright: ignore[reportOperatorIssue]
        return "sent_at is no time in seconds"
    return ""


def _check_flags(value: Envelope) -> str:
    if not (value.threaded in (True, False) and value.bot in (True, False)):
        return "threaded or bot is not a bool"
    if value.cause is not None and type(value.cause) is not int:
        return f"cause is {_kind(value.cause)} instead of a number"
    return ""


def _check_parts(value: object) -> str:
    """The fault in the parts of an inbound message; a wrong type within a part is found by reading it again."""
    if value == ():
        return ""
    if type(value) is not tuple or len(cast("tuple[object, ...]", value)) > MOST_PARTS:
        return f"parts is {_kind(cast('object', value))} instead of a tuple of at most {MOST_PARTS} parts"
    try:
        parts = msgspec.convert(msgspec.to_builtins(value), tuple[Part, ...])
        return _check_text("the words of its parts", with_words("", parts))
    except (msgspec.MsgspecError, TypeError, ValueError, UnicodeError) as error:
        return f"parts: {error}"


def _check_id(name: str, value: object) -> str:
    return f"{name} is empty" if value == "" else _check_text(name, value)


def _check_optional_id(name: str, value: object) -> str:
    return "" if value is None else _check_id(name, value)


def _check_text(name: str, value: object) -> str:
    if type(value) is not str:
        return f"{name} is {_kind(value)} instead of a str"
    return "" if is_well_formed(value) else f"{name} has half a character (a lone surrogate): {value!a:.80}"


def _kind(value: object) -> str:
    """The type of a value, for messages."""
    return "None" if value is None else f"of type {type(value).__name__}"


def _within(name: str, wrong: str) -> str:
    return f"{name}: {wrong}" if wrong else ""
