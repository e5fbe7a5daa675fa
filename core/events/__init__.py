"""Events, the ordered log of events, and the trace file format."""

from trunkline.core.events import actions, adapters, bindings, delivery, gateway, hands, heartbeat, leases
from trunkline.core.events.base import BODIES, Body, RunEnded
from trunkline.core.events.log import Event, EventLog, EventSink, Recorder
from trunkline.core.events.trace import (
    TRACE_VERSION,
    Trace,
    TraceError,
    TraceHeader,
    decode_event,
    encode_event,
    encode_trace,
    parse_trace,
    read_trace,
    write_trace,
)
from trunkline.core.events.trace_writer import Recording

__all__ = ["BODIES", "TRACE_VERSION", "Body", "Event", "EventLog", "EventSink", "Recorder", "Recording", "RunEnded"]
__all__ += ["Trace", "TraceError", "TraceHeader", "actions", "adapters", "bindings", "decode_event", "delivery"]
__all__ += ["encode_event", "encode_trace", "gateway", "hands", "heartbeat", "leases", "parse_trace", "read_trace"]
__all__ += ["write_trace"]
