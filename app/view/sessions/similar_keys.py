"""Keys that are almost the same: put together, with the characters in which they differ.

Two keys are near when they are the same but for the case or the encoding of letters, for one or two characters, for one
part before the last, such as an account, or for a part that only one of them has at its end, such as a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from urllib.parse import unquote

#: characters in which keys may differ and still be near
_FEW = 2
#: parts that only one of them has: what it is, and its id
_PARTS = 2
#: cells in which something can be shown between two signs of a cut
_LEAST = 8


def group_similar(keys: Sequence[str]) -> tuple[list[int], Mapping[int, range]]:
    """The order in which keys stand, near ones side by side, and where each of these differs from the one before it.

    A group stands where its first key stood; within it keys are in the order of their letters.
    """
    forward = {key: _folded(key).split(":") for key in keys}
    groups = {index: [index] for index in range(len(keys))}
    # What differs at the end, and what differs before it: either way near keys are neighbours.
    for turned in (1, -1):
        in_order = sorted(groups, key=lambda index: (forward[keys[index]][::turned], keys[index]))
        for one, other in pairwise(in_order):
            if groups[one] is not groups[other] and _near(keys[one], keys[other]):
                groups[one] += groups[other]
                groups.update(dict.fromkeys(groups[other], groups[one]))
    spots: dict[int, range] = {}
    for group in groups.values():
        group.sort(key=lambda index: (forward[keys[index]], keys[index]))
        for one, other in pairwise(group):
            spots[one], spots[other] = _spots(keys[one], keys[other])
    ordered = {index: None for first in range(len(keys)) for index in groups[first]}
    return list(ordered), spots


def _folded(key: str) -> str:
    return unquote(key).casefold()


def _near(one: str, other: str) -> bool:
    if one == other or not one or not other:
        return False
    if _folded(one) == _folded(other):
        return True
    parts = [mine == theirs for mine, theirs in zip(one.split(":"), other.split(":"), strict=False)]
    if one.count(":") == other.count(":") and parts.count(False) == 1 and parts[-1]:
        return True
    mine, theirs = (key[spot.start : spot.stop] for key, spot in zip((one, other), _spots(one, other), strict=True))
    if max(len(mine), len(theirs)) <= _FEW:
        return True
    added = theirs or mine
    return not (mine and theirs) and (one.startswith(other) or other.startswith(one)) and added.count(":") == _PARTS


def _spots(one: str, other: str) -> tuple[range, range]:
    """What lies between the beginning and the end that both have."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    left = shorter - start
    end = next((at for at in range(left) if one[-1 - at] != other[-1 - at]), left)
    return range(start, len(one) - end), range(start, len(other) - end)


def cut_around(text: str, spots: range, room: int) -> tuple[str, frozenset[int]]:
    """A text that fits, and where its spots are. Its middle is left out; where the spots are there, its ends."""
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
    """The spots with as much before as after them."""
    start = max(0, min(spots.start - max(room - len(spots), 0) // 2, len(text) - room))
    there = frozenset(1 + at - start for at in spots if start <= at < start + room)
    return f"…{text[start : start + room]}…", there
