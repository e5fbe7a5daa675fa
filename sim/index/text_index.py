"""Texts by their words: which of many texts hold a given one, and which of many are held by it."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

T = TypeVar("T")
#: letters of a piece by which a text is found
PIECE = 8


class TextIndex:
    """Numbered texts, found by what they hold. A text that is added again under its number replaces the one before."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        #: pieces that follow each other in a text -> the numbers of the texts; the text itself decides
        self._pieces: dict[str, list[int]] = {}
        self._joined: tuple[str, list[int], list[int]] | None = None
        self._found: dict[str, Sequence[int]] = {}

    def add(self, number: int, text: str) -> None:
        self.texts[number] = text
        for at in range(0, len(text) - PIECE + 1, PIECE):
            self._pieces.setdefault(text[at : at + PIECE], []).append(number)
        self._joined = None
        self._found.clear()

    def holding(self, text: str) -> Sequence[int]:
        """The numbers of the texts that hold a text, in order."""
        if text not in self._found:
            search = self._by_piece if len(text) >= 2 * PIECE - 1 else self._by_scan
            self._found[text] = sorted(search(text))
        return self._found[text]

    def _by_piece(self, text: str) -> set[int]:
        """A text of this length has a whole piece of whatever holds it; of several, the rarest is looked at."""
        found: set[int] = set()
        for first in range(PIECE):
            starts = range(first, len(text) - PIECE + 1, PIECE)
            found.update(min((self._pieces.get(text[at : at + PIECE], ()) for at in starts), key=len))
        return {number for number in found if text in self.texts[number]}

    def _by_scan(self, text: str) -> set[int]:
        if self._joined is None:
            starts = list(accumulate((len(held) + 1 for held in self.texts.values()), initial=0))
            self._joined = "\n".join(self.texts.values()), starts, list(self.texts)
        joined, starts, numbers = self._joined
        found: set[int] = set()
        at = joined.find(text)
        while at >= 0:
            place = bisect_right(starts, at) - 1
            found.add(numbers[place])
            at = joined.find(text, starts[place + 1])
        return found


class HeldTexts(Generic[T]):
    """Things by their texts, found by a longer text that holds these."""

    def __init__(self) -> None:
        #: how a text begins -> its length -> itself -> its things
        self._texts: dict[str, dict[int, dict[str, list[T]]]] = {}
        self._beginnings: set[int] = set()

    def add(self, text: str, thing: T) -> None:
        """Add a thing that has a text; an empty one is held by nothing."""
        if text:
            begins = text[:PIECE]
            self._beginnings.add(len(begins))
            self._texts.setdefault(begins, {}).setdefault(len(text), {}).setdefault(text, []).append(thing)

    def held_by(self, whole: str) -> Iterator[tuple[str, list[T]]]:
        """The texts that a text holds, each with its things; one that it holds twice comes twice."""
        for at in range(len(whole)):
            for size in self._beginnings:
                begins = whole[at : at + size]
                for length, texts in self._texts.get(begins, {}).items() if len(begins) == size else ():
                    text = whole[at : at + length]
                    if text in texts:
                        yield text, texts[text]
