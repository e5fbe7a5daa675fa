"""The texts of a gateway that its profile names: notices and remarks."""

import re
import zlib
from collections.abc import Iterable

#: variation selectors: a coloured or a plain picture of the sign before them; copied texts often lose them
_VARIANTS = {0xFE0E: None, 0xFE0F: None}


def checksum(text: str) -> int:
    """A checksum of a text, by which a line of a transcript is known."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


class KnownTexts:
    """Patterns in which only ``*`` is special, for texts as people read them: without escapes, with single spaces.

    Selectors of the look of an emoji do not count, in patterns and in texts.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = [
            re.compile(".*".join(map(re.escape, _read(pattern).split("*"))), re.DOTALL) for pattern in patterns
        ]

    def have(self, text: str) -> bool:
        """Whether a text matches one of the patterns."""
        return any(pattern.fullmatch(_read(text)) for pattern in self._patterns)


def _read(text: str) -> str:
    return " ".join(text.translate(_VARIANTS).replace("\\", "").split())
