"""What the tests of world share."""

from typing import Any

from trunkline.sim import Status
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import WorldPlace

ECHO = 'cast: {agents: {main: [{do: [{reply: "re: {text}"}]}]}}\n'


def bodies(result, kind) -> list[Any]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def values_of(result, kind: str, field: str) -> list[Any]:
    return [getattr(event.body, field) for event in result.trace.events if event.kind == kind]


def texts(result):
    return [body.text for body in bodies(result, WireAccepted)]


def broken(result):
    return [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED]


def seen(result):
    """What people see, and where."""
    names = {body.address.lane: body.name for body in bodies(result, WorldPlace)}
    return [(names[body.address.lane], body.text) for body in bodies(result, WireAccepted)]
