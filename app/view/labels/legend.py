"""What the signs of the screens mean, for the help: each that a newcomer meets, with its sentence."""

from __future__ import annotations

import msgspec


class Sign(msgspec.Struct, frozen=True):
    """A sign, or several that go together, and what it tells."""

    text: str
    meaning: str


SIGNS = (
    Sign("✓  –  ✗", "an invariant holds, had nothing to judge in this run, is violated"),
    Sign("1×  2×  3×", "copies of one thing that should be there once; the bracket ┏ ┗ joins them, t jumps"),
    Sign("!!", "at a place where it should not be"),
    Sign("FB", "sent elsewhere, as a fallback that was decided and recorded: allowed"),
    Sign("??", "nobody can tell whether it arrived"),
    Sign("RT2", "attempt 2 failed, there will be another"),
    Sign("RP", "the platform delivers an old message again"),
    Sign("sup", "not said or not sent, on purpose, with a reason"),
    Sign("✗!", "will not be delivered any more"),
    Sign("½", "a part of the message arrived, the rest will not"),
    Sign("m", "remembered: the transcript of its session has what was sent"),
    Sign("m!  m?", "remembered in a wrong session; missing in the transcript"),
    Sign("≠", "the transcript and what people saw differ here"),
    Sign("┨  ┃  ┠", "the gateway's own line: messages to its left, hands to its right"),
    Sign("└▸  ◆", "a thread of the lane to its left; a place that is bound to a session"),
    Sign("dm", "who reads in a lane: one person (dm), a group (group), everybody there (public)"),
    Sign("tok#2  tok#1!", "the token that an account speaks with; it still used an older one than it was given"),
    Sign("‹  ›", "it leads to a lane that is out of sight or hidden"),
    Sign("▐  █", "the right edge is the whole run: what is in view, and where something is broken"),
    Sign("'", "a moment that you marked"),
)
