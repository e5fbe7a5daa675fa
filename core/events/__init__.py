"""Events: what happened, in order, and the file format that keeps it."""

from core.events.bodies import BODIES, Body
from core.events.log import Event, EventLog, EventSink, Recorder
from core.events.recording import Recording
from core.events.trace import (
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

__all__ = [
    "BODIES",
    "TRACE_VERSION",
    "Body",
    "Event",
    "EventLog",
    "EventSink",
    "Recorder",
    "Recording",
    "Trace",
    "TraceError",
    "TraceHeader",
    "decode_event",
    "encode_event",
    "encode_trace",
    "parse_trace",
    "read_trace",
    "write_trace",
]
