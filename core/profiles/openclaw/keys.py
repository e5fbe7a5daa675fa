"""The ``openclaw`` text form of session keys, which OpenClaw uses in its stores and its API.

``agent:<agent>:<rest>``, where `rest` is one of::

    <main key>                                        the agent's main session
    [<channel>:[<account>:]]direct:<peer>             a direct conversation, by scope
    <channel>:group:<id> | <channel>:channel:<id>     no account: two accounts in one group share it
    ...:thread:<id>                                   a suffix on any of the above
    <channel>:group:<id>:topic:<id>                   a Telegram topic, which is part of the peer
    subagent:<id> | acp:<id> | cron:<job>[:run:<id>]  sessions without a conversation

Nothing is escaped and nearly everything is lower case, so the form is not injective; the meaning of a text can only be
guessed (`OpenClawKeys.conversation`). Our own form is ``v1``. See docs/architecture.md, "Session keys".
"""

import re

import msgspec

from trunkline.core.errors import KeyFormatError
from trunkline.core.keys.codec import KeyCodec
from trunkline.core.keys.v1 import SessionKey, encode_v1
from trunkline.core.values import ChatKind

DEFAULT_AGENT = "main"
DEFAULT_ACCOUNT = "default"
DEFAULT_MAIN_KEY = "main"
UNKNOWN = "unknown"
#: platforms that it knows by name
CHANNELS = frozenset(
    (
        *("bluebubbles", "discord", "feishu", "googlechat", "imessage", "irc", "line", "matrix", "mattermost"),
        *("msteams", "nextcloud-talk", "nostr", "signal", "slack", "telegram", "tlon", "webchat", "whatsapp"),
        *("zalo", "zalouser"),
    )
)
#: ``dm`` was the word for ``direct`` until January
KIND_TOKENS = {**{kind.value: kind for kind in ChatKind}, "dm": ChatKind.DIRECT}

_LONGEST_ID = 64
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.IGNORECASE | re.ASCII)
_NOT_ID = re.compile(r"[^a-z0-9_-]+")
#: property names of every JavaScript object
_RESERVED = frozenset({"__proto__", "prototype", "constructor"})

_THREAD = ":thread:"
_TOPIC = ":topic:"
_SUBAGENT = "subagent:"
_CASED_TAIL = re.compile(r"(?:agent:[^:]+:)?matrix:(?:channel|group):", re.IGNORECASE)
_CASED_SEGMENT = re.compile(r"(?:^|(?<=:))signal:group:([^:]+)", re.IGNORECASE)


class ParsedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A scoped key in its two parts."""

    agent: str
    #: the text after the agent, without empty segments
    rest: str


def _slug(text: str) -> str:
    """An id made of any text. Truncation comes last, so an id may end in a dash."""
    trimmed = text.strip()
    if _ID.fullmatch(trimmed):
        return trimmed.lower()
    return _NOT_ID.sub("-", trimmed.lower()).lstrip("-").rstrip("-")[:_LONGEST_ID]


def agent_id(text: str | None) -> str:
    """An agent's id in keys; ``main`` if nothing is left of it."""
    return _slug(text or "") or DEFAULT_AGENT


def account_id(text: str | None) -> str:
    """An account's id in keys; ``default`` if nothing is left of it, or if it is a reserved word."""
    slug = _slug(text or "")
    return DEFAULT_ACCOUNT if not slug or slug in _RESERVED else slug


def main_key_name(text: str | None) -> str:
    """The name of main sessions in keys."""
    return fold(text) or DEFAULT_MAIN_KEY


def fold(text: str | None) -> str:
    """One part of a key: trimmed and in lower case."""
    return (text or "").strip().lower()


def main_text(agent: str | None, main_key: str | None = DEFAULT_MAIN_KEY) -> str:
    """The key of an agent's main session."""
    return f"agent:{agent_id(agent)}:{main_key_name(main_key)}"


class OpenClawKeys(KeyCodec):
    """The form of March 2026: all is folded."""

    name = "openclaw"
    forms = (
        "agent:<agent>:main",
        "agent:<agent>:subagent:<id>",
        "agent:<agent>:[<channel>:[<account>:]]direct:<peer>",
        "agent:<agent>:<channel>:group:<id> or channel:<id>, all with :thread:<id> behind",
    )
    migrates = False

    def keeps_case(self, channel: str, kind: ChatKind | None) -> bool:
        """Whether a peer keeps its case in keys."""
        return False

    def folded(self, text: str | None) -> str:
        """A whole key, scoped or not: trimmed and in lower case, except ids that keep their case."""
        return fold(text)

    def parse(self, text: str | None) -> ParsedKey | None:
        """The two parts of a scoped key, or None. Case is folded and empty segments are dropped."""
        parts = [part for part in self.folded(text).split(":") if part]
        if len(parts) < 3 or parts[0] != "agent" or not parts[1].strip():
            return None
        return ParsedKey(agent=parts[1].strip(), rest=":".join(parts[2:]))

    def write(self, key: SessionKey, main_key: str) -> str:
        """March always writes `main`, even if the main session was renamed."""
        return self.encode(key, DEFAULT_MAIN_KEY)

    def encode(self, key: SessionKey, main_key: str = DEFAULT_MAIN_KEY) -> str:
        """The text of a key. The form cannot express a guild or a group's account, which are omitted."""
        if key.subagent is not None:
            return f"agent:{agent_id(key.agent)}:{_SUBAGENT}{fold(key.subagent)}"
        if key.kind is None:
            return main_text(key.agent, main_key) + _suffix(key, cased=False)
        channel = fold(key.channel)
        cased = self.keeps_case(channel, key.kind)
        peer = key.peer.strip() if cased else fold(key.peer)
        parts = ["agent", agent_id(key.agent)]
        if key.kind is not ChatKind.DIRECT:
            parts.append(channel or UNKNOWN)
        elif key.account is not None:
            parts += [channel or UNKNOWN, account_id(key.account)]
        elif channel:
            parts.append(channel)
        # A Matrix thread's id keeps its case with its room; a Signal group has no threads.
        return ":".join((*parts, key.kind.value, peer or UNKNOWN)) + _suffix(key, cased=cased and channel == "matrix")

    def read(self, text: str, main_key: str) -> SessionKey:
        key = self.conversation(text, main_key) or self.subagent(text)
        if key is None:
            raise KeyFormatError(f"{text!r}: expected one of {'; '.join(self.forms)}")
        return key

    def conversation(self, text: str | None, main_key: str = DEFAULT_MAIN_KEY) -> SessionKey | None:
        """The most likely key of a text, or None if it names no conversation.

        Linked names look like ids, so `SessionKey.linked` is never set.
        """
        parsed = self.parse(text)
        if parsed is None:
            return None
        agent = agent_id(parsed.agent)
        base, suffix = _cut(parsed.rest, "thread")
        if base in (DEFAULT_MAIN_KEY, main_key_name(main_key)):
            return SessionKey(agent=agent, thread=suffix)
        tokens = base.split(":")
        at = _kind_at(tokens)
        if at is None:
            return None
        kind, peer = KIND_TOKENS[tokens[at]], ":".join(tokens[at + 1 :])
        if kind is not ChatKind.DIRECT and suffix is None:
            peer, suffix = _cut(peer, "topic")
        return SessionKey(
            agent=agent,
            channel=tokens[0] if at > 0 else None,
            account=tokens[1] if at > 1 else None,
            kind=kind,
            peer=peer,
            thread=suffix,
        )

    def subagent(self, text: str) -> SessionKey | None:
        """The key of the sub-agent's session that a text names, or None."""
        parsed = self.parse(text)
        rest = "" if parsed is None or not parsed.rest.startswith(_SUBAGENT) else parsed.rest.removeprefix(_SUBAGENT)
        return None if parsed is None or not rest else SessionKey(agent=agent_id(parsed.agent), subagent=rest)

    def our_key(self, text: str) -> SessionKey | None:
        """The key with threads in our form."""
        key = self.conversation(text)
        if key is None or key.thread is None:
            return key
        if key.is_main:
            # A thread of a direct conversation forks the main session here; ours has no forks.
            return SessionKey(agent=key.agent)
        if key.channel == "telegram":
            # Telegram's threads are topics. The topic of a direct conversation is named <chat>:<topic> here.
            return msgspec.structs.replace(key, thread=("topic", key.thread[1].rpartition(":")[2]))
        return key

    def claims(self, key: SessionKey) -> bool:
        if self.our_key(encode_v1(key)) is None:
            return False
        # The platform is in the position of our account.
        return key.account not in (None, DEFAULT_ACCOUNT) and (key.account in CHANNELS or key.channel not in CHANNELS)


class AugustKeys(OpenClawKeys):
    """The form of August 2026: Signal groups and Matrix rooms keep their case, and main sessions their name."""

    def keeps_case(self, channel: str, kind: ChatKind | None) -> bool:
        return (channel, kind) == ("signal", ChatKind.GROUP) or (
            channel == "matrix" and kind in (ChatKind.GROUP, ChatKind.CHANNEL)
        )

    def folded(self, text: str | None) -> str:
        trimmed = (text or "").strip()
        # Everything after a Matrix room's kind keeps its case, including the thread's id, but not the word thread.
        if head := _CASED_TAIL.match(trimmed):
            return head[0].lower() + _fold_marker(trimmed[head.end() :])
        # One segment after a Signal group's kind keeps its case, at any position.
        done, parts = 0, list[str]()
        for hit in _CASED_SEGMENT.finditer(trimmed):
            parts += [trimmed[done : hit.start(1)].lower(), hit[1].strip()]
            done = hit.end(1)
        return "".join((*parts, trimmed[done:].lower()))

    def write(self, key: SessionKey, main_key: str) -> str:
        return self.encode(key, main_key)


def _fold_marker(tail: str) -> str:
    """A case-sensitive tail with its last ``:thread:`` in lower case."""
    at = tail.lower().rfind(_THREAD)
    return tail if at < 0 else tail[:at] + _THREAD + tail[at + len(_THREAD) :]


def _suffix(key: SessionKey, *, cased: bool) -> str:
    """The thread suffix of a key. Only groups have topics; in a direct conversation a topic is written as a thread."""
    word, thread = key.thread or ("", "")
    thread = thread.strip() if cased else fold(thread)
    if not thread:
        return ""
    topic = word == "topic" and key.kind not in (None, ChatKind.DIRECT)
    return f"{_TOPIC if topic else _THREAD}{thread}"


def _cut(text: str, word: str) -> tuple[str, tuple[str, str] | None]:
    """A text without its last thread (or topic), and that thread."""
    base, _, thread = text.rpartition(f":{word}:")
    return (base, (word, thread)) if base and thread else (text, None)


def _kind_at(tokens: list[str]) -> int | None:
    """The position of the kind: first (direct only), after the channel, or after channel and account."""
    for at, token in enumerate(tokens[:-1][:3]):
        kind = KIND_TOKENS.get(token)
        if kind is not None and (at > 0 or kind is ChatKind.DIRECT):
            return at
    return None
