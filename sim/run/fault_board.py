"""Faults: armed by the script, matched by content, counted when they fire.

Most faults strike the first requests that match. Those on `mirror`, `ready` and `connect` are periods: they hold from
the moment they are armed, for their duration.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from trunkline.core.actions.names import Action
from trunkline.core.events import Body
from trunkline.core.values import Address, Transport
from trunkline.sim.scenario.model.scenario import Fault


def text_matches(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern in which only ``*`` is special (any text, line ends included)."""
    escaped = pattern.replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(text, escaped)


def where(body: Body) -> Address | None:
    """The place of an event: its address, that of its binding, the requested one, or where the turn came from."""
    found = (getattr(body, name, None) for name in ("address", "conversation", "asked", "origin"))
    return next((place for place in found if isinstance(place, Address)), None)


@dataclass(slots=True)
class ArmedFault:
    """A fault of the script that has not run out."""

    fault: Fault
    #: matches to let pass before it strikes
    skip: int
    left: int
    #: end of a fault that is a period
    until: float
    struck: bool = False


class FaultBoard:
    """The armed faults.

    `is_at`: whether an address is a place of the scenario. `account_of`: the channel and account of a place.
    """

    def __init__(
        self,
        is_at: Callable[[str, Address], bool],
        account_of: Callable[[str], tuple[str, str]],
        now: Callable[[], float],
    ) -> None:
        self._is_at = is_at
        self._account_of = account_of
        self._now = now
        self._armed: list[ArmedFault] = []
        #: matches that faults let pass, without an event
        self.passed = 0

    def arm(self, fault: Fault) -> None:
        self._armed.append(ArmedFault(fault, fault.nth - 1, fault.times, self._now() + fault.for_))

    def heal(self) -> None:
        self._armed.clear()

    def take(
        self,
        on: str,
        *,
        address: Address | None = None,
        text: str | None = None,
        attempt: int | None = None,
        transport: Transport | None = None,
        action: Action | None = None,
        carries: Collection[str] = (),
        account: tuple[str, str] | None = None,
    ) -> Fault | None:
        """The first armed fault that matches; it counts as fired."""
        for armed in self._armed:
            fault = armed.fault
            fits = (
                fault.on == on
                and (fault.place is None or address is None or self._is_at(fault.place, address))
                and (fault.text is None or text is None or text_matches(fault.text, text))
                and fault.attempt in (None, attempt)
                and fault.transport in (None, transport)
                and fault.action in (None, action)
                and (fault.carries is None or fault.carries in carries)
                and (account is None or self.is_about(fault, account))
            )
            if fits and armed.skip:
                armed.skip -= 1
                self.passed += 1
            elif fits:
                armed.left -= 1
                if armed.left == 0:
                    self._armed.remove(armed)
                return fault
        return None

    def during(self, on: str, account: tuple[str, str] | None = None) -> tuple[Fault, bool] | None:
        """The fault whose period holds now, for an account or for all, and whether this is its first strike."""
        for armed in self._armed:
            about = account is None or self.is_about(armed.fault, account)
            if armed.fault.on == on and self._now() < armed.until and about:
                first, armed.struck = not armed.struck, True
                return armed.fault, first
        return None

    def is_about(self, fault: Fault, account: tuple[str, str]) -> bool:
        """Whether a fault strikes an account, named by channel and name."""
        return fault.place is None or self._account_of(fault.place) == account
