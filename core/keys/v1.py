"""Session keys: the structured value and its ``v1`` text form (docs/architecture.md, "Session keys").

``v1``::

    agent:main
    agent:subagent:<id>
    agent:channel:account[:guild:<id> | :team:<id>]:kind:peer[:thread:<id> | :topic:<id>]

where ``agent`` is the agent's id. Parts are lower case and URL-safe. The form is injective: delimiters, percent signs,
and upper case in case-sensitive ids are percent-encoded, so different conversations never share a key. ``*`` stands
for a part that the DM scope omits, and marks the canonical name of linked people (``*ana``), which is not a platform's
id; no id is encoded to it.
"""

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import msgspec

from trunkline.core.errors import KeyFormatError
from trunkline.core.values import ChatKind

_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-._~@+")
_plain = re.compile(r"[a-z0-9\-._~@+]*").fullmatch
#: size of the caches of keys in either form; every message needs its key
_REMEMBERED = 4096
_KINDS = {kind.value: kind for kind in ChatKind}
_ANY = "*"
_SPACES = ("guild", "team")
_THREADS = ("thread", "topic")
_MAIN = "main"
_SUBAGENT = "subagent"


class SessionKey(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The conversation of a session. Without `kind` it is the agent's main session, or a sub-agent's."""

    agent: str
    channel: str | None = None
    account: str | None = None
    kind: ChatKind | None = None
    peer: str = ""
    #: whether `peer` is the canonical name of linked people instead of a platform's id
    linked: bool = False
    #: ``("guild", id)`` or ``("team", id)``
    space: tuple[str, str] | None = None
    #: ``("thread", id)`` or ``("topic", id)``
    thread: tuple[str, str] | None = None
    #: id of delegated work with its own session, which has no conversation unless one is bound to it
    subagent: str | None = None

    @property
    def is_main(self) -> bool:
        """Whether this is the agent's main session."""
        return self.kind is None and self.subagent is None

    def __str__(self) -> str:
        """The ``v1`` text."""
        return encode_v1(self)


def _encode_part(text: str) -> str:
    """Percent-encode every byte except lower case letters, digits and ``-._~@+``."""
    if _plain(text):
        return text
    return "".join(chr(byte) if byte in _SAFE else f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))


def _decode_part(part: str, whole: str) -> str:
    if _plain(part):
        return part
    try:
        text = unquote_to_bytes(part).decode("utf-8", "surrogatepass")
    except UnicodeError as error:
        raise KeyFormatError(f"{whole!r}: {part!r} is not percent-encoded UTF-8") from error
    if _encode_part(text) != part:
        raise KeyFormatError(f"{whole!r}: {part!r} is not in canonical form, which is {_encode_part(text)!r}")
    return text


@lru_cache(maxsize=_REMEMBERED)
def encode_v1(key: SessionKey) -> str:
    """The text of a key. Raises `KeyFormatError` for an inconsistent key."""
    parts = (key.agent, key.channel, key.account, *(key.space or ()), *(key.thread or ()))
    if "" in parts:
        raise KeyFormatError("a session key has no empty parts")
    agent = _encode_part(key.agent)
    if key.subagent is not None:
        if not key.subagent or key != SessionKey(agent=key.agent, subagent=key.subagent):
            raise KeyFormatError("a sub-agent's key has nothing but its agent and an id")
        return f"{agent}:{_SUBAGENT}:{_encode_part(key.subagent)}"
    if key.kind is None:
        if key != SessionKey(agent=key.agent):
            raise KeyFormatError("a main session's key has nothing but its agent")
        return f"{agent}:{_MAIN}"
    if not key.peer:
        raise KeyFormatError("a conversation's session key needs a peer")
    parts = [agent]
    parts.extend(_ANY if part is None else _encode_part(part) for part in (key.channel, key.account))
    if key.space is not None:
        parts += [key.space[0], _encode_part(key.space[1])]
    parts += [key.kind.value, (_ANY if key.linked else "") + _encode_part(key.peer)]
    if key.thread is not None:
        parts += [key.thread[0], _encode_part(key.thread[1])]
    return ":".join(parts)


@lru_cache(maxsize=_REMEMBERED)
def parse_v1(text: str) -> SessionKey:
    """Parse a key. Raises `KeyFormatError` naming the problem; accepts only canonical text."""
    parts = text.split(":")
    if len(parts) == 2 and parts[1] == _MAIN and parts[0]:
        return SessionKey(agent=_decode_part(parts[0], text))
    if len(parts) == 3 and parts[1] == _SUBAGENT and parts[0] and parts[2]:
        return SessionKey(agent=_decode_part(parts[0], text), subagent=_decode_part(parts[2], text))
    if len(parts) < 5 or not all(parts):
        raise KeyFormatError(f"{text!r}: expected agent:channel:account:kind:peer, agent:main or agent:subagent:id")
    agent, channel, account, *rest = parts
    space = thread = None
    if rest[0] in _SPACES:
        space = (rest[0], _decode_part(rest[1], text))
        rest = rest[2:]
    if len(rest) == 4 and rest[2] in _THREADS:
        thread = (rest[2], _decode_part(rest[3], text))
        rest = rest[:2]
    if len(rest) != 2 or rest[0] not in _KINDS:
        raise KeyFormatError(f"{text!r}: expected direct, group or channel, a peer, and at most a thread")
    if rest[1] == _ANY:
        raise KeyFormatError(f"{text!r}: '*' stands before the name of linked people, and there is none")
    return SessionKey(
        agent=_decode_part(agent, text),
        channel=None if channel == _ANY else _decode_part(channel, text),
        account=None if account == _ANY else _decode_part(account, text),
        kind=_KINDS[rest[0]],
        peer=_decode_part(rest[1].removeprefix(_ANY), text),
        linked=rest[1].startswith(_ANY),
        space=space,
        thread=thread,
    )
