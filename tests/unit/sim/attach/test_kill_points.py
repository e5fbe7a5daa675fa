"""The points at which a gateway is killed: their names, and the events of a run that they are."""

import pytest

from tests.support.wire_story import WireStory
from trunkline.core.errors import UsageError
from trunkline.sim.attach.kill_points import KillPoint, finds, kill_points, named_kill_point


@pytest.mark.parametrize(
    "point",
    [
        KillPoint(event="wire.accepted", question="m1"),
        KillPoint(event="wire.called", question="", nth=3),
        KillPoint(event="model.answered", question="twox2", nth=12, delay=0.02),
    ],
)
def test_a_point_is_found_by_its_name(point: KillPoint):
    assert named_kill_point(point.slug) == point


@pytest.mark.parametrize("name", ["", "wire.accepted", "wire.seen-m1-1", "wire.accepted-m1-0", "wire.accepted-m1-x"])
def test_what_is_no_point_is_refused_with_an_example(name: str):
    with pytest.raises(UsageError, match=r"such as wire\.accepted-m1-1"):
        named_kill_point(name)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (KillPoint(event="wire.accepted", question="m1"), "wire.accepted of m1"),
        (KillPoint(event="wire.called", nth=2), "wire.called of no question, number 2"),
        (KillPoint(event="model.answered", question="m1", delay=0.02), "model.answered of m1, 20 ms later"),
    ],
)
def test_a_point_in_words(point: KillPoint, words: str):
    assert str(point) == words


def a_run() -> WireStory:
    """A run with something before it is ready, two questions in one message and one turn, a title and a notice."""
    story = WireStory(begun=False)
    story.send("Hello!")
    story.start()
    story.ask("a1", text="first QZa0")
    story.call("", what="")
    text = story.turn("a1")
    story.prompt("a1", beside=True)
    story.send(text)
    story.send(text)
    story.send("⚠️ I was restarted.")
    return story


def test_the_points_of_a_run_are_named_by_their_questions():
    assert [point.slug for point in kill_points(a_run().events)] == [
        "platform.pushed-a0-1",
        "model.asked-a1-1",
        "model.answered-a1-1",
        "wire.called-a1-1",
        "wire.accepted-a1-1",
        "wire.responded-a1-1",
        "wire.called-a1-2",
        "wire.accepted-a1-2",
        "wire.responded-a1-2",
        "wire.called-none-1",
        "wire.accepted-none-1",
        "wire.responded-none-1",
    ]


def test_each_point_is_found_once_and_where_it_was():
    events = a_run().events
    for point in kill_points(events):
        see = finds(point)
        hits = [event for event in events if see(event)]
        assert [event.kind for event in hits] == [point.event], point


def test_a_point_that_a_run_does_not_have_is_not_found():
    see = finds(KillPoint(event="wire.accepted", question="a1", nth=3))
    assert not any(see(event) for event in a_run().events)
