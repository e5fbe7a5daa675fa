"""Slack: channels, multi-person direct messages and users; a thread starts on a message and is part of its room.

Ids are upper case letters and digits; the first letter shows the kind: ``U`` and ``W`` users, ``C`` channels, ``G`` a
private channel or several people (only the configuration or Slack itself knows), ``D`` the conversation with one user.
Its messages carry the user's id, so ``D...`` is not a target. A thread is a suffix of its session key. Slack has no
idempotency keys.
"""

import re
from typing import Literal

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.channels import rules
from trunkline.core.channels.channel_actions import NO_HANDLER, THREAD_REPLY, PollFeatures, action, react, table
from trunkline.core.channels.target_parsing import ROOM_WORDS
from trunkline.core.values import Address, Capabilities, ChatKind, Chunker

MENTION = re.compile(r"<@([A-Za-z0-9]+)(\|[^>]*)?>")
_CHANNEL_MENTION = re.compile(r"<#([A-Za-z0-9]+)(\|[^>]*)?>")
#: an id in upper case; a lower case one must have a digit, which distinguishes it from most names
_ID = re.compile(r"[A-Z0-9]+|(?=[A-Za-z]*[0-9])[A-Za-z0-9]+")
#: an id without any prefix
_BARE_ID = re.compile(r"[CDGUWZ][A-Z0-9]+|[cdguwz](?=[a-z]*[0-9])[a-z0-9]{8,}")
_KINDS = {"channel": ChatKind.CHANNEL, "im": ChatKind.DIRECT, "mpim": ChatKind.GROUP}


class SlackMessage(msgspec.Struct, frozen=True, kw_only=True):
    #: a channel (public or private), a conversation with one user, or with several
    conversation: Literal["channel", "im", "mpim"]
    channel_id: str
    user: str
    ts: str
    #: root of the thread; an answered root has its own `ts` here
    thread_ts: str | None = None
    #: author of the root; only on replies
    parent_user_id: str | None = None


_ACTIONS = table(
    {
        Action.THREAD_REPLY: THREAD_REPLY,
        Action.REACT: react("Emoji is required to remove a Slack reaction."),
        Action.REACTIONS: action("messageId", gate="reactions"),
        Action.READ: action(gate="messages"),
        Action.EDIT: action("messageId", "message", gate="messages"),
        Action.DELETE: action("messageId", gate="messages"),
        Action.PIN: action("messageId", gate="pins"),
        Action.UNPIN: action("messageId", gate="pins"),
        Action.LIST_PINS: action(gate="pins"),
        Action.MEMBER_INFO: action("userId", gate="member_info"),
        Action.EMOJI_LIST: action(gate="emoji_list"),
        Action.DOWNLOAD_FILE: action("fileId", gate="messages"),
    }
)


class Slack(rules.ChannelRules):
    channel = "slack"
    forms = ("user:U1", "<@U1>", "@U1", "channel:C1", "#C1", "group:G1 (several people)", "U1", "C1")
    case_sensitive = False
    has_threads = True
    thread_id_is_message_id = True
    # Slack truncates at 40 000 and recommends at most 4 000.
    capabilities = Capabilities(text_limit=4000, opens_threads=True)
    chunker = Chunker.MARKDOWN
    chunk_limit = 4000
    actions = _ACTIONS
    features = frozenset({Feature.BUTTONS})
    polls = PollFeatures()
    unsupported = NO_HANDLER

    def read(self, text: str, hints: rules.Hints) -> rules.ParsedTarget:
        """Mentions, prefixes in any case, ``@`` and ``#``, and bare ids; a name must be looked up first."""
        trimmed = self.clean(text)
        for pattern, kind in ((MENTION, ChatKind.DIRECT), (_CHANNEL_MENTION, ChatKind.CHANNEL)):
            if mention := pattern.fullmatch(trimmed):
                return self._by_id(kind, mention[1], text, "by the mention", hints)
        stripped = self.strip(trimmed)
        word, rest = self.kind_word(stripped, tuple(ROOM_WORDS))
        if word:
            return self._by_id(ROOM_WORDS[word], rest, text, f"by the prefix {word}:", hints)
        if stripped[:1] in ("@", "#"):
            kind = ChatKind.DIRECT if stripped[0] == "@" else ChatKind.CHANNEL
            return self._by_id(kind, stripped[1:].strip(), text, f"by the sign {stripped[0]}", hints)
        return self._bare(stripped, text, hints)

    def _bare(self, id: str, text: str, hints: rules.Hints) -> rules.ParsedTarget:  # noqa: A002 -- the word
        """An id without a word: its first letter decides, else a directory or the configuration."""
        if not _BARE_ID.fullmatch(id):
            raise self.wrong(text, f"{id!r} is not a Slack id; a name must be looked up first")
        known = capitals(hints.group_dms) | capitals(hints.rooms)
        if id[0] in "Gg" and hints.kind is None and id.upper() not in known:
            raise self.ambiguous(text, "it may be a private channel or a multi-person direct message")
        return self._by_id(ChatKind.CHANNEL, id, text, "by its first letter", hints)

    def _by_id(self, kind: ChatKind, id: str, text: str, how: str, hints: rules.Hints) -> rules.ParsedTarget:  # noqa: A002
        """A target by an id. The first letter of the id overrides the word before it."""
        id = self.target(kind, id.upper() if _ID.fullmatch(id) else id, text, how).id  # noqa: A001
        if not _ID.fullmatch(id):
            raise self.wrong(text, f"expected an id ({how}), but {id!r} is none; a name must be looked up first")
        if id[0] == "D" and hints.kind in (None, ChatKind.DIRECT) and id not in capitals(hints.rooms):
            raise self.ambiguous(text, "it is Slack's own id of the conversation with one user; name the user")
        if kind is ChatKind.DIRECT and id[0] in "CG":
            raise self.wrong(text, f"it was understood as a user ({how}), but {id!r} is the id of a channel")
        if id[0] in "UW":
            return self.target(ChatKind.DIRECT, id, text, how if kind is ChatKind.DIRECT else "by its first letter")
        if kind is not ChatKind.DIRECT and hints.kind not in (None, ChatKind.DIRECT):
            return self.target(hints.kind, id, text, "according to a directory")
        if kind is ChatKind.CHANNEL and id in capitals(hints.group_dms):
            return self.target(ChatKind.GROUP, id, text, "by configuration")
        return self.target(kind, id, text, how)

    def place(self, target: rules.ParsedTarget, thread: str | None, reply_to: str | None) -> rules.OutboundPlace:
        """The thread is the named one, else the message that is replied to."""
        return super().place(target, rules.given(thread) or rules.given(reply_to), None)

    def inherit(self, target: rules.ParsedTarget, current: rules.CurrentConversation) -> str | None:
        """A send to the current channel stays in the current thread if replies are threaded."""
        modes = ("all",) if current.has_replied else ("all", "first")
        same = target.kind is not ChatKind.DIRECT and target.id.lower() == (current.conversation or "").lower()
        return current.thread if same and current.reply_mode in modes else None


def capitals(ids: frozenset[str]) -> set[str]:
    """Configured ids without words or signs before them."""
    return {known.rpartition(":")[2].strip().lstrip("#").upper() for known in ids}


def read_inbound(
    message: SlackMessage, account: str, reply_mode: str = "off", inherit_parent: bool = False
) -> rules.InboundPlace:
    """The place of a message. Only a reply is in a thread; the root is in the room.

    `reply_mode` (``off``, ``first``, ``all``): whether answers to messages outside threads open threads.
    """
    root = rules.given(message.thread_ts)
    is_reply = root is not None and (root != message.ts or bool(message.parent_user_id))
    thread = root if is_reply else None
    opens = message.ts if reply_mode == "all" and not is_reply else None
    kind = _KINDS[message.conversation]
    return rules.InboundPlace(
        address=Address(
            channel=Slack.channel,
            account=account,
            kind=kind,
            conversation=message.user if kind is ChatKind.DIRECT else message.channel_id,
            thread=thread,
        ),
        is_thread_reply=is_reply,
        reply_to=root or message.ts,
        message_thread=thread or opens,
        inherits_parent=inherit_parent and thread is not None,
    )
