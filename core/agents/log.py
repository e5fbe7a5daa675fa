"""Output of programs and services, made fit for a log: bounded, rationed, and without control characters."""

import logging

#: everything about agents that ship; `extra` has the agent's id
LOGGER = logging.getLogger("trunkline.agents")


def shown(text: str, limit: int = 500) -> str:
    """Untrusted text as a part of a line: control characters are escaped, and long texts are cut."""
    kept = text if len(text) <= limit else text[:limit]
    safe = "".join(
        character if character.isprintable() else character.encode("unicode_escape", "replace").decode("ascii")
        for character in kept
    )
    return safe if kept is text else f"{safe}… ({len(text)} characters)"


class Ration:
    """Allows so many units per second, and as many at once after a pause. Times are seconds of a steady clock."""

    def __init__(self, per_second: float, burst: float, now: float) -> None:
        self._rate = per_second
        self._burst = burst
        self._left = burst
        self._at = now

    def spend(self, units: float, now: float) -> bool:
        self._fill(now)
        if self._left < units:
            return False
        self._left -= units
        return True

    def borrow(self, units: float, now: float) -> float:
        """Use units in any case; returns the seconds to wait until they are paid back."""
        self._fill(now)
        self._left -= units
        return max(0.0, -self._left / self._rate)

    def _fill(self, now: float) -> None:
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
