"""Faults around delegated work."""

from typing import Any

from tests.random_hands.draws import Draws

_KINDS: dict[str, tuple[str, ...]] = {
    "send": ("lose-response", "rate-limit", "drop", "reset", "refuse"),
    "hand": ("drop", "slow", "error"),
    "store": ("error", "write-error"),
    "ready": ("error",),
}


def hand_fault(draws: Draws, places: list[str]) -> dict[str, Any]:
    """A fault of a send, a hand, the store or an adapter."""
    on = draws.pick(tuple(_KINDS))
    made: dict[str, Any] = {"on": on, "do": draws.pick(_KINDS[on])}
    if on in ("send", "ready"):
        made |= draws.fields(**{"in": (0.7, lambda: draws.pick(places))})
    if made["do"] in ("rate-limit", "slow") or on == "ready":
        made["for"] = draws.pick(("2s", "20s"))
    return made
