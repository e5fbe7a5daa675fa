"""A place that was bound many times costs the judge no more for each binding than one that was bound a few times.

Counted in lines that run, which a busy machine does not change.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from trunkline.core.events import Event, EventLog
from trunkline.core.events.bindings import BindingBound, BindingEnded
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind
from trunkline.sim.invariants import judge

PLACE = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-100", thread="11")
KEY = "main:subagent:worker"


def _story(bindings: int) -> list[Event]:
    """A place that is bound, and unbound again, so many times."""
    log = EventLog(lambda: 0.0)
    for number in range(bindings):
        bound = BindingBound(
            conversation=PLACE, session_key=KEY, target_kind="subagent", placement="current", by="operator"
        )
        ended = BindingEnded(conversation=PLACE, session_key=KEY, reason=Reason.UNBOUND, by="operator")
        for body in (bound, ended):
            log.recorder("gateway").record(body, binding=f"b{number}")
    return log.events


def _lines(call: Callable[[], object]) -> int:
    count = 0

    def trace(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def _cost(bindings: int) -> int:
    events = _story(bindings)
    return _lines(lambda: judge(events))


def test_a_binding_costs_the_same_however_many_a_place_had() -> None:
    assert _cost(400) <= 4.4 * _cost(100)
