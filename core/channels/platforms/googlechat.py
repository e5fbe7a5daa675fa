"""Google Chat: people are ``users/...``, spaces ``spaces/...``, threads of a space ``spaces/.../threads/...``.

A space may hold two people (a direct message), a few, or a whole team, and its id does not show which. So a space is a
group unless a kind word or a directory says that it is a direct conversation. An e-mail address is an alias of a user.
"""

import re

import msgspec

from trunkline.core.channels.rules import KIND_WORDS, ChannelRules, Hints, OutboundPlace, ParsedTarget
from trunkline.core.channels.target_parsing import agree, word_kind
from trunkline.core.values import Address, Capabilities, ChatKind, Chunker

_SPACE = "space"
_WORDS = (*KIND_WORDS, _SPACE)
_ID = r"[A-Za-z0-9_-]+"
_MAIL = re.compile(r"[^\s@/:]+@[^\s@/:]+")
_USER = re.compile(rf"(?:users/)?({_ID}|{_MAIL.pattern})")
_SPACE_ID = re.compile(rf"(?:spaces/)?({_ID})(?:/threads/({_ID}))?")


class GoogleChat(ChannelRules):
    channel = "googlechat"
    prefixes = ("google-chat", "gchat")
    forms = ("spaces/ID", "space:ID", "spaces/ID/threads/ID", "users/ID", "user:ID", "ana@example.com", "dm:spaces/ID")
    has_threads = True
    #: a message may have 32,000 bytes, and a UTF-16 code unit takes at most three in UTF-8
    capabilities = Capabilities(text_limit=10_000)
    chunker = Chunker.MARKDOWN
    chunk_limit = 4000

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        """Ids keep their case; e-mail addresses do not."""
        return id.lower() if "@" in id else id

    def sender(self, target: ParsedTarget) -> str:
        # The id of a space does not show that it is a direct conversation.
        known = target.kind is not ChatKind.DIRECT or target.id.startswith("users/")
        return super().sender(target) if known else f"{self.channel}:user:{target.id}"

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The beginning of the id shows whether it is a user or a space; without one the kind word does."""
        word, id = self.kind_word(self.strip(self.clean(text), repeat=True), _WORDS)  # noqa: A001 -- the word
        stated = ChatKind.GROUP if word == _SPACE else word_kind(word) or hints.kind
        how = f"by the prefix {word}:" if word else "according to a directory"
        if not id:
            return self.target(stated or ChatKind.DIRECT, id, text, how)
        if id.startswith("users/") or _MAIL.fullmatch(id):
            agree(self, text, ChatKind.GROUP.value if word == _SPACE else word, ChatKind.DIRECT)
            return self._user(id, text, "by its id")
        if not id.startswith("spaces/"):
            if stated is None:
                raise self.ambiguous(text, "it may be a user or a space; write users/ or spaces/ before the id")
            if stated is ChatKind.DIRECT:
                return self._user(id, text, how)
        return self._space(id, ChatKind.DIRECT if stated is ChatKind.DIRECT else ChatKind.GROUP, text)

    def _user(self, id: str, text: str, how: str) -> ParsedTarget:  # noqa: A002
        user = _USER.fullmatch(id)
        if user is None:
            raise self.wrong(text, f"{id!r} is no id of a user")
        return self.target(ChatKind.DIRECT, f"users/{user[1]}", text, how)

    def _space(self, id: str, kind: ChatKind, text: str) -> ParsedTarget:  # noqa: A002
        space = _SPACE_ID.fullmatch(id)
        if space is None:
            raise self.wrong(text, f"{id!r} is no id of a space or thread")
        if space[2] is not None and kind is ChatKind.DIRECT:
            raise self.wrong(text, "a direct conversation has no threads")
        found = self.target(kind, f"spaces/{space[1]}", text, "by the id of a space")
        return msgspec.structs.replace(found, thread=space[2] and f"spaces/{space[1]}/threads/{space[2]}")

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        """Threads are those of a space, by their whole name or the last part of it."""
        if target.kind is ChatKind.DIRECT:
            return super().place(target, None, None)
        if thread is not None and target.thread is None:
            within = f"{target.id}/threads/"
            if not re.fullmatch(_ID, thread.removeprefix(within)):
                raise self.wrong(thread, f"it is no thread of {target.id}")
            thread = within + thread.removeprefix(within)
        return super().place(target, thread, None)

    def key_thread(self, address: Address) -> tuple[str, str] | None:
        """The thread's own part of its name; the space is in the key already."""
        if address.thread is None:
            return None
        return self.thread_word, address.thread.removeprefix(f"{address.conversation}/threads/")
