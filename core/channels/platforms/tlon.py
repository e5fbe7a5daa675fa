"""Tlon: people have ships (``~sampel-palnet``), group chats nests (``chat/~host/name``); no threads.

Ships and names are lower case.
"""

import re

from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.channels.target_parsing import agree
from trunkline.core.values import Capabilities, ChatKind, Chunker

#: three letters (a galaxy), six (a star), or groups of six (planets, moons, comets)
_SHIP = re.compile(r"~?([a-z]{3}|[a-z]{6}(?:--?[a-z]{6}){0,7})")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
#: kinds of channels of a group
_NESTS = ("chat", "diary", "heap")
_WORD = re.compile(r"(dm|user|group|room|channel)[:/]\s*(.*)", re.IGNORECASE)


class Tlon(ChannelRules):
    channel = "tlon"
    forms = ("~sampel-palnet", "dm:~sampel-palnet", "chat/~host/name", "~host/name", "group:~host/name")
    case_sensitive = False
    capabilities = Capabilities(text_limit=10_000)
    chunker = Chunker.MARKDOWN
    chunk_limit = 10_000

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        """An empty id becomes ``unknown``."""
        return super().fold(kind, id) or "unknown"

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """A ship is a person, a nest is a group; a kind word may end in a colon or a slash."""
        trimmed = self.clean(text)
        bare = self.strip(trimmed, repeat=True)
        marked = _WORD.fullmatch(bare)
        word, id = (marked[1].lower(), marked[2]) if marked else ("", bare)  # noqa: A001
        parts = id.lower().split("/")
        if not id:
            kind = ChatKind.GROUP if word in ("group", "room", "channel") else ChatKind.DIRECT
            return self.target(kind, id, text, f"by the prefix {word or self.channel}:")
        found = self._ship(parts[0], text) if len(parts) == 1 else self._nest(parts, text)
        agree(self, text, word, found.kind)
        return found

    def _ship(self, ship: str, text: str) -> ParsedTarget:
        return self.target(ChatKind.DIRECT, self._checked(ship, text), text, "by the name of a ship")

    def _nest(self, parts: list[str], text: str) -> ParsedTarget:
        """A group chat by host and name; the default kind of nest is chat."""
        nest, host, name = parts if len(parts) == 3 else ["chat", *parts, ""][:3]
        if len(parts) > 3 or nest not in _NESTS or not _NAME.fullmatch(name):
            raise self.wrong(text, f"it was understood as a group chat, but {'/'.join(parts)!r} is not host/name")
        return self.target(ChatKind.GROUP, f"{nest}/{self._checked(host, text)}/{name}", text, "by host and name")

    def _checked(self, ship: str, text: str) -> str:
        found = _SHIP.fullmatch(ship)
        if found is None:
            raise self.wrong(text, f"{ship!r} is not the name of a ship")
        return f"~{found[1]}"

    def to(self, target: ParsedTarget) -> str:
        """To: the platform and the id, whose form shows the kind."""
        return f"{self.channel}:{target.id}"
