"""What happens in one place changes no verdict on another, however the two interleave; and the judge is a function."""

import re
from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings

from tests.support.property.wire_exchanges import Step, interleaved, played
from tests.support.scale import scaled
from tests.support.wire_story import WireStory
from trunkline.sim import judge
from trunkline.sim.invariants import Verdict

_SECONDS = re.compile(r"\d+\.\d s")


def found(story: WireStory) -> Counter[tuple[str, str]]:
    """What is violated, without times."""
    return Counter((name, _SECONDS.sub("… s", one)) for name in story.broken for one in story.summaries(name))


def exercised(verdicts: Sequence[Verdict]) -> Counter[str]:
    return Counter({verdict.id: verdict.exercised for verdict in verdicts if verdict.id.startswith("X")})


@settings(max_examples=scaled(300, 60), deadline=None)
@given(interleaved())
def test_what_happens_elsewhere_changes_no_verdict(stories: tuple[list[Step], list[Step], list[Step]]):
    ours, theirs, both = (played(steps) for steps in stories)
    assert found(both) == found(ours) + found(theirs)
    assert exercised(both.verdicts) == exercised(ours.verdicts) + exercised(theirs.verdicts)


@settings(max_examples=scaled(100, 20), deadline=None)
@given(interleaved())
def test_the_same_events_get_the_same_verdicts(stories: tuple[list[Step], list[Step], list[Step]]):
    story = played(stories[2])
    assert judge(story.events) == judge(story.events) == story.verdicts
