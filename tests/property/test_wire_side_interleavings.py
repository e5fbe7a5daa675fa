"""What happens in one place changes no verdict on another, however the two interleave; and the judge is a function."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scale import scaled
from tests.support.wire_story import ANA, BEN, DEPLOY, NOTICE, OPS, ROLLBACK, WireStory
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim import judge
from trunkline.sim.invariants import Verdict

#: one thing that happens in a place; it may look up what earlier ones have left in the dictionary
Step = Callable[[WireStory, dict[str, str]], object]
_SECONDS = re.compile(r"\d+\.\d s")


def exchange(mark: str, place: Address, *, how: str) -> list[Step]:
    """A question and what becomes of it, step by step."""

    def ask(story: WireStory, _left: dict[str, str]) -> object:
        return story.ask(mark, place)

    def turn(story: WireStory, left: dict[str, str]) -> object:
        left[mark] = story.turn(mark)
        return left

    def send(story: WireStory, left: dict[str, str]) -> object:
        left[f"{mark} sent"] = story.send(left[mark], place)
        return left

    def delete(story: WireStory, left: dict[str, str]) -> object:
        story.delete(left[f"{mark} sent"])
        return left

    def refuse(story: WireStory, left: dict[str, str]) -> object:
        return story.refuse(left[mark], place, Reason.REFUSED)

    def say(text: str) -> Step:
        return lambda story, _left: story.send(text, place)

    return {
        "right": [ask, turn, send],
        "twice": [ask, turn, send, send],
        "two turns": [ask, turn, send, turn],
        "lost": [ask, turn],
        "taken away": [ask, turn, send, delete],
        "refused": [ask, turn, refuse, say(NOTICE)],
        "refused twice": [ask, turn, refuse, refuse, say(NOTICE)],
        "unasked": [ask, turn, send, say("I am back!")],
    }[how]


HOWS = ("right", "twice", "two turns", "lost", "taken away", "refused", "refused twice", "unasked")


@st.composite
def interleaved(draw: st.DrawFn) -> tuple[list[Step], list[Step], list[Step]]:
    """What happens in two places, each for itself, and both in one order."""
    first, second = draw(st.sampled_from([(ANA, BEN), (DEPLOY, ROLLBACK), (ANA, DEPLOY), (DEPLOY, OPS)]))
    hows = st.lists(st.sampled_from(HOWS), min_size=1, max_size=3)
    ours = [step for number, how in enumerate(draw(hows)) for step in exchange(f"a{number}", first, how=how)]
    theirs = [step for number, how in enumerate(draw(hows)) for step in exchange(f"b{number}", second, how=how)]
    order = draw(st.permutations([True] * len(ours) + [False] * len(theirs)))
    left, right = iter(ours), iter(theirs)
    return ours, theirs, [next(left) if one else next(right) for one in order]


def played(steps: Sequence[Step]) -> WireStory:
    story, left = WireStory(), dict[str, str]()
    for step in steps:
        step(story, left)
    return story.end()


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
