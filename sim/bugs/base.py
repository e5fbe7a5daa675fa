"""A bug switch: a named defect that real gateways had, installed by replacing a part of the wiring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from trunkline.core.store.commands import Write
from trunkline.core.store.queries import Read
from trunkline.sim.run.wiring import Wiring
from trunkline.sim.store.rewired import ReplacedRead, ReplacedWrite

C = TypeVar("C", bound=Write[Any])


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


def making(**factories: Callable[..., Any]) -> Callable[[Wiring], None]:
    """An installer that replaces `Wiring.make_gateway`, `make_store` or `make_adapter`, by their last words."""

    def install(wiring: Wiring) -> None:
        for part, make in factories.items():
            setattr(wiring, f"make_{part}", make)

    return install


def deciding(**decisions: Callable[..., Any]) -> Callable[[Wiring], None]:
    """An installer that replaces decisions by name."""

    def install(wiring: Wiring) -> None:
        wiring.replace(**decisions)

    return install


def changing_write(kind: type[C], change: Callable[[C], C]) -> Callable[[Wiring], None]:
    """An installer that changes every store command of a type."""

    def install(wiring: Wiring) -> None:
        wiring.change_write(kind, change)

    return install


def replacing_write(kind: type[Write[Any]], do: ReplacedWrite) -> Callable[[Wiring], None]:
    """An installer that replaces what the store does with commands of a type."""

    def install(wiring: Wiring) -> None:
        wiring.replace_write(kind, do)

    return install


def replacing_read(kind: type[Read[Any]], do: ReplacedRead) -> Callable[[Wiring], None]:
    """An installer that replaces what the store answers to queries of a type."""

    def install(wiring: Wiring) -> None:
        wiring.replace_read(kind, do)

    return install
