"""What several channels share in reading targets: a word in front and the form of the id behind it."""

from __future__ import annotations

from trunkline.core.channels.rules import KIND_WORDS, ChannelRules
from trunkline.core.values import ChatKind

#: kind words that upstream cuts off, in any case
UPSTREAM_WORDS = ("user", "channel", "group", "conversation", "room", "dm")
#: words that any kind of conversation goes by
LOOSE_WORDS = ("conversation", "thread")


def said(word: str) -> ChatKind | None:
    """The kind that a word says, or none."""
    return None if word in LOOSE_WORDS else KIND_WORDS.get(word)


def agree(rules: ChannelRules, text: str, word: str, kind: ChatKind) -> None:
    """Raise `TargetError` where the word says one person and the id is that of several people, or the reverse.

    Group, room and channel are used for one another, and the id tells them apart. What was meant for one person is
    never sent to many.
    """
    meant = said(word)
    if meant is None or (meant is ChatKind.DIRECT) is (kind is ChatKind.DIRECT):
        return
    one, several = ("one person", "several people")
    expected, found = (one, several) if meant is ChatKind.DIRECT else (several, one)
    raise rules.wrong(text, f"by the prefix {word}: it is a conversation with {expected}, by its id one with {found}")
