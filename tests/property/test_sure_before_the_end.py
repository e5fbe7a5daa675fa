"""What the judge of a wire is sure of while a run goes on is what it says at the end, whatever happens in between."""

from collections.abc import Callable, Sequence

from hypothesis import given, settings

from tests.support.property.wire_exchanges import MORE, Step, WireExchange, interleaved, played
from tests.support.scale import scaled
from tests.support.wire_story import ANA, BEN, WireStory
from trunkline.core.events import Event
from trunkline.sim.invariants import CHECKERS, Judge, Verdict, Violation


def grown(events: Sequence[Event], see: Callable[[Sequence[Verdict]], object]) -> None:
    """Judge a run while it grows."""
    judging = Judge(CHECKERS)
    for event in events:
        judging.see(event)
        see(judging.verdicts())


def test_what_is_found_early_is_what_the_end_begins_with():
    counts: list[int] = []

    @settings(max_examples=scaled(400, 80), deadline=None)
    @given(interleaved(MORE))
    def check(stories: tuple[list[Step], list[Step], list[Step]]) -> None:
        story = played(stories[2])
        at_the_end = {verdict.id: verdict.violations for verdict in story.verdicts}
        before: dict[str, tuple[Violation, ...]] = {}

        def begins(verdicts: Sequence[Verdict]) -> None:
            for verdict in verdicts:
                found, seen = verdict.violations, before.get(verdict.id, ())
                assert seen == found[: len(seen)] and found == at_the_end[verdict.id][: len(found)]
                before[verdict.id] = found

        grown(story.events, begins)
        counts.append(sum(map(len, before.values())))

    check()
    assert any(counts)


def first_seen(story: WireStory, name: str) -> float | None:
    """When a violation was reported first, if it was before the end."""
    seen: list[float] = []
    judging = Judge(CHECKERS)
    for event in story.events:
        judging.see(event)
        if any(violation.invariant == name for violation in judging.violations()):
            seen.append(event.at)
    return seen[0] if seen else None


def story_of(how: str) -> WireStory:
    """A question and what becomes of it, another conversation after it, and the end."""
    story, left = WireStory(), dict[str, str]()
    for step in WireExchange("a1", ANA, BEN).steps(how):
        step(story, left)
    for mark in ("b1", "b2"):
        story.answered(mark, BEN)
    return story.end()


def test_a_second_answer_is_reported_once_it_is_no_draft():
    story = story_of("twice")
    second = [event.at for event in story.events if event.kind == "wire.accepted"][1]
    reported = first_seen(story, "X1")
    assert reported is not None and 2.0 < reported - second < 5.0 < story.events[-1].at - second
    assert story.broken == ["X1"]


def test_a_draft_beside_its_answer_is_not_reported():
    assert first_seen(story_of("draft replaced"), "X1") is None
    assert first_seen(story_of("draft left"), "X1") is not None


def test_a_second_turn_is_reported_when_the_model_is_asked():
    story = story_of("two turns")
    again = [event.at for event in story.events if event.kind == "model.asked"][1]
    assert first_seen(story, "X5") == again
