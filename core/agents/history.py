"""The lines of a transcript for a turn: the lines before the turn's message, from the newest back."""

from collections.abc import Sequence

import msgspec

from trunkline.core.agent import Turn
from trunkline.core.records.messages import NOTE
from trunkline.core.values import TranscriptLine, TurnId

#: the roles of what went out, and of notes about it; every other line is work of a turn of its own
_OUTBOUND = frozenset({"assistant", NOTE})
#: lines behind the turn's own that are read at first
_BEHIND = 100


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a transcript, in order. `cut`: earlier lines were left out."""

    lines: tuple[TranscriptLine, ...]
    cut: bool


def own_line(turn: TurnId, lines: Sequence[TranscriptLine]) -> int | None:
    """Where the message of a turn stands."""
    return next((n for n, line in enumerate(lines) if turn == f"t-{line.ref}"), None)


async def lines_around(turn: Turn, limit: int) -> Excerpt:
    """The line of a turn's message, at most `limit` lines before, and every line behind.

    While a turn waits or runs, any number of messages may come, which stand behind its own.
    """
    asked = limit + _BEHIND
    while True:
        read = await turn.history(asked)
        own = own_line(turn.id, read)
        is_whole = len(read) < asked
        if is_whole or (own is not None and own >= limit):
            first = max(0, (len(read) if own is None else own) - limit)
            return Excerpt(lines=tuple(read[first:]), cut=first > 0)
        asked *= 4


def earlier_lines(turn: TurnId, lines: Sequence[TranscriptLine]) -> tuple[TranscriptLine, ...]:
    """The transcript without the turn's own message, and without later messages, which wait for other turns.

    What went out after the message stays: answers to earlier messages, and what the turn itself sent before a crash.
    """
    own = own_line(turn, lines)
    if own is None:
        return tuple(lines)
    return (*lines[:own], *(line for line in lines[own + 1 :] if line.role in _OUTBOUND))


def newest_lines(lines: Sequence[TranscriptLine], limit: int, characters: int) -> Excerpt:
    """The newest lines within both limits. A line is never cut, and none is left out in the middle."""
    left, first = characters, len(lines)
    while first > max(0, len(lines) - limit) and left >= len(lines[first - 1].text):
        first -= 1
        left -= len(lines[first].text)
    return Excerpt(lines=tuple(lines[first:]), cut=first > 0)
