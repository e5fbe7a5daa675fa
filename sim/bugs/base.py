"""What a bug switch is: a named defect that real gateways had, put in by replacing a part of the wiring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trunkline.core.gateway import Gateway
from trunkline.sim.run.wiring import Wiring


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A defect that can be switched on in the simulator, and nowhere else: no other code takes a `Wiring`."""

    #: as given to ``--bug``
    name: str
    #: ids in the catalogue of public reports, e.g. ``B001``
    reports: tuple[str, ...] = ()
    #: what goes wrong, in one sentence
    sentence: str
    #: invariants that must catch it
    caught_by: tuple[str, ...]
    #: puts the defect into the parts of one process
    install: Callable[[Wiring], None]


def making(gateway: Callable[..., Gateway]) -> Callable[[Wiring], None]:
    """An installer that puts the process together as such a gateway."""

    def install(wiring: Wiring) -> None:
        wiring.make_gateway = gateway

    return install


def deciding(**decisions: Callable[..., Any]) -> Callable[[Wiring], None]:
    """An installer that replaces decisions by name."""

    def install(wiring: Wiring) -> None:
        wiring.replace(**decisions)

    return install
