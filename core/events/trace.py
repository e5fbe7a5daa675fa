"""The file format of a run: JSON lines, a header first, then an event a line.

Header: ``{"trunkline_trace": 1, "scenario": ..., "title": ..., "seed": ..., "bugs": [...], ...}``. A whole trace ends
with ``run.ended``; a file without it was cut. Same scenario and seed give the same bytes.
"""

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec

from trunkline.core.errors import UsageError
from trunkline.core.events import BODIES, Body
from trunkline.core.events.base import RunEnded
from trunkline.core.events.log import Event

#: version of the format that this code writes, and the newest that it reads
TRACE_VERSION = 1


class TraceError(UsageError):
    """Unreadable trace."""


class TraceHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """First line of a trace: what was run."""

    trunkline_trace: int = TRACE_VERSION
    #: id of the scenario, usually its file name without the ending
    scenario: str
    title: str = ""
    #: path of the scenario file as it was given, for the command that reproduces the run
    path: str = ""
    source: str = ""
    seed: int = 0
    bugs: tuple[str, ...] = ()
    #: where the process was ended in addition to the script, in order: ``kill commit:17``, ``stop step:40``
    crashes: tuple[str, ...] = ()
    #: steps added to the script of the file, in order, each as a line of a scenario file
    steps: tuple[str, ...] = ()
    #: modules of plug-ins that were named for the run
    plugins: tuple[str, ...] = ()
    #: recorded from a gateway that runs: there is no seed, and no command repeats it
    of_gateway: bool = False
    #: the platforms were servers on loopback, and the adapters real ones: another run need not give the same trace
    on_wire: bool = False
    #: ``wire``: only the wire of a gateway is known, and nothing of its inside; empty: both
    side: str = ""
    #: the gateway of which it is the wire, with its version: ``hermes 0.19.0``
    gateway: str = ""

    @property
    def seeded(self) -> bool:
        """Whether a seed is part of the run. A real gateway has none."""
        return not self.of_gateway and not self.side


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """A header and the events, in order of seq."""

    header: TraceHeader
    events: tuple[Event, ...]
    #: for a truncated file: where and why it ends early
    cut: str = ""


class _Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    seq: int
    at: float
    node: str
    kind: str
    generation: int = 0
    cause: int | None = None
    inbound: str | None = None
    turn: str | None = None
    intent: str | None = None
    delegation: str | None = None
    binding: str | None = None
    body: Any


class _RawLine(_Line, kw_only=True, omit_defaults=True):
    body: msgspec.Raw  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]


#: errors of the decoder, including its nesting limit and text that is no UTF-8
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_encode = msgspec.json.Encoder().encode
_decode_line = msgspec.json.Decoder(_RawLine).decode
_decoders: dict[str, msgspec.json.Decoder[Body]] = {}


def encode_header(header: TraceHeader) -> bytes:
    """The first line of a trace, without the line end. The version is always written."""
    return _encode({"trunkline_trace": TRACE_VERSION, **msgspec.to_builtins(header)})


def encode_event(event: Event) -> bytes:
    """A line of a trace, without the line end."""
    return _encode(
        _Line(
            seq=event.seq,
            at=event.at,
            node=event.node,
            kind=event.body.kind,
            generation=event.generation,
            cause=event.cause,
            inbound=event.inbound,
            turn=event.turn,
            intent=event.intent,
            delegation=event.delegation,
            binding=event.binding,
            body=event.body,
        )
    )


def encode_trace(trace: Trace) -> bytes:
    """The whole file."""
    lines = [encode_header(trace.header), *(encode_event(event) for event in trace.events)]
    return b"\n".join(lines) + b"\n"


def decode_event(line: bytes) -> Event:
    """Read a line. Raises `TraceError` with the fault."""
    try:
        raw = _decode_line(line)
    except _UNREADABLE as error:
        raise TraceError(f"not an event line ({error if line.strip() else 'it is blank'})") from error
    decoder = _decoders.get(raw.kind) or _decoder_of(raw.kind)
    try:
        body = decoder.decode(raw.body)
    except _UNREADABLE as error:
        raise TraceError(f"event {raw.seq} of kind {raw.kind!r} does not fit ({error})") from error
    return Event(
        seq=raw.seq,
        at=raw.at,
        node=raw.node,
        generation=raw.generation,
        cause=raw.cause,
        inbound=raw.inbound,
        turn=raw.turn,
        intent=raw.intent,
        delegation=raw.delegation,
        binding=raw.binding,
        body=body,
    )


def _decoder_of(kind: str) -> msgspec.json.Decoder[Body]:
    """Create the decoder of a kind for the first event."""
    body = BODIES.get(kind)
    if body is None:
        raise TraceError(f"unknown event kind {kind!r}: written by another version of Trunkline?")
    made: msgspec.json.Decoder[Body] = msgspec.json.Decoder(body)
    _decoders[kind] = made
    return made


def decode_header(line: bytes) -> TraceHeader:
    """Read the first line. Raises `TraceError` for anything but a header, and for a newer version."""
    try:
        found = msgspec.json.decode(line)
    except _UNREADABLE as error:
        raise TraceError(f"the first line is not JSON, so this is not a trace ({error})") from error
    version = cast("dict[str, object]", found).get("trunkline_trace") if isinstance(found, dict) else None
    if not isinstance(version, int):
        raise TraceError("the first line has no 'trunkline_trace', so this is not a trace")
    if version > TRACE_VERSION:
        raise TraceError(
            f"version {version} is newer than {TRACE_VERSION}, the newest this Trunkline reads: upgrade Trunkline"
        )
    try:
        return msgspec.convert(found, TraceHeader)
    except msgspec.ValidationError as error:
        raise TraceError(f"unusable header ({error})") from error


def parse_trace(lines: Iterable[bytes], *, name: str = "trace", whole: bool = True) -> Trace:
    """Read a trace from lines. Raises `TraceError` naming the line.

    With `whole`, a trace that does not end in ``run.ended`` is an error (it was cut). Without it, a trace is read up to
    the first line that cannot be, and `Trace.cut` gives that place; only the header is required.
    """
    header: TraceHeader | None = None
    events: list[Event] = []
    number = 0
    for number, line in enumerate(lines, 1):
        try:
            if header is None:
                header = decode_header(line)
            elif event := _next(line, events):
                events.append(event)
        except TraceError as error:
            problem = f"{name}:{number}: {error.facts}"
            if whole or header is None:
                raise TraceError(problem) from error
            return Trace(header=header, events=tuple(events), cut=problem)
    if header is None:
        raise TraceError(f"{name}:1: the file is empty")
    if events and type(events[-1].body) is RunEnded:
        return Trace(header=header, events=tuple(events))
    problem = f"{name}:{number}: the trace ends before 'run.ended': the file was cut"
    if whole:
        raise TraceError(f"{problem}; copy or record it again")
    return Trace(header=header, events=tuple(events), cut=problem)


def _next(line: bytes, events: list[Event]) -> Event | None:
    """The next event, from a line; none for a blank line at the end of the file."""
    if events and type(events[-1].body) is RunEnded:
        if not line.strip():
            return None
        raise TraceError("something follows 'run.ended', which is the last event of a run: two runs in one file?")
    event = decode_event(line)
    if event.seq != len(events) + 1:
        raise TraceError(f"event {event.seq} follows event {len(events)}: lines are missing")
    if event.at < 0:
        raise TraceError(f"event {event.seq} has the time {event.at:g}, which is before the clock began")
    if event.cause is not None and not 0 < event.cause < event.seq:
        raise TraceError(f"event {event.seq} names event {event.cause} as its cause, and a cause comes before")
    return event


def read_trace(path: Path, *, whole: bool = True) -> Trace:
    """Read a trace file. Raises `TraceError` naming file and line."""
    try:
        with path.open("rb") as file:
            return parse_trace((line.rstrip(b"\r\n") for line in file), name=str(path), whole=whole)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error


def first_step_back(trace: Trace) -> tuple[Event, Event] | None:
    """The first event with an earlier time than the event before, and the latter.

    A gateway's trace has such a place where somebody set the clock; every other trace was edited.
    """
    return next(((before, event) for before, event in pairwise(trace.events) if event.at < before.at), None)


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace file whole or not at all. Raises `TraceError` when the place cannot be written."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(encode_trace(trace))
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise TraceError(f"{path}: {error.strerror or error}") from error
