"""Shared parts of target parsing: phone numbers, and whether the kind word before an id agrees with the form of it."""

import re

from trunkline.core.channels.rules import KIND_WORDS, ChannelRules
from trunkline.core.values import ChatKind

#: kind words of platforms with rooms that are channels, and without threads of their own
ROOM_WORDS = {**{word: kind for word, kind in KIND_WORDS.items() if word != "thread"}, "room": ChatKind.CHANNEL}
#: words that fit any kind of conversation
LOOSE_WORDS = ("conversation", "thread")


def word_kind(word: str) -> ChatKind | None:
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


#: separators between digits: blanks, brackets, dots, slashes and dashes
_SIGNS = re.compile(r"[\s().\-/\u2010-\u2015\u2212]+")
#: E.164: up to 15 digits; the first belongs to the country code and is not zero
_NUMBER = re.compile(r"(?:\+|00)?([1-9][0-9]{0,14})")


def normal_phone(text: str) -> str | None:
    """``+`` and the digits of an international phone number, or None.

    A leading ``00`` means ``+``, and a zero in brackets after the country code is dropped. A number with a single
    leading zero (``0151 234``) is rejected because its country is unknown.
    """
    if text.lstrip().startswith(("+", "00")):
        text = text.replace("(0)", "")
    found = _NUMBER.fullmatch(_SIGNS.sub("", text))
    return f"+{found[1]}" if found else None
