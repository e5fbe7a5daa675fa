"""Defects that the simulated gateway can be given: each replaces one part of it."""

import msgspec

from trunkline import Receipt, SendRequest
from trunkline.core.heartbeat.schedule import next_due
from trunkline.sim.plugins import AdapterWrapper, Bug, deciding, wrapping


class _Shouting(AdapterWrapper):
    async def send(self, request: SendRequest) -> Receipt:
        return await super().send(msgspec.structs.replace(request, text=request.text.upper()))


def _twice_as_often(phase: float, every: float, now: float) -> float:
    return next_due(phase, every / 2, now)


BUGS = [
    Bug(
        name="acme.shouts",
        sentence="Everything that the gateway sends is in capitals.",
        caught_by=("acme.Q1", "T2"),
        install=wrapping(_Shouting),
    ),
    Bug(
        name="acme.hurries",
        sentence="A heartbeat comes twice as often as it is configured.",
        caught_by=("acme.Q3",),
        install=deciding("next_heartbeat")(_twice_as_often),
    ),
]
