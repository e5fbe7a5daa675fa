"""The area of chunks: a text, and the pieces that it is sent in."""

from collections.abc import Callable
from typing import Any

from trunkline.core.profile_rules import Profile
from trunkline.core.text.chunking.chunks import chunk
from trunkline.core.text.chunking.code_fences import fences
from trunkline.core.text.chunking.utf16 import units
from trunkline.core.values import Chunker, ChunkMode

Fields = dict[str, Any]


def run(case: Fields, _: Profile) -> Fields:
    """What our code answers. Raises `LookupError` for a property or a comparison that is not known."""
    given, expect = case["given"], case["expect"]
    chunks = chunk(
        given["text"],
        given["limit"],
        chunker=Chunker(given.get("chunker") or "text"),
        mode=ChunkMode(given.get("mode") or "length"),
        pack=given.get("pack_paragraphs") is True,
    )
    actual: Fields = {"chunks": list(chunks)}
    if "compare" in expect:
        actual |= {"chunks": _compared(chunks, expect["chunks"], expect["compare"]), "compare": expect["compare"]}
    if "properties" in expect:
        actual["properties"] = {
            name: _measured(name, wanted, given["text"], chunks) for name, wanted in expect["properties"].items()
        }
    return actual


def _compared(chunks: tuple[str, ...], wanted: list[str], how: str) -> list[str]:
    """The chunks in the words of what is wanted, where the one differs from the other as it may."""
    if how != "rstrip_each":
        raise LookupError(f"unknown comparison {how!r}")
    same = [one.rstrip() for one in chunks] == [one.rstrip() for one in wanted]
    return wanted if same else list(chunks)


def _measured(name: str, wanted: Any, text: str, chunks: tuple[str, ...]) -> Any:
    """What is wanted where the chunks have the property, else what they have instead."""
    if name not in _PROPERTIES:
        raise LookupError(f"unknown property {name!r}; known: {', '.join(_PROPERTIES)}")
    return _PROPERTIES[name](wanted, text, chunks)


def _longest(wanted: int, _: str, chunks: tuple[str, ...]) -> int:
    return max(wanted, *map(units, chunks))


def _balanced(_wanted: bool, _text: str, chunks: tuple[str, ...]) -> bool:
    """Every chunk closes what it opens."""
    return all(block.close < block.end for one in chunks for block in fences(one))


_PROPERTIES: dict[str, Callable[[Any, str, tuple[str, ...]], Any]] = {
    "max_chunk_length": _longest,
    "min_chunk_count": lambda wanted, _, chunks: min(wanted, len(chunks)),
    "max_chunk_count": lambda wanted, _, chunks: max(wanted, len(chunks)),
    "every_chunk_starts_with": lambda wanted, _, chunks: next((x for x in chunks if not x.startswith(wanted)), wanted),
    "every_chunk_ends_with": lambda wanted, _, chunks: next((x for x in chunks if not x.endswith(wanted)), wanted),
    "balanced_fences": _balanced,
    "joined_equals_text": lambda _, text, chunks: "".join(chunks) == text,
}
