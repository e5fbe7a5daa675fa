"""Nextcloud Talk: rooms have case-sensitive tokens; no threads.

A token does not show whether its room has one other person or several.
"""

import re

from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.channels.target_parsing import word_kind
from trunkline.core.values import Capabilities, ChatKind, Chunker

_TOKEN = re.compile(r"[^\s:/]+")
_WORDS = ("room", "group", "channel", "conversation", "user", "dm")


class NextcloudTalk(ChannelRules):
    channel = "nextcloud-talk"
    prefixes = ("nc-talk", "nc")
    forms = ("room:TOKEN", "TOKEN (a room)", "user:ID (the conversation with one person, by token or user id)")
    #: of servers since 2018; older ones take 1000, see `trunkline.core.config.ChannelConfig.text_limit`
    capabilities = Capabilities(text_limit=32_000)
    chunker = Chunker.MARKDOWN
    chunk_limit = 4000

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """A token is a group's, unless a word or a directory says that it is a direct conversation's."""
        trimmed = self.clean(text)
        word, id = self.kind_word(self.strip(trimmed, repeat=True), _WORDS)  # noqa: A001 -- the word
        person = word_kind(word) is ChatKind.DIRECT or (word_kind(word) is None and hints.kind is ChatKind.DIRECT)
        how = f"by the prefix {word}:" if word else "according to a directory" if person else "by default"
        found = self.target(ChatKind.DIRECT if person else ChatKind.GROUP, id, text, how)
        if not person and not _TOKEN.fullmatch(id):
            raise self.wrong(text, f"it was understood as a room ({how}), but {id!r} is not a token")
        return found

    def sender(self, target: ParsedTarget) -> str:
        return f"{self.channel}:{'user' if target.kind is ChatKind.DIRECT else 'room'}:{target.id}"

    def to(self, target: ParsedTarget) -> str:
        return self.sender(target)
