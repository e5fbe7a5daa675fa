"""X4: what was never handed out, how long is waited, what is said of a loss, and what is no notice."""

import pytest

from tests.support.wire_story import ANA, NOTICE, REMARK, WireStory
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import PlatformConfirmed

DISCORD = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="500")


@pytest.mark.parametrize(("place", "broken"), [(DISCORD, []), (ANA, ["X4"])], ids=["Discord", "Telegram"])
def test_what_was_said_while_nobody_was_connected_is_lost_where_platforms_keep_nothing(
    place: Address, broken: list[str]
):
    story = WireStory(begun=False)
    story.ask("a1", place, taken=False)
    story.start()
    assert story.end().broken == broken


@pytest.mark.parametrize("begun", [True, False])
def test_what_was_handed_out_has_come(begun: bool):
    story = WireStory(begun=begun)
    story.ask("a1", DISCORD)
    if not begun:
        story.start()
    assert story.end().broken == ["X4"]


def test_what_was_said_to_a_connected_gateway_has_to_come():
    story = WireStory()
    story.ask("a1", DISCORD, taken=False)
    assert story.end().broken == ["X4"]


def test_a_fault_on_another_way_of_a_message_that_came_excuses_nothing():
    story = WireStory()
    story.ask("a1")
    story.tell(FaultFired(fault="push/drop", detail="hello QZa1"))
    assert story.end().broken == ["X4"]


def test_each_question_is_judged_whatever_became_of_others():
    story = WireStory()
    story.ask("bot1", bot=True)
    story.ask("a1", taken=False)
    story.tell(FaultFired(fault="push/drop", detail="hello QZa1"))
    story.ask("a2")
    assert [text.split()[1] for text in story.end().summaries("X4")] == ["a2"]


def test_one_that_is_not_judged_yet_hides_no_other():
    story = WireStory()
    story.ask("a1")
    story.now += 30.0
    story.ask("a2")
    story.end(after=20.0, rest=False)
    assert story.summaries("X4") == [
        "question a1 of telegram/@ana is lost in silence: not within 45 s, and the model was never asked"
    ]
    assert story.verdict("X4").note.startswith("1 question is not judged")


@pytest.mark.parametrize(("waited", "broken"), [(44.9, []), (45.0, ["X4"])])
def test_patience_is_over_after_its_seconds(waited: float, broken: list[str]):
    story = WireStory()
    story.now = 99.0
    story.ask("a1")
    story.now = 0.0
    assert story.end(after=100.0 + waited, rest=False).broken == broken


def test_an_answer_is_judged_before_patience_is_over():
    story = WireStory()
    story.answered("a1")
    assert story.end(after=1.0, rest=False).verdict("X4").exercised == 1


def test_a_refusal_begins_no_new_patience():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.now += 30.0
    story.refuse(text)
    assert story.end(after=20.0, rest=False).broken == ["X4"]


def test_it_says_what_came_last():
    story = WireStory()
    asked = story.ask("a1")
    story.tell(PlatformConfirmed(address=ANA, message_id="q-a1"), asked)
    prompt = story.prompt("a1")
    story.prompt()
    story.end()
    assert {one.missing_after for one in story.verdict("X4").violations} == {prompt}
    confirmed = WireStory()
    seq = confirmed.ask("a1")
    last = confirmed.tell(PlatformConfirmed(address=ANA, message_id="q-a1"), seq)
    assert {one.missing_after for one in confirmed.end().verdict("X4").violations} == {last}
    answered = WireStory()
    answered.ask("a1")
    answered.turn("a1")
    assert answered.end().verdict("X4").violations[0].actual[0].startswith("nothing after model.answered")


def test_it_says_that_the_platform_had_to_discard_it():
    story = WireStory()
    asked = story.ask("a1", taken=False)
    story.tell(PlatformConfirmed(address=ANA, message_id="q-a1", dropped=True), asked)
    assert story.end().summaries("X4")[0].endswith("; the gateway had the platform discard it")


def test_an_answer_of_the_model_to_another_question_is_none_to_this_one():
    story = WireStory()
    story.answered("a1")
    story.ask("a2")
    assert story.end().summaries("X4")[0].endswith("and the model was never asked")


def test_one_answer_of_the_model_among_failures_is_an_answer():
    story = WireStory()
    story.ask("a1")
    story.turn("a1", status=500)
    story.turn("a1")
    assert story.end().summaries("X4")[0].endswith("although the model answered")


def test_a_notice_that_is_taken_away_is_no_end():
    story = WireStory()
    story.ask("a1")
    story.delete(story.send(NOTICE))
    assert story.end().broken == ["X4"]


def test_an_answer_to_another_question_is_no_notice():
    story = WireStory()
    story.ask("a1")
    story.answered("a2")
    assert [text.split()[1] for text in story.end().summaries("X4")] == ["a1"]


def test_what_stands_before_a_notice_does_not_hide_it():
    story = WireStory()
    story.ask("a1")
    story.ask("a2")
    story.send(REMARK)
    story.send("⚠️ The other one failed.", reply_to="q-a2")
    story.send("⚠️ This one failed.")
    assert story.end().broken == []


def test_what_the_model_says_unasked_ends_no_question_that_it_was_never_asked():
    story = WireStory()
    story.answered("w0")
    story.ask("a1")
    story.model_says(story.prompt(), "The session was restored.")
    story.send("The session was restored.")
    story.prompt("a1")
    assert "X4" in story.end().broken


def test_what_the_model_says_to_another_question_is_no_notice():
    story = WireStory()
    story.ask("a1")
    story.prompt("a1")
    story.ask("a2")
    story.send(story.turn("a2", text="Well.\nDone.").partition("\n")[0])
    assert [text.split()[1] for text in story.end().summaries("X4")] == ["a1", "a2"]


def test_a_notice_of_the_model_may_follow_other_turns():
    story = WireStory()
    story.answered("w0")
    story.ask("a1")
    story.prompt("a1")
    story.crash()
    story.model_says(story.prompt(), "The session was restored.")
    story.send("The session was restored.")
    assert story.end().broken == []


def test_what_was_taken_away_last_is_named():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    first = story.send(text)
    story.edit(first, REMARK)
    second = story.send(text)
    story.delete(second)
    story.end()
    deleted = next(event.seq for event in story.events if event.kind == "wire.deleted")
    assert [one.at for one in story.verdict("X4").violations] == [deleted]
