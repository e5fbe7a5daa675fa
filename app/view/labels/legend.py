"""The legend of the signs on screens, for the help."""

from __future__ import annotations

import msgspec


class LegendEntry(msgspec.Struct, frozen=True):
    """A sign, or a group of signs, and its meaning."""

    text: str
    meaning: str


LEGEND = (
    LegendEntry("✓  –  ✗", "an invariant holds, had nothing to judge in this run, is violated"),
    LegendEntry("1×  2×  3×", "copies of one thing that should be there once; the bracket ┏ ┗ joins them, t jumps"),
    LegendEntry("!!", "at the wrong place"),
    LegendEntry("FB", "sent elsewhere, as a fallback that was decided and recorded: allowed"),
    LegendEntry("??", "unknown whether it arrived"),
    LegendEntry("RT2", "attempt 2 failed, there will be another"),
    LegendEntry("RP", "the platform delivers an old message again"),
    LegendEntry("sup", "deliberately not sent, with a reason"),
    LegendEntry("✗!", "will not be delivered any more"),
    LegendEntry("½", "a part of the message arrived, the rest will not"),
    LegendEntry("m", "mirrored: the transcript of its session has the sent text"),
    LegendEntry("m!  m?", "mirrored into the wrong session; missing in the transcript"),
    LegendEntry("≠", "the transcript and what people saw differ here"),
    LegendEntry("┨  ┃  ┠", "the gateway's own line: messages to its left, hands to its right"),
    LegendEntry("└▸  ◆", "a thread of the lane to its left; a place that is bound to a session"),
    LegendEntry("dm", "who reads in a lane: one person (dm), a group (group), everybody there (public)"),
    LegendEntry("tok#2  tok#1!", "the token that an account speaks with; it still used an older one than it was given"),
    LegendEntry("‹  ›", "it leads to a lane that is out of sight or hidden"),
    LegendEntry("▐  █", "the right edge is the whole run: what is in view, and where something is broken"),
    LegendEntry("'", "a moment that you marked"),
)
