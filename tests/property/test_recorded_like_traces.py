"""The same run, as a trace of the wire side and as the prototype would have recorded it, gets the same verdicts."""

from collections.abc import Iterable

import msgspec
from hypothesis import given, settings

from tests.support.attach.as_recorded import as_recorded
from tests.support.attach.recorded.recorded_wire import read_recorded_wire
from tests.support.property.wire_exchanges import MORE, Step, interleaved, played
from tests.support.scale import scaled
from trunkline.core.events import Event, Trace
from trunkline.sim import judge
from trunkline.sim.attach.profile_files import load_profile, profile_path
from trunkline.sim.events.attach import GatewayAttached

#: how long a platform asks to wait, and private words, were not recorded
NOT_RECORDED = ("X7", "X8")
TOY = load_profile(profile_path("toy"))


def found(events: Iterable[Event]) -> dict[str, tuple[str, int]]:
    """Status and number of violations of what can be judged of both."""
    verdicts = (verdict for verdict in judge(events) if verdict.id.startswith("X"))
    return {
        verdict.id: (verdict.status.value, len(verdict.violations))
        for verdict in verdicts
        if verdict.id not in NOT_RECORDED
    }


def of_toy(trace: Trace) -> Trace:
    """The trace of a story, with the known texts of the toy, which a recording has by its profile."""
    first, *rest = trace.events
    attached = GatewayAttached(gateway="toy", notices=TOY.notices, remarks=TOY.remarks)
    return msgspec.structs.replace(trace, events=(msgspec.structs.replace(first, body=attached), *rest))


@settings(max_examples=scaled(300, 60), deadline=None)
@given(interleaved(MORE))
def test_a_recording_is_judged_as_the_trace_of_the_same_run(stories: tuple[list[Step], list[Step], list[Step]]):
    trace = of_toy(played(stories[2]).trace)
    recorded = read_recorded_wire(as_recorded(trace))
    assert recorded.header.gateway == "toy"
    assert found(recorded.events) == found(trace.events)
