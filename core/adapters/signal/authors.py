"""The authors of messages: Signal names a message by author and time, and the gateway by a single id."""

from __future__ import annotations

import re

from trunkline.core.errors import Refused
from trunkline.core.values import Address, ChatKind

_ID = re.compile(r"([0-9]{1,18})(?::(\S{1,100}))?")
#: messages that are remembered
_MOST = 4000
#: characters of a text that a quote shows
_QUOTED = 200


class MessageAuthors:
    """The newest messages of all conversations, in memory only.

    An id is a message's time in milliseconds. If two people write in a group in the same millisecond, the second id has
    its author too, so that none of them counts as a repetition of the other.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str | None, str]] = {}

    def note(self, conversation: str, time: int, author: str, text: str) -> str:
        """Remember a message; returns the id."""
        id = str(time)  # noqa: A001 -- the word
        known = self._known.get((conversation, id))
        if known is not None and known[0] != author:
            id = f"{time}:{author}"  # noqa: A001
        self._known.pop((conversation, id), None)
        self._known[conversation, id] = (author, text[:_QUOTED])
        if len(self._known) > _MOST:
            del self._known[next(iter(self._known))]
        return id

    def find(self, place: Address, message_id: str) -> tuple[int, str | None, str]:
        """Time, author and text of a message. The author is None, and the text empty, if they are not known.

        In a direct conversation, a message that is not remembered counts as the other person's. Raises `Refused` for
        what is no id.
        """
        found = _ID.fullmatch(message_id)
        if found is None:
            raise Refused("the id of a message is its time in milliseconds")
        author, text = self._known.get((place.conversation, message_id), (found[2], ""))
        if author is None and place.kind is ChatKind.DIRECT:
            author = place.conversation
        return int(found[1]), author, text
