"""X7, X10 and X8: waits, what was refused for good, and words of another place."""

from __future__ import annotations

import pytest

from tests.support.wire_story import ANA, BEN, DEPLOY, OPS, ROLLBACK, WireStory
from trunkline.core.reasons import Reason
from trunkline.sim import Status
from trunkline.sim.events.world import ThreadReopened

SECRET = "swordfish"


def limited(wait: float, *, detail: str = "") -> tuple[WireStory, str]:
    """A story in which the platform asks for a wait, and the text of the answer."""
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text, ANA, Reason.RATE_LIMITED, retry_after=wait, detail=detail)
    return story, text


def test_a_send_before_the_wait_is_over_is_x7_alone():
    story, text = limited(5.0)
    story.send(text)
    assert story.end().broken == ["X7"]
    assert story.summaries("X7") == ["telegram/@ana is sent to 1.0 s after a refusal that asks to wait for 5 s"]


def test_a_send_after_the_wait_is_right():
    story, text = limited(5.0)
    story.now += 4.0
    story.send(text)
    assert story.end().broken == []
    assert story.verdict("X7").exercised == 1


def test_a_thread_of_the_same_chat_has_to_wait_too():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.refuse(text, DEPLOY, Reason.RATE_LIMITED, retry_after=10.0)
    story.send(text, DEPLOY)
    story.ask("a2", ROLLBACK)
    story.send(story.turn("a2"), ROLLBACK)
    assert story.end().broken == ["X7"]
    assert len(story.verdict("X7").violations) == 2


def test_another_chat_need_not_wait():
    story, text = limited(5.0)
    story.answered("b1", BEN)
    story.now += 5.0
    story.send(text)
    assert story.end().broken == []


def test_another_chat_has_to_wait_for_a_limit_of_the_account():
    story, text = limited(5.0, detail="global")
    story.answered("b1", BEN)
    story.now += 5.0
    story.send(text)
    assert story.end().broken == ["X7"]


def test_what_was_on_its_way_does_not_count():
    story = WireStory()
    story.ask("a1")
    first, second = story.turn("a1"), story.turn()
    refused = story.call(first)
    story.call(second)
    story.refused(refused, first, ANA, Reason.RATE_LIMITED, retry_after=5.0)
    assert "X7" not in story.end().broken


def test_what_has_no_effect_need_not_wait():
    story, text = limited(5.0)
    story.call("", ANA, what="")
    story.now += 5.0
    story.send(text)
    assert story.end().broken == []


def test_a_limit_that_names_no_wait_proves_nothing():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text, ANA, Reason.RATE_LIMITED)
    story.send(text)
    assert story.end().verdict("X7").status is Status.NOT_EXERCISED


# X10


def test_the_same_again_after_a_refusal_for_good_is_x10_alone():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text)
    story.refuse(text)
    story.send("⚠️ I could not answer.")
    assert story.end().broken == ["X10"]
    assert story.verdict("X10").exercised == 2


@pytest.mark.parametrize("reason", [Reason.RATE_LIMITED, Reason.PLATFORM_ERROR, Reason.UNAUTHORIZED])
def test_what_may_pass_may_be_sent_again(reason: Reason):
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text, ANA, reason)
    story.send(text)
    assert story.end().broken == []
    assert story.verdict("X10").status is Status.NOT_EXERCISED


def test_another_request_with_the_same_text_is_no_repeat():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text, digest="with a reply")
    story.send(text)
    assert story.end().broken == []


def test_the_same_text_in_another_place_is_no_repeat():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.refuse(text, DEPLOY, Reason.PLACE_GONE)
    story.send(text, OPS)
    assert story.end().broken == ["X3"]


def test_a_thread_that_is_open_again_may_get_it():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.refuse(text, DEPLOY, Reason.PLACE_GONE)
    story.tell(ThreadReopened(address=DEPLOY))
    story.send(text, DEPLOY)
    assert story.end().broken == []


def test_the_same_notice_about_another_message_is_no_repeat():
    story = WireStory()
    story.ask("a1")
    story.refuse("⚠️ Sorry.")
    story.ask("a2")
    story.refuse("⚠️ Sorry.")
    assert story.end().broken == ["X4"]


def test_a_repeat_on_its_way_is_none():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    first, second = story.call(text), story.call(text)
    for called in (first, second):
        story.refused(called, text)
    story.send("⚠️ I could not answer.")
    assert story.end().broken == []


# X8


def test_words_of_another_place_in_a_prompt_are_x8_alone():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.ask("b1", BEN)
    story.send(story.turn("b1", secrets=(SECRET,)), BEN)
    assert story.end().broken == ["X8"]


def test_words_of_another_place_in_a_message_are_x8_alone():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.ask("b1", BEN)
    story.send(story.turn("b1", text=f"Ana's password is {SECRET}."), BEN)
    assert story.end().broken == ["X8"]
    assert all(SECRET not in summary for summary in story.summaries("X8"))


def test_words_in_their_own_place_are_right():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.ask("a2")
    story.send(story.turn("a2", text=f"It is {SECRET}.", secrets=(SECRET,)))
    assert story.end().broken == []
    assert story.verdict("X8").status is Status.NOT_EXERCISED


def test_a_prompt_of_another_place_without_them_exercises_the_promise():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.answered("b1", BEN)
    assert story.end().broken == []
    assert story.verdict("X8").exercised == 1


def test_words_that_were_said_in_both_places_are_no_secret_there():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.ask("b1", BEN, text=f"mine is {SECRET} too", secret=SECRET)
    story.send(story.turn("b1", secrets=(SECRET,)), BEN)
    assert story.end().broken == []


def test_a_change_before_the_wait_is_over_is_x7_too():
    story, text = limited(4.0)
    story.call(text, what="act")
    story.now += 5.0
    story.send(text)
    assert story.end().broken == ["X7"]
