"""The event log: one order for everybody who looks, whoever appends."""

import threading

import pytest

from trunkline.core.events import Body, Event, EventLog
from trunkline.core.events.gateway import ToolCalled
from trunkline.sim.events.script import FaultFired, RunPhase


def log_at(*times: float, **options: bool | int) -> EventLog:
    """A log whose clock shows these times, the last one for ever."""
    left = list(times or (0.0,))
    return EventLog(lambda: left.pop(0) if len(left) > 1 else left[0], **options)  # type: ignore[arg-type]


def fault(name: str = "f") -> Body:
    return FaultFired(fault=name)


def names(events: list[Event]) -> list[str]:
    return [event.body.fault for event in events if isinstance(event.body, FaultFired)]


def test_events_are_numbered_from_one_in_the_order_in_which_they_happen() -> None:
    log = log_at(0.5, 0.5, 2.0)
    recorder = log.recorder("sim")
    assert [recorder.record(fault(name)) for name in "abc"] == [1, 2, 3]
    assert [(event.seq, event.at) for event in log.events] == [(1, 0.5), (2, 0.5), (3, 2.0)]


def test_an_event_says_who_recorded_it_why_and_what_it_belongs_to() -> None:
    log = log_at(1.0)
    log.recorder("sim").record(fault())
    log.recorder("gateway", 3).record(
        fault("x"), 1, inbound="m1", turn="t-m1", intent="m1.reply", delegation="d1", binding="b1"
    )
    assert log.events[1] == Event(
        seq=2,
        at=1.0,
        node="gateway",
        generation=3,
        cause=1,
        inbound="m1",
        turn="t-m1",
        intent="m1.reply",
        delegation="d1",
        binding="b1",
        body=FaultFired(fault="x"),
    )
    assert log.events[1].kind == "fault.fired"


def test_times_are_kept_to_the_microsecond() -> None:
    log = log_at(0.1 + 0.2)
    log.recorder("sim").record(fault())
    assert log.events[0].at == 0.3


def test_the_numbers_of_an_earlier_process_are_continued() -> None:
    log = log_at(start=41)
    assert log.recorder("sim").record(fault()) == 42


def test_a_log_that_keeps_nothing_still_numbers_and_forwards() -> None:
    log = log_at(keep=False)
    seen: list[Event] = []
    log.subscribe(seen.append)
    log.recorder("sim").record(fault("a"))
    assert log.events == []
    assert names(seen) == ["a"]


def test_a_subscriber_sees_what_comes_after_it_subscribed_before_the_append_returns() -> None:
    log = log_at()
    recorder = log.recorder("sim")
    recorder.record(fault("before"))
    seen: list[Event] = []
    log.subscribe(seen.append)
    recorder.record(fault("after"))
    assert names(seen) == ["after"]


def test_a_subscriber_may_ask_for_some_bodies_only() -> None:
    log = log_at()
    seen: list[Event] = []
    log.subscribe(seen.append, RunPhase, ToolCalled)
    for body in (fault(), RunPhase(phase="healed"), ToolCalled(tool="x", detail="")):
        log.recorder("sim").record(body)
    assert [event.seq for event in seen] == [2, 3]


def test_every_subscriber_sees_an_event_before_any_sees_what_was_appended_meanwhile() -> None:
    log = log_at()
    recorder = log.recorder("sim")
    seen: list[tuple[str, str]] = []

    def first(event: Event) -> None:
        [name] = names([event])
        seen.append(("first", name))
        if len(name) < 3:
            recorder.record(fault(name + "l"), event.seq)
            recorder.record(fault(name + "rr"), event.seq)

    log.subscribe(first)
    log.subscribe(lambda event: seen.append(("second", names([event])[0])))
    recorder.record(fault("x"))
    order = names(log.events)
    assert order == ["x", "xl", "xrr", "xll", "xlrr"]
    assert seen == [(who, name) for name in order for who in ("first", "second")]


def test_a_subscriber_that_raises_is_heard_and_does_not_jam_the_log() -> None:
    log = log_at()
    seen: list[Event] = []

    def refuse(event: Event) -> None:
        if names([event]) == ["bad"]:
            raise ZeroDivisionError

    log.subscribe(refuse)
    log.subscribe(seen.append)
    with pytest.raises(ZeroDivisionError):
        log.recorder("sim").record(fault("bad"))
    log.recorder("sim").record(fault("good"))
    assert names(log.events) == ["bad", "good"]
    assert names(seen) == ["good"]


def test_two_threads_append_into_one_dense_order_that_subscribers_see() -> None:
    log = log_at()
    seen: list[int] = []
    returned: dict[str, list[int]] = {"a": [], "b": []}
    together = threading.Barrier(2)
    log.subscribe(lambda event: seen.append(event.seq))

    def append_many(name: str) -> None:
        recorder = log.recorder(name)
        together.wait(30)
        for _ in range(500):
            returned[name].append(recorder.record(fault(name)))

    threads = [threading.Thread(target=append_many, args=(name,)) for name in returned]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert seen == list(range(1, 1001))
    assert [event.seq for event in log.events] == seen
    for name, numbers in returned.items():
        assert numbers == [event.seq for event in log.events if event.node == name]
