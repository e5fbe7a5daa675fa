"""Groups similar session keys, and marks the characters in which they differ.

Two keys are similar when they differ only in case or percent-encoding, in one or two characters, in one part before the
last, such as an account, or in a part that only one of them has at its end, such as a thread.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from urllib.parse import unquote

#: similar keys differ in at most this many characters
_FEW = 2
#: parts of a suffix that only one of them has: its kind and its id
_PARTS = 2
#: smallest room that leaves space for text between two ellipses
_LEAST = 8


def group_similar(keys: Sequence[str]) -> tuple[list[int], Mapping[int, range]]:
    """An order with similar keys side by side, and for each of these the range that differs from its neighbor.

    A group takes the position of its first key; within it keys are sorted.
    """
    forward = {key: _folded(key).split(":") for key in keys}
    groups = {index: [index] for index in range(len(keys))}
    # Sorted forwards or backwards, similar keys are neighbors: they differ at the end, or before it.
    for turned in (1, -1):
        in_order = sorted(groups, key=lambda index: (forward[keys[index]][::turned], keys[index]))
        for key, other in pairwise(in_order):
            if groups[key] is not groups[other] and _similar(keys[key], keys[other]):
                groups[key] += groups[other]
                groups.update(dict.fromkeys(groups[other], groups[key]))
    spots: dict[int, range] = {}
    for group in groups.values():
        group.sort(key=lambda index: (forward[keys[index]], keys[index]))
        for key, other in pairwise(group):
            spots[key], spots[other] = _spots(keys[key], keys[other])
    ordered = {index: None for first in range(len(keys)) for index in groups[first]}
    return list(ordered), spots


def _folded(key: str) -> str:
    return unquote(key).casefold()


def _similar(first: str, other: str) -> bool:
    if first == other or not first or not other:
        return False
    if _folded(first) == _folded(other):
        return True
    parts = [mine == theirs for mine, theirs in zip(first.split(":"), other.split(":"), strict=False)]
    if first.count(":") == other.count(":") and parts.count(False) == 1 and parts[-1]:
        return True
    mine, theirs = (key[spot.start : spot.stop] for key, spot in zip((first, other), _spots(first, other), strict=True))
    if max(len(mine), len(theirs)) <= _FEW:
        return True
    added = theirs or mine
    return not (mine and theirs) and (first.startswith(other) or other.startswith(first)) and added.count(":") == _PARTS


def _spots(first: str, other: str) -> tuple[range, range]:
    """The ranges between the common prefix and the common suffix."""
    shorter = min(len(first), len(other))
    start = next((at for at in range(shorter) if first[at] != other[at]), shorter)
    left = shorter - start
    end = next((at for at in range(left) if first[-1 - at] != other[-1 - at]), left)
    return range(start, len(first) - end), range(start, len(other) - end)


def cut_around(text: str, spots: range, room: int) -> tuple[str, frozenset[int]]:
    """Cut the middle of a text to fit, or its ends if the spots are in the middle; return where the spots are then."""
    kept = list(enumerate(text))
    if len(text) <= room:
        return text, frozenset(at for at, _ in kept if at in spots)
    head = max((room - 1) // 2, 0)
    tail = max(room - 1 - head, 0)
    lost = range(head, len(text) - tail)
    if spots and spots.start in lost and room > _LEAST:
        return _around(text, spots, room - 2)
    shown = [*kept[:head], (-1, "…"), *kept[len(text) - tail :]]
    there = frozenset(at for at, (index, _) in enumerate(shown) if index in spots)
    if any(at in spots for at in lost):
        there |= {head}
    return "".join(char for _, char in shown), there


def _around(text: str, spots: range, room: int) -> tuple[str, frozenset[int]]:
    start = max(0, min(spots.start - max(room - len(spots), 0) // 2, len(text) - room))
    there = frozenset(1 + at - start for at in spots if start <= at < start + room)
    return f"…{text[start : start + room]}…", there
