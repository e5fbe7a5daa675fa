"""Chunkers of adapters or of channel rules: user code, whose answers are checked."""

from collections.abc import Callable, Sequence
from typing import Protocol, cast, runtime_checkable

from trunkline.core.errors import ChunkerError
from trunkline.core.text.chunking.utf16 import fits, units, visible
from trunkline.core.well_formed import is_well_formed

#: a text and the maximum length of a chunk, in UTF-16 code units, to the chunks
Split = Callable[[str, int], Sequence[str]]


@runtime_checkable
class OwnChunker(Protocol):
    """An adapter, or the rules of a channel, with a chunker instead of a built-in chunker."""

    def split_text(self, text: str, limit: int) -> Sequence[str]:
        """Split a text into chunks of at most `limit` UTF-16 code units, without blank chunks.

        Must return at once. An error or an invalid answer is recorded, and the built-in chunker splits the text.
        """
        ...


def own_chunker(adapter: object, rules: object) -> Split | None:
    """The chunker of an adapter, else of the channel's rules; None for a built-in chunker."""
    owner = next((owner for owner in (adapter, rules) if isinstance(owner, OwnChunker)), None)
    return None if owner is None else owner.split_text


def checked_split(split: Split, text: str, limit: int) -> tuple[str, ...]:
    """The chunks of a text from an own chunker. Raises `ChunkerError` for an invalid answer."""
    answer: object = split(text, limit)
    if not isinstance(answer, list | tuple):
        raise ChunkerError(f"it returned a value of type {type(answer).__name__} instead of a list of texts")
    chunks = tuple(cast("Sequence[object]", answer))
    if not chunks:
        raise ChunkerError(f"it returned no chunk of a text of {units(text)} code units")
    for number, chunk in enumerate(chunks, 1):
        if not isinstance(chunk, str):
            raise ChunkerError(f"chunk {number} is of type {type(chunk).__name__} instead of str")
        if not is_well_formed(chunk):
            raise ChunkerError(f"chunk {number} has half a character (a lone surrogate)")
        if not visible(chunk):
            raise ChunkerError(f"chunk {number} has nothing visible")
        if not fits(chunk, limit):
            raise ChunkerError(f"chunk {number} has {units(chunk)} code units, and the limit is {limit}")
    return cast("tuple[str, ...]", chunks)
