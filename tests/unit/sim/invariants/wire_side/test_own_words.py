"""Gateways that ask no model: the mark of a question in a text makes the text its answer."""

from tests.support.wire_story import ANA, BEN, DEPLOY, OPS, WireStory
from trunkline.sim.attach.expectations import why_unjudged
from trunkline.sim.invariants import Status, judge


def broken(story: WireStory) -> list[str]:
    story.end()
    return [verdict.id for verdict in judge(story.events) if verdict.status is Status.VIOLATED]


def test_an_echo_is_an_answer() -> None:
    story = WireStory()
    story.ask("one")
    story.send("You said: hello QZone")
    assert broken(story) == []
    assert next(verdict for verdict in judge(story.events) if verdict.id == "X1").status is Status.OK


def test_an_echo_twice_is_two_answers_and_two_texts_about_a_question_are_not() -> None:
    story = WireStory()
    story.ask("one")
    for _ in range(2):
        story.send("You said: hello QZone")
        story.now += 5
    assert broken(story) == ["X1"]
    story = WireStory()
    story.ask("one")
    for text in ("Ticket 7 is open: hello QZone", "Somebody looks at it: hello QZone"):
        story.send(text)
        story.now += 5
    assert broken(story) == []


def test_an_echo_elsewhere_is_in_the_wrong_place() -> None:
    story = WireStory()
    story.ask("one", DEPLOY)
    story.send("You said: hello QZone", OPS)
    assert broken(story) == ["X2"]


def test_one_that_echoes_one_of_two_loses_the_other() -> None:
    story = WireStory()
    story.ask("one")
    story.send("You said: hello QZone")
    story.ask("two", BEN)
    assert broken(story) == ["X4"]
    found = [found for verdict in judge(story.events) for found in verdict.violations]
    assert "model" not in found[0].summary


def test_its_own_texts_without_a_mark_are_unasked_only_where_nobody_has_asked() -> None:
    for place, verdict in ((ANA, []), (BEN, ["X6"])):
        story = WireStory()
        story.ask("one")
        story.send("You said: hello QZone")
        story.send("Anything else?", place)
        assert broken(story) == verdict


def test_one_that_quotes_its_question_to_a_model_is_judged_by_the_answer_of_the_model() -> None:
    story = WireStory()
    story.ask("one")
    story.send("I look into: hello QZone")
    story.now += 5
    story.send(story.turn("one"))
    assert "X1" not in broken(story)


def test_nothing_is_judged_of_one_that_shows_no_mark() -> None:
    story = WireStory()
    story.ask("one")
    story.send("Welcome!")
    story.end()
    assert "never asked the model" in why_unjudged(story.events)


def test_what_kept_it_from_its_model_is_no_reason_to_judge_nothing() -> None:
    story = WireStory()
    story.ask("one")
    story.crash()
    story.end()
    assert why_unjudged(story.events) == ""
    story = WireStory()
    story.answered("one")
    story.ask("two")
    assert broken(story) == ["X4"]
    assert why_unjudged(story.events) == ""


def test_while_it_is_followed_nobody_is_accused_of_what_only_the_whole_shows() -> None:
    story = WireStory()
    story.ask("one")
    story.send("You said: hello QZone")
    story.end()
    assert story.broken == []
