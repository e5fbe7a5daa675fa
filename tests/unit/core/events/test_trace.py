"""The file format of a run: what is written is read back, and what cannot be read names its line."""

import json
import types
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from tests.support.for_each import for_each
from trunkline.core.events import (
    BODIES,
    TRACE_VERSION,
    Body,
    Event,
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
from trunkline.core.events.base import RunEnded
from trunkline.sim.events.script import FaultFired


def filled(kind: Any, name: str = "x") -> Any:
    """A value of a type in which nothing is left at its default: for whatever type a body may have."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple and Ellipsis not in arguments:
        return tuple(filled(argument, name) for argument in arguments)
    if origin is tuple:
        return (filled(arguments[0], name), filled(arguments[0], name + "2"))
    if origin is Literal:
        return arguments[-1]
    if origin is dict:
        return {filled(arguments[0], name): filled(arguments[1], name)}
    if origin in (Union, types.UnionType):
        return filled(next(argument for argument in arguments if argument is not type(None)), name)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind)
        values = {field: filled(hints[field], field) for field in kind.__struct_fields__}
        on = {field.name for field in msgspec.structs.fields(kind) if field.default is True}
        return kind(**{name: False if name in on else value for name, value in values.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)[-1]
    plain = {str: f'{name} "ä\n\u2028😀', int: 7, float: 0.125, bool: True}
    return plain[kind]


def bare(kind: type[Body]) -> Body:
    """A body of which only the needed fields are given."""
    hints = get_type_hints(kind)
    needed = [field.name for field in msgspec.structs.fields(kind) if field.required]
    return kind(**{name: None if type(None) in get_args(hints[name]) else filled(hints[name]) for name in needed})


def trace(*bodies: Body) -> Trace:
    """A whole trace: these bodies, then the end of the run."""
    all_bodies = [*bodies, RunEnded(at_rest=True)]
    events = [Event(seq=seq, at=seq / 2, node="sim", body=body) for seq, body in enumerate(all_bodies, 1)]
    return Trace(header=TraceHeader(scenario="test"), events=tuple(events))


def lines(*bodies: Body) -> list[bytes]:
    return encode_trace(trace(*bodies)).splitlines()


def refused(given: list[bytes], **options: Any) -> str:
    """The facts of the error that reading these lines gives."""
    with pytest.raises(TraceError) as refusal:
        parse_trace(given, name="run.jsonl", **options)
    return refusal.value.facts


FAULTS = [FaultFired(fault="one"), FaultFired(fault="two")]

# ---------------------------------------------------------------- bodies


@for_each("kind", BODIES)
def test_an_event_with_everything_is_read_back_the_same(kind: str) -> None:
    event = Event(
        seq=9,
        at=1.25,
        node="gateway",
        generation=2,
        cause=8,
        inbound="m1",
        turn="t",
        intent="i",
        delegation="d",
        binding="b",
        body=filled(BODIES[kind]),
    )
    assert decode_event(encode_event(event)) == event


@for_each("kind", BODIES)
def test_an_event_with_only_what_it_needs_is_read_back_the_same(kind: str) -> None:
    event = Event(seq=1, at=0.0, node="sim", body=bare(BODIES[kind]))
    assert decode_event(encode_event(event)) == event


@for_each("kind", BODIES)
def test_a_line_is_json_that_names_its_kind(kind: str) -> None:
    found = json.loads(encode_event(Event(seq=1, at=0.0, node="sim", body=filled(BODIES[kind]))))
    assert (found["seq"], found["kind"]) == (1, kind)
    assert set(found["body"]) == set(BODIES[kind].__struct_fields__)


def all_bodies(root: type[Body] = Body) -> set[type[Body]]:
    mine = [kind for kind in root.__subclasses__() if kind.__module__.startswith("trunkline.")]
    return {*(kind for kind in mine if kind.kind), *(found for kind in mine for found in all_bodies(kind))}


def test_every_body_is_known_by_a_kind_of_its_own_and_is_explained() -> None:
    assert set(BODIES.values()) == all_bodies()
    assert all(body.kind == kind for kind, body in BODIES.items())
    assert all((body.__doc__ or "").strip().endswith(".") for body in BODIES.values())


# ---------------------------------------------------------------- whole traces


def test_a_trace_is_read_back_the_same() -> None:
    header = msgspec.structs.replace(filled(TraceHeader), trunkline_trace=TRACE_VERSION)
    whole = Trace(header=header, events=trace(*FAULTS).events)
    assert parse_trace(encode_trace(whole).splitlines()) == whole


def test_the_same_trace_has_the_same_bytes() -> None:
    assert encode_trace(trace(*FAULTS)) == encode_trace(trace(*FAULTS))


def test_the_first_line_always_says_the_version() -> None:
    assert json.loads(lines()[0])["trunkline_trace"] == TRACE_VERSION


def test_a_newer_version_is_refused_with_the_way_out() -> None:
    header = b'{"trunkline_trace": 2, "scenario": "x", "unheard_of": []}'
    expected = "version 2 is newer than 1, the newest this Trunkline reads: upgrade Trunkline"
    assert refused([header]) == f"run.jsonl:1: {expected}"


@for_each(
    ("header", "says"),
    [
        (b"", "the first line is not JSON, so this is not a trace"),
        (b"\xff\xfe", "the first line is not JSON, so this is not a trace"),
        (b"[1]", "the first line has no 'trunkline_trace', so this is not a trace"),
        (b'{"scenario": "x"}', "the first line has no 'trunkline_trace', so this is not a trace"),
        (b'{"trunkline_trace": "1"}', "the first line has no 'trunkline_trace', so this is not a trace"),
        (b'{"trunkline_trace": 1}', "unusable header (Object missing required field `scenario`)"),
        (b'{"trunkline_trace": 1, "scenario": 3}', "unusable header (Expected `str`, got `int`"),
    ],
)
def test_a_first_line_that_is_no_header_is_refused(header: bytes, says: str) -> None:
    assert refused([header, *lines()[1:]]).startswith(f"run.jsonl:1: {says}")


def test_an_empty_file_is_refused() -> None:
    assert refused([]) == "run.jsonl:1: the file is empty"


def test_a_file_that_was_cut_between_lines_is_refused() -> None:
    says = "the trace ends before 'run.ended': the file was cut; copy or record it again"
    assert refused(lines(*FAULTS)[:-1]) == f"run.jsonl:3: {says}"
    assert refused(lines()[:1]) == f"run.jsonl:1: {says}"


def test_a_file_that_was_cut_between_lines_may_be_read_as_far_as_it_goes() -> None:
    events = parse_trace(lines(*FAULTS)[:-1], whole=False).events
    assert [event.body for event in events] == FAULTS


def test_a_file_that_was_cut_inside_of_a_line_is_read_up_to_it_when_asked() -> None:
    whole = lines(*FAULTS)
    torn = [*whole[:2], whole[2][:-9]]
    assert refused(torn).startswith("run.jsonl:3: not an event line (")
    found = parse_trace(torn, name="run.jsonl", whole=False)
    assert [event.body for event in found.events] == FAULTS[:1]
    assert found.cut.startswith("run.jsonl:3: not an event line (")


def test_what_follows_a_line_that_cannot_be_read_is_not_shown() -> None:
    whole = lines(*FAULTS)
    whole[2] = b"\x00" * 64
    found = parse_trace(whole, whole=False)
    assert (len(found.events), "3: not an event line" in found.cut) == (1, True)


def test_a_whole_trace_is_never_called_cut() -> None:
    assert parse_trace(lines(*FAULTS), whole=False).cut == ""


def test_a_file_without_a_header_shows_nothing_even_when_asked() -> None:
    assert refused([b"{", *lines()[1:]], whole=False).startswith("run.jsonl:1: the first line is not JSON")


def test_an_event_has_its_cause_before_it() -> None:
    for cause in (2, 3, 0, -1, 2**63):
        line = b'{"seq":2,"at":1,"node":"sim","kind":"fault.fired","cause":%d,"body":{"fault":"x"}}' % cause
        says = f"event 2 names event {cause} as its cause, and a cause comes before"
        assert refused([*lines(*FAULTS)[:2], line]) == f"run.jsonl:3: {says}"


def test_nothing_but_blank_lines_follows_the_end_of_a_run() -> None:
    whole = lines(*FAULTS)
    assert parse_trace([*whole, b"", b"  "]).events == trace(*FAULTS).events
    assert refused([*whole, whole[0]]).startswith("run.jsonl:5: something follows 'run.ended'")
    assert refused([whole[0], b"", *whole[1:]]) == "run.jsonl:2: not an event line (it is blank)"


NESTED = b"[" * 100_000


@for_each(
    "line",
    [
        b'{"seq":1,"at":0,"node":"sim","kind":"fault.fired","body":{"fault":"\xff"}}',
        b'{"seq":1,"at":0,"node":"sim\xff","kind":"fault.fired","body":{"fault":"x"}}',
        b'{"seq":1,"at":0,"node":"sim","kind":"fault.fired","body":{"fault":' + NESTED,
        b'{"seq":1,"at":0,"node":"sim","kind":"fault.fired","extra":' + NESTED,
        b'{"seq":1,"at":NaN,"node":"sim","kind":"fault.fired","body":{"fault":"x"}}',
        b'{"seq":1,"at":1e999,"node":"sim","kind":"fault.fired","body":{"fault":"x"}}',
        b'{"seq":1e40,"at":0,"node":"sim","kind":"fault.fired","body":{"fault":"x"}}',
    ],
)
def test_whatever_is_wrong_inside_of_a_line_is_an_error_of_ours(line: bytes) -> None:
    with pytest.raises(TraceError):
        decode_event(line)
    assert refused([lines()[0], line]).startswith("run.jsonl:2: ")


def test_a_header_that_is_nested_without_end_is_an_error_of_ours() -> None:
    header = b'{"trunkline_trace":1,"scenario":' + NESTED
    assert refused([header]).startswith("run.jsonl:1: the first line is not JSON")


def test_a_missing_line_is_refused() -> None:
    whole = lines(*FAULTS)
    del whole[2]
    assert refused(whole) == "run.jsonl:3: event 3 follows event 1: lines are missing"


def test_a_line_that_comes_twice_is_refused() -> None:
    whole = lines(*FAULTS)
    whole.insert(2, whole[1])
    assert refused(whole) == "run.jsonl:3: event 1 follows event 1: lines are missing"


@for_each(
    ("line", "says"),
    [
        (b"", "not an event line ("),
        (b"not json", "not an event line ("),
        (b"\xff", "not an event line ("),
        (b"[]", "not an event line ("),
        (b'{"seq":1,"at":0,"node":"sim","kind":"fault.fired"}', "not an event line ("),
        (
            b'{"seq":1,"at":0,"node":"sim","kind":"no.such","body":{}}',
            "unknown event kind 'no.such': written by another version of Trunkline?",
        ),
        (
            b'{"seq":1,"at":0,"node":"sim","kind":"fault.fired","body":{"detail":"x"}}',
            "event 1 of kind 'fault.fired' does not fit (Object missing required field `fault`)",
        ),
        (
            b'{"seq":1,"at":0,"node":"sim","kind":"fault.fired","body":[]}',
            "event 1 of kind 'fault.fired' does not fit (Expected `object`, got `array`)",
        ),
    ],
)
def test_a_corrupt_line_is_named(line: bytes, says: str) -> None:
    assert refused([lines()[0], line]).startswith(f"run.jsonl:2: {says}")


# ---------------------------------------------------------------- files


def test_a_file_is_read_back_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_trace(path, trace(*FAULTS))
    assert read_trace(path) == trace(*FAULTS)
    assert path.read_bytes() == encode_trace(trace(*FAULTS))
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_file_with_the_line_ends_of_windows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(encode_trace(trace(*FAULTS)).replace(b"\n", b"\r\n"))
    assert read_trace(path) == trace(*FAULTS)


def test_an_error_in_a_file_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n".join(lines(*FAULTS)[:-1]))
    with pytest.raises(TraceError, match=r"run\.jsonl:3: the trace ends before 'run\.ended'"):
        read_trace(path)
    assert len(read_trace(path, whole=False).events) == 2


def test_a_file_that_is_not_there_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"none\.jsonl: No such file or directory"):
        read_trace(tmp_path / "none.jsonl")


def test_writing_replaces_an_older_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("old")
    write_trace(path, trace())
    assert read_trace(path) == trace()


def test_writing_into_a_folder_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file or directory"):
        write_trace(tmp_path / "none" / "run.jsonl", trace())
    assert list(tmp_path.iterdir()) == []


def test_writing_under_a_file_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(TraceError, match="Not a directory"):
        write_trace(tmp_path / "file" / "run.jsonl", trace())
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("file", "old")]


def test_writing_over_a_folder_leaves_it_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").mkdir()
    with pytest.raises(TraceError, match="Is a directory"):
        write_trace(tmp_path / "run.jsonl", trace())
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_write_that_breaks_off_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("old")
    write_bytes = Path.write_bytes

    def break_off(self: Path, data: bytes) -> int:
        write_bytes(self, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", break_off)
    with pytest.raises(TraceError, match=r"run\.jsonl: No space left on device"):
        write_trace(path, trace(*FAULTS))
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("run.jsonl", "old")]
