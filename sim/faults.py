"""Faults: named things that will go wrong, armed by the script, matched by content, counted when they fire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from core.values import Address
from sim.scenario.model import Fault


def text_matches(pattern: str, text: str) -> bool:
    """Whether a text fits a pattern in which only ``*`` is special (for anything, also line ends)."""
    escaped = pattern.replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(text, escaped)


@dataclass(slots=True)
class Armed:
    """A fault of the script that waits for its moment."""

    fault: Fault
    left: int


class FaultBoard:
    """The faults that are armed now."""

    def __init__(self, is_at: Callable[[str, Address], bool]) -> None:
        self._is_at = is_at
        self._armed: list[Armed] = []

    def arm(self, fault: Fault) -> None:
        """From now on."""
        self._armed.append(Armed(fault, fault.times))

    def heal(self) -> None:
        """No new faults from now on."""
        self._armed.clear()

    def take(
        self, on: str, *, address: Address | None = None, text: str | None = None, attempt: int | None = None
    ) -> Fault | None:
        """The first armed fault that fits; it counts as fired."""
        for armed in self._armed:
            fault = armed.fault
            fits = (
                fault.on == on
                and (fault.place is None or address is None or self._is_at(fault.place, address))
                and (fault.text is None or text is None or text_matches(fault.text, text))
                and fault.attempt in (None, attempt)
            )
            if fits:
                armed.left -= 1
                if armed.left == 0:
                    self._armed.remove(armed)
                return fault
        return None
