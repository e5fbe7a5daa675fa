"""Mattermost: ids of users, channels and groups all look alike; a thread starts on a post and is part of its room.

Ids are 26 lower case letters and digits, for users, channels and posts alike, so a bare one needs a directory.
``@name`` is a user by name, without the ``@``. An answer to a post goes to the thread of that post. The server
remembers a client's post id for only half a minute, too short for an idempotency key.
"""

import re
from typing import Literal

import msgspec

from trunkline.core.channels.rules import ChannelRules, Hints, InboundPlace, OutboundPlace, ParsedTarget, given
from trunkline.core.channels.target_parsing import ROOM_WORDS
from trunkline.core.values import Address, Capabilities, ChatKind, Chunker

_ID = re.compile(r"[a-z0-9][a-z0-9._-]*", re.IGNORECASE)


class MattermostMessage(msgspec.Struct, frozen=True, kw_only=True):
    #: the kind of its channel: with one user, with several, or of a team
    chat: Literal["direct", "group", "channel"]
    channel_id: str
    user_id: str
    post_id: str
    #: the root post of its thread; None outside threads
    root_id: str | None = None


class Mattermost(ChannelRules):
    channel = "mattermost"
    forms = ("user:ID", "@name", "channel:ID", "group:ID (several people)")
    case_sensitive = False
    has_threads = True
    thread_id_is_message_id = True
    capabilities = Capabilities(text_limit=16383, opens_threads=True)
    chunker = Chunker.MARKDOWN
    chunk_limit = 4000

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Prefixes and ``@``; a bare id needs a directory."""
        trimmed = self.clean(text)
        bare = self.strip(trimmed)
        word, id = self.kind_word(bare, tuple(ROOM_WORDS))  # noqa: A001 -- the word
        kind, how = ROOM_WORDS.get(word), f"by the prefix {word}:"
        if id.startswith("@") and kind in (None, ChatKind.DIRECT):
            kind, id, how = ChatKind.DIRECT, id[1:], "by the sign @"  # noqa: A001
        if kind is None and bare != trimmed:
            # From names a user ``mattermost:ID``.
            kind, how = ChatKind.DIRECT, "by the prefix mattermost:"
        elif kind is None and id:
            kind, how = hints.kind, "according to a directory"
            if kind is None:
                raise self.ambiguous(text, "ids of users and channels look alike, so add the word user or channel")
        elif kind is not ChatKind.DIRECT and hints.kind not in (None, ChatKind.DIRECT):
            # Only a directory knows whether a channel belongs to a team or is a group.
            kind, how = hints.kind, "according to a directory"
        found = self.target(kind or ChatKind.DIRECT, id, text, how)
        if not _ID.fullmatch(found.id):
            raise self.wrong(text, f"expected an id ({how}), but {found.id!r} is none")
        return found

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        """The thread is the post that is replied to, else the named thread."""
        return super().place(target, given(reply_to) or given(thread), None)


def read_inbound(message: MattermostMessage, account: str, reply_mode: str = "off") -> InboundPlace:
    """The place of a post. Only a reply is in a thread; the root post is in the room.

    `reply_mode` (``off``, ``first``, ``all``): whether answers to posts outside threads open threads.
    """
    root = given(message.root_id)
    kind = ChatKind(message.chat)
    opens = message.post_id if reply_mode != "off" and kind is not ChatKind.DIRECT else None
    return InboundPlace(
        address=Address(
            channel=Mattermost.channel,
            account=account,
            kind=kind,
            conversation=message.user_id if kind is ChatKind.DIRECT else message.channel_id,
            thread=root,
        ),
        is_thread_reply=root is not None,
        reply_to=root or message.post_id,
        message_thread=root or opens,
    )
