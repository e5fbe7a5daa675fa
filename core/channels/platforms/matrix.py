"""Matrix: rooms are ``!id:server``, users ``@name:server``; a thread starts on an event and is part of its room.

All ids are case-sensitive: a folded one is another room or none (scenario B068). Every room is a channel, whatever word
precedes its id. A direct conversation has the id of its user, since a room id does not show how many members it has; an
alias (``#name:server``) must be looked up. The server accepts a transaction id once, which makes it an idempotency key.
"""

import re

from trunkline.core.action_catalogue import Action
from trunkline.core.channels.channel_actions import THREAD_REPLY, VOTE, PollFeatures, action, react, table
from trunkline.core.channels.rules import ChannelRules, Hints, OutboundPlace, ParsedTarget, given
from trunkline.core.channels.target_parsing import agree, word_kind
from trunkline.core.values import Capabilities, ChatKind, Chunker, Idempotency

_USER = re.compile(r"@[^\s:]+:\S+")
#: rooms of later versions have no server in their ids
_ROOM = re.compile(r"![^\s:]+(?::\S+)?")


_ACTIONS = table(
    {
        Action.THREAD_REPLY: THREAD_REPLY,
        Action.POLL: action(gate="polls"),
        Action.POLL_VOTE: action("messageId", VOTE, gate="polls"),
        Action.POLL_RESULTS: action("messageId|pollId", gate="polls"),
        Action.REACT: react(),
        Action.REACTIONS: action("messageId", gate="reactions"),
        Action.READ: action(gate="messages"),
        Action.EDIT: action("messageId", "message", gate="messages"),
        Action.DELETE: action("messageId", gate="messages", of_others="moderation"),
        Action.PIN: action("messageId", gate="pins"),
        Action.UNPIN: action("messageId", gate="pins"),
        Action.LIST_PINS: action(gate="pins"),
        Action.PERMISSIONS: action(gate="permissions"),
        Action.SET_PROFILE: action("displayName|name", gate="profile"),
        Action.MEMBER_INFO: action("userId", gate="member_info"),
        Action.CHANNEL_INFO: action("channelId", gate="channel_info"),
    }
)


class Matrix(ChannelRules):
    channel = "matrix"
    forms = ("!room:server", "room:!room:server", "@user:server", "user:@user:server")
    has_threads = True
    thread_id_is_message_id = True
    # An event has at most 64 KiB, and a character up to four bytes.
    capabilities = Capabilities(idempotency=Idempotency.KEY, text_limit=16_000, opens_threads=True)
    chunker = Chunker.MARKDOWN
    chunk_limit = 4000
    actions = _ACTIONS
    polls = PollFeatures()

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The sign before an id decides; words are only stripped."""
        trimmed = self.clean(text)
        word, id = self.kind_word(self.strip(trimmed, repeat=True))  # noqa: A001 -- the word
        if not id:
            return self.target(word_kind(word) or ChatKind.CHANNEL, id, text, f"by the prefix {word or self.channel}:")
        if _USER.fullmatch(id):
            agree(self, text, word, ChatKind.DIRECT)
            return self.target(ChatKind.DIRECT, id, text, "by the sign @")
        if not _ROOM.fullmatch(id):
            what = "an alias" if id.startswith("#") else "not an id"
            raise self.wrong(text, f"{id!r} is {what}; it must be looked up first")
        agree(self, text, word, ChatKind.CHANNEL)
        if hints.kind is ChatKind.DIRECT:
            raise self.ambiguous(text, "it is the room of a conversation with one user; name the user")
        return self.target(ChatKind.CHANNEL, id, text, "by the sign !")

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        """The named thread. A reply is a quote in the same place."""
        return super().place(target, given(thread), None)

    def to(self, target: ParsedTarget) -> str:
        return f"{'user' if target.kind is ChatKind.DIRECT else 'room'}:{target.id}"
