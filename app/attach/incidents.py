"""What the gateway of a try did by itself: it ended, or wanted to reach an address that is not part of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trunkline.core.events import Event
from trunkline.sim.events.attach import GatewayExited, GatewayReachedOut, left_behind

#: incidents of a try that are named
_MOST = 10


def incidents_of(events: Iterable[Event], gateway: str) -> tuple[str, ...]:
    """The incidents of a run, a text of one or more lines each. What the gateway wrote is in them as it wrote it."""
    found = tuple(dict.fromkeys(text for event in events for text in _of(event, gateway)))
    more = len(found) - _MOST
    return found if more <= 0 else (*found[:_MOST], f"{gateway}: {more} more such events are in the trace")


def _of(event: Event, gateway: str) -> Iterator[str]:
    body = event.body
    if isinstance(body, GatewayExited):
        how = f"by the signal {-body.code}" if body.code < 0 else f"with the code {body.code}"
        end = "; the end of its log:" if body.log else ""
        left = left_behind(body.code, body.left)
        yield "\n".join([f"{gateway} ended by itself {how}, {event.at:.1f} s into the run{left}{end}", *body.log])
    elif isinstance(body, GatewayReachedOut):
        whom = body.name or (f"[{body.address}]" if ":" in body.address else body.address) + f":{body.port}"
        what = "and was stopped" if body.stopped else "and nothing stopped it"
        yield f"{gateway} wanted to reach {whom}, which is not part of the run, {what}"
