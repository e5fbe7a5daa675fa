"""Faults of a scenario that only a gateway which is not ours can have, so that only `trunkline attach` plays them."""

from collections.abc import Iterator

from trunkline.sim.events import model, wire, world
from trunkline.sim.events.attach import GatewayAttached, GatewayExited, GatewayLaunched, GatewayReachedOut, GatewayReady
from trunkline.sim.scenario.load import ScenarioFile
from trunkline.sim.scenario.model.steps import ScriptStep, awaited_by

#: events of sockets, of the model behind them, and of a gateway that is not ours: no other run has them
ATTACH_EVENTS = frozenset(
    body.kind
    for body in (
        *(GatewayAttached, GatewayLaunched, GatewayReady, GatewayExited, GatewayReachedOut),
        *(model.ModelAsked, model.ModelAnswered),
        *(wire.WireCalled, wire.WireResponded, wire.WireEdited, wire.WireDeleted),
        *(world.PlatformConfirming, world.PlatformConfirmed),
    )
)


def attach_only(file: ScenarioFile) -> tuple[str, ...]:
    """Why a scenario is played by `trunkline attach` only, each reason once. Empty: it is not."""
    return tuple(dict.fromkeys(reason for step in file.scenario.script for reason in _of_step(step)))


def _of_step(step: ScriptStep) -> Iterator[str]:
    for when in awaited_by([step]):
        if when.event in ATTACH_EVENTS:
            yield f"a step that waits for {when.event}, which no run of Trunkline records"
        if when.question is not None:
            yield "a step that waits for what is about a question: only attached gateways are given marks"
    fault, rotate = step.fault, step.rotate
    if fault is not None and fault.question is not None:
        yield "a fault of what is about a question: only attached gateways are given marks"
    if fault is not None and fault.on == "model":
        yield f"a fault {fault.on}/{fault.do}: there is no model on a wire"
    if fault is not None and (fault.on, fault.do) == ("connect", "refuse-connection"):
        yield f"a fault {fault.on}/{fault.do}: there is no socket to close"
    if rotate is not None and rotate.revoke:
        yield "a token that is revoked for good: Trunkline is given the newest at each start"
