"""Checks that a world keeps what its platforms declare to the gateway, such as how long a request may be on its way.

The gateway relies on these declarations. It refuses an adapter that contradicts itself when the run begins, and a fault
that breaks a declaration would make it look guilty. Both are refused when the file is read.
"""

from collections.abc import Iterator

from trunkline.core.channels.capabilities import check_capabilities
from trunkline.core.config.files.problems import Path, ProblemReport, advice
from trunkline.core.values import Capabilities, Idempotency
from trunkline.sim.scenario.model.abilities import lost_to
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.scenario import Scenario
from trunkline.sim.scenario.model.world import AccountSpec, PlatformSpec, WorldSpec, idempotency_of, not_ready
from trunkline.sim.scenario.place_refs import place_if_known

#: the longest latency, as a multiple of the usual one
_LONGEST = 1.5


def check_promises(scenario: Scenario, world: WorldSpec, report: ProblemReport) -> None:
    """Report what contradicts the declarations of the platforms."""
    for name, spec in scenario.world.platforms.items():
        _check_platform(name, spec, report)
    for index, step in enumerate(scenario.script):
        if step.fault is not None and step.fault.on in ("send", "act") and step.fault.do == "slow":
            _check_slow(step.fault, ("script", index, "fault"), world, report)
        if step.fault is not None:
            _check_reason(step.fault, ("script", index, "fault"), world, report)


def _check_reason(fault: Fault, path: Path, world: WorldSpec, report: ProblemReport) -> None:
    """The reason of an account that is not ready is one that its platform knows."""
    known = list(dict.fromkeys(reason for name, _, _ in _struck(fault, world) for reason in not_ready(name)))
    if fault.reason is not None and fault.reason not in known:
        report.add(
            (*path, "reason"), f"expected a reason of the platform, found {fault.reason!r}", advice(fault.reason, known)
        )


def _declared(name: str, spec: PlatformSpec, account: AccountSpec) -> Capabilities:
    """The capabilities of an account, as far as a file decides them."""
    idempotency = idempotency_of(name, spec, account)
    usual = Capabilities()
    return Capabilities(
        can=usual.can - lost_to(spec.cannot)[0],
        idempotency=idempotency,
        key_seconds=spec.key_seconds if idempotency is Idempotency.KEY else None,
    )


def _in_time(can: Capabilities) -> bool:
    """Whether the gateway relies on the time within which a request of an account arrives."""
    return can.idempotency is Idempotency.LOOKUP or can.key_seconds is not None


def _check_platform(name: str, spec: PlatformSpec, report: ProblemReport) -> None:
    for own, account in spec.accounts.items():
        can = _declared(name, spec, account)
        for sentence in check_capabilities(can):
            field = "key_seconds" if "key" in sentence else "cannot"
            report.add(("world", name, field), f"the gateway refuses {name}:{own}: {sentence}")
        if _in_time(can) and _LONGEST * spec.latency > can.in_flight_seconds:
            facts = f"a request to {name}:{own} may take {_LONGEST * spec.latency:g}s, and it declares at most"
            hint = f"write at most {can.in_flight_seconds / _LONGEST:g}s"
            report.add(("world", name, "latency"), f"{facts} {can.in_flight_seconds:g}s", hint)
            return


def _check_slow(fault: Fault, path: Path, world: WorldSpec, report: ProblemReport) -> None:
    """A slow request must arrive within the time that its account declares, if the gateway relies on that.

    It does for every action: one in doubt is repeated after that time, and a late edit would undo a later one.
    """
    for name, spec, own in _struck(fault, world):
        can = _declared(name, spec, spec.accounts[own])
        most = can.in_flight_seconds - _LONGEST * spec.latency
        if (fault.on == "act" or _in_time(can)) and 0 <= most < fault.for_:
            what = "a send to" if fault.on == "send" else "an action on"
            facts = f"{what} {name}:{own} would arrive after {fault.for_:g}s, and it declares at most"
            hint = (
                f"write at most {most:g}s, or `in` with a place elsewhere: the gateway asks or repeats after that time"
            )
            report.add((*path, "for"), f"{facts} {can.in_flight_seconds:g}s", hint)
            return


def _struck(fault: Fault, world: WorldSpec) -> Iterator[tuple[str, PlatformSpec, str]]:
    """The accounts that a fault may strike, each with its platform."""
    place = place_if_known(fault.place, world)
    for name, spec in world.platforms.items():
        for own in spec.accounts:
            if fault.place is None or (place is not None and (place.platform, place.account) == (name, own)):
                yield name, spec, own
