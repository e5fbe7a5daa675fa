"""The verdict on the wire costs about as much for each event of a long run as for one of a short run.

Counted in calls of functions, which a busy machine does not change.
"""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from tests.support.wire_story import BEN, DEPLOY, WireStory
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim.invariants import judge

SHORT, LONG = 300, 1_200
#: four times the events may cost so much more
MOST = 4.8
_LONG_WORDS = "All answers begin with these words, whatever was asked, and people have them in a message of its own. "


def _answered(story: WireStory, mark: str, place: Address) -> None:
    story.answered(mark, place)


def _lost(story: WireStory, mark: str, place: Address) -> None:
    story.ask(mark, place)


def _in_parts(story: WireStory, mark: str, place: Address) -> None:
    story.ask(mark, place)
    own = f"And this is the part that only the answer to {mark} has, which is long enough to be known. "
    said = story.turn(mark, text=_LONG_WORDS + own + "The end.")
    for text in (_LONG_WORDS, own, said[len(_LONG_WORDS) + len(own) :]):
        story.send(text, place)


def _notified(story: WireStory, mark: str, place: Address) -> None:
    story.ask(mark, place)
    story.send(f"Sorry, {mark} failed.", place)


def _told_to_wait(story: WireStory, mark: str, place: Address) -> None:
    story.ask(mark, place)
    said = story.turn(mark)
    story.refuse(said, place, Reason.RATE_LIMITED, retry_after=2.0)
    story.now += 3.0
    story.send(said, place)


def _killed(story: WireStory, mark: str, place: Address) -> None:
    story.ask(mark, place)
    story.turn(mark)
    story.crash()
    story.send(story.turn(mark), place)


def _asked_again(story: WireStory, mark: str, place: Address) -> None:
    story.ask(mark, place)
    story.answered(f"again{mark}", place)


def _overtaken(story: WireStory, mark: str, place: Address) -> None:
    story.ask(f"{mark}a", place)
    story.ask(f"{mark}b", place)
    later, earlier = story.turn(f"{mark}b"), story.turn(f"{mark}a")
    story.send(later, place)
    story.send(earlier, place)


KINDS = (_answered, _lost, _in_parts, _notified, _told_to_wait, _killed, _asked_again, _overtaken)


def _calls(call: Callable[[], object]) -> int:
    """How many functions are called, and return."""
    count = 0

    def tick(_frame: FrameType, _event: str, _arg: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(tick)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def _cost(kind: Callable[[WireStory, str, Address], None], events: int) -> int:
    story, number = WireStory(), 0
    while len(story.events) < events:
        number += 1
        kind(story, f"q{number}", (BEN, DEPLOY)[number % 2])
    trace = story.end().trace
    return _calls(lambda: judge(trace.events))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.removeprefix("_"))
def test_four_times_the_events_cost_about_four_times_as_much(kind: Callable[[WireStory, str, Address], None]) -> None:
    assert _cost(kind, LONG) <= MOST * _cost(kind, SHORT)
