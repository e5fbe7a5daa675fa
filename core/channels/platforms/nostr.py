"""Nostr: people have public keys, in hexadecimal or as ``npub``; no groups, no threads.

Both are spellings of one key, so they are one conversation. The checksum of an ``npub`` reveals typos (BIP 173).
"""

import re

from trunkline.core.channels.rules import ChannelRules, Hints, ParsedTarget
from trunkline.core.values import ChatKind

_HEX = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
#: BIP 173: the letters of the values 0 to 31
_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_NPUB = re.compile(rf"npub1([{_LETTERS}]{{58}})")
_CHECKSUM = 6
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
#: the expansion of the prefix ``npub`` for the checksum: high bits, a zero, low bits
_PREFIX = (*(ord(char) >> 5 for char in "npub"), 0, *(ord(char) & 31 for char in "npub"))
_WORDS = ("user", "dm")


class Nostr(ChannelRules):
    channel = "nostr"
    forms = ("npub1...", "64 hexadecimal digits", "nostr: or user: before either")
    case_sensitive = False
    chunk_limit = 4000

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        """An ``npub`` is folded to the hexadecimal key."""
        folded = super().fold(kind, id)
        return key_of(folded) or folded

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Always a person."""
        trimmed = self.clean(text)
        word, id = self.kind_word(self.strip(trimmed, repeat=True), _WORDS)  # noqa: A001
        found = self.target(ChatKind.DIRECT, id, text, f"by the prefix {word}:" if word else "by default")
        if key_of(id) is None:
            raise self.wrong(text, "it was understood as a public key, but it is mistyped or of another kind")
        return found

    def to(self, target: ParsedTarget) -> str:
        return f"{self.channel}:{target.id}"


def key_of(text: str) -> str | None:
    """A public key in hexadecimal, from any spelling, or None if the text is not a key."""
    if _HEX.fullmatch(text):
        return text.lower()
    found = _NPUB.fullmatch(text.lower())
    values = [_LETTERS.index(letter) for letter in found[1]] if found else []
    if not values or _polymod((*_PREFIX, *values)) != 1:
        return None
    number = 0
    for value in values[:-_CHECKSUM]:
        number = number << 5 | value
    # 52 letters have 260 bits, four more than a key.
    return None if number & 15 else f"{number >> 4:064x}"


def _polymod(values: tuple[int, ...]) -> int:
    """The checksum of BIP 173, which is 1 for a text that ends in its correct checksum."""
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            check ^= generator if top >> bit & 1 else 0
    return check
