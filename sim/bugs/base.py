"""A bug switch: a named defect that real gateways had, installed by replacing a part of the wiring."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from trunkline.core.config import GatewayConfig
from trunkline.core.gateway import Gateway
from trunkline.core.store.commands import Write
from trunkline.core.store.queries import Read
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.store.rewired import ReplacedRead, ReplacedWrite

C = TypeVar("C", bound=Write[Any])
D = TypeVar("D")

#: puts a defect into the parts of one process
Installer = Callable[[Wiring], None]


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
    install: Installer
    #: the plug-in that it comes from; empty for one of ours
    origin: str = ""


#: the switches that `bug` declared, by the name of their module
DECLARED: defaultdict[str, list[Bug]] = defaultdict(list)


def _itself(install: Installer) -> Installer:
    return install


def bug(
    name: str,
    installer: Callable[[Any], Installer] = _itself,
    *,
    reports: tuple[str, ...] = (),
    caught_by: tuple[str, ...],
    sentence: str | None = None,
) -> Callable[[D], D]:
    """Declare the decorated defect as a bug switch. Its docstring is the switch's sentence, unless one is given."""

    def declare(defect: D) -> D:
        switch = Bug(
            name=name,
            reports=reports,
            sentence=sentence or defect.__doc__ or "",
            caught_by=caught_by,
            install=installer(defect),
        )
        DECLARED[defect.__module__].append(switch)
        return defect

    return declare


def making(part: str) -> Callable[[Callable[..., Any]], Installer]:
    """Installers that replace `Wiring.make_gateway`, `make_store` or `make_adapter`, named by its last word."""
    return lambda make: lambda wiring: setattr(wiring, f"make_{part}", make)


def gateway_part(part: str) -> Callable[[type], Installer]:
    """Installers that replace a type of `Gateway`, such as `delivery_type`."""
    return lambda kind: making("gateway")(type(kind.__name__, (Gateway,), {part: kind}))


def configured(change: Callable[[GatewayConfig], dict[str, Any]]) -> Installer:
    """An installer of a gateway some fields of whose configuration are others."""

    def make(*, config: GatewayConfig, **parts: Any) -> Gateway:
        return Gateway(config=config.model_copy(update=change(config)), **parts)

    return making("gateway")(make)


def deciding(decision: str) -> Callable[[Callable[..., Any]], Installer]:
    """Installers that replace the decision of a name."""
    return lambda decide: lambda wiring: wiring.replace(**{decision: decide})


def changing_write(kind: type[C]) -> Callable[[Callable[[C], C]], Installer]:
    """Installers that change every store command of a type."""
    return lambda change: lambda wiring: wiring.change_write(kind, change)


def replacing_write(kind: type[Write[Any]]) -> Callable[[ReplacedWrite], Installer]:
    """Installers that replace what the store does with commands of a type."""
    return lambda do: lambda wiring: wiring.replace_write(kind, do)


def replacing_read(kind: type[Read[Any]]) -> Callable[[ReplacedRead], Installer]:
    """Installers that replace what the store answers to queries of a type."""
    return lambda do: lambda wiring: wiring.replace_read(kind, do)
