"""Shared parts of target parsing: the kind word before an id, and whether it agrees with the form of the id."""

from __future__ import annotations

from trunkline.core.channels.rules import KIND_WORDS, ChannelRules
from trunkline.core.values import ChatKind

#: words that fit any kind of conversation
LOOSE_WORDS = ("conversation", "thread")


def word_kind(word: str) -> ChatKind | None:
    """The kind that a word states, or None."""
    return None if word in LOOSE_WORDS else KIND_WORDS.get(word)


def agree(rules: ChannelRules, text: str, word: str, kind: ChatKind) -> None:
    """Raise `TargetError` if the word states one person and the id is that of several people, or the reverse.

    Group, room and channel are used interchangeably, and the id distinguishes them. A message meant for one person is
    never sent to many.
    """
    meant = word_kind(word)
    if meant is None or (meant is ChatKind.DIRECT) is (kind is ChatKind.DIRECT):
        return
    one, several = ("one person", "several people")
    expected, found = (one, several) if meant is ChatKind.DIRECT else (several, one)
    raise rules.wrong(text, f"by the prefix {word}: it is a conversation with {expected}, by its id one with {found}")
