"""X7 and X10: waits, and what was refused for good."""

import pytest

from tests.support.wire_story import ANA, BEN, DEPLOY, NOTICE, OPS, ROLLBACK, WireStory
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind
from trunkline.sim import Status
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireCalled
from trunkline.sim.events.world import ThreadOpened, ThreadReopened


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


def test_a_change_before_the_wait_is_over_is_x7_too():
    story, text = limited(4.0)
    story.call(text, what="act")
    story.now += 5.0
    story.send(text)
    assert story.end().broken == ["X7"]


def test_the_same_request_again_at_once_was_not_on_its_way():
    story, text = limited(5.0)
    story.now += 0.05 - 1.0
    story.send(text)
    assert story.end().broken == ["X7"]


def test_another_request_a_moment_later_was_on_its_way():
    story, text = limited(5.0)
    story.now += 0.05 - 1.0
    story.call("And more.")
    story.now += 5.0
    story.send(text)
    assert story.end().broken == []


def limited_elsewhere(channel: str, method: str) -> WireStory:
    """A story in which one method is limited in a room, and a message is posted there."""
    place = Address(channel=channel, account="default", kind=ChatKind.CHANNEL, conversation="C1")
    story = WireStory()
    story.ask("a1", place)
    text = story.turn("a1")
    called = story.call("eyes", place, what="act", method=method)
    story.refused(called, "eyes", place, Reason.RATE_LIMITED, retry_after=5.0)
    story.call(text, place, method="post")
    story.now += 5.0
    story.send(text, place)
    return story.end()


@pytest.mark.parametrize("channel", ["discord", "slack"])
def test_a_platform_that_limits_each_method_by_itself_leaves_the_others_free(channel: str):
    assert limited_elsewhere(channel, "react").broken == []
    assert limited_elsewhere(channel, "post").broken == ["X7"]


def test_on_other_platforms_the_whole_chat_has_to_wait():
    assert limited_elsewhere("telegram", "react").broken == ["X7"]


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


@pytest.mark.parametrize(
    "reason", [Reason.RATE_LIMITED, Reason.PLATFORM_ERROR, Reason.UNAUTHORIZED, Reason.PLACE_CLOSED]
)
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


# what a process cannot know

REFUSALS = {"for good": (Reason.REFUSED, None), "a limit": (Reason.RATE_LIMITED, 30.0)}


def killed_after_a_refusal(why: str, seconds: float) -> WireStory:
    """A request is refused, the process is killed so long after, and the next one makes the request again."""
    reason, wait = REFUSALS[why]
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text, ANA, reason, retry_after=wait)
    story.tell(FaultFired(fault="crash"), after=seconds)
    story.tell(ProcessCrashed(why="crash"), after=0.0)
    story.start()
    story.send(text)
    return story.end()


@pytest.mark.parametrize("why", REFUSALS)
def test_a_process_that_was_killed_at_once_has_not_read_the_refusal(why: str):
    assert killed_after_a_refusal(why, 0.1).broken == []


@pytest.mark.parametrize("why", REFUSALS)
def test_one_that_had_the_time_could_write_it_down(why: str):
    assert len(killed_after_a_refusal(why, 1.0).broken) == 1


# what is and what is no repeat

SECOND = Address(channel="telegram", account="second", kind=ChatKind.DIRECT, conversation="7")


@pytest.mark.parametrize(
    ("after", "broken"), [(0.09, []), (0.1, ["X7"]), (4.94, ["X7"]), (4.95, []), (5.0, [])], ids=str
)
def test_a_wait_begins_with_the_response_and_ends_with_its_seconds(after: float, broken: list[str]):
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.now = 0.0
    called = story.call(text)
    story.refused(called, text, ANA, Reason.RATE_LIMITED, retry_after=5.0)
    begun = story.now
    story.now = begun + after
    story.tell(WireCalled(channel="telegram", method="x", what="send", address=ANA, text="And more."), after=0.0)
    story.now = begun + 9.0
    story.send(text)
    assert story.end().broken == broken


@pytest.mark.parametrize("detail", ["", "global"])
def test_another_account_need_not_wait(detail: str):
    story, text = limited(5.0, detail=detail)
    story.call("Good morning.", SECOND, account="second")
    story.now += 5.0
    story.send(text)
    assert story.end().broken == []


def test_a_second_refusal_is_judged_after_one_without_a_wait():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text, BEN, Reason.RATE_LIMITED, retry_after=60.0)
    story.refuse(text, ANA, Reason.RATE_LIMITED, retry_after=5.0)
    story.send(text)
    assert story.end().broken == ["X7"]


def test_a_request_without_a_place_is_no_send():
    story, text = limited(5.0)
    story.tell(WireCalled(channel="telegram", method="x", what="send"))
    story.now += 5.0
    story.send(text)
    assert story.end().broken == []


def test_a_refused_change_may_be_asked_for_again():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    for _ in range(2):
        story.refused(story.call("eyes", what="act"), "eyes")
    story.send(text)
    assert story.end().broken == []
    assert story.verdict("X10").status is Status.NOT_EXERCISED


def test_a_change_with_the_words_of_a_refused_send_is_no_repeat():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text)
    story.call(text, what="act")
    story.send(NOTICE)
    assert story.end().broken == []


def test_a_request_that_was_never_sent_may_be_made_again():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text, ANA, Reason.NOT_SENT)
    story.send(text)
    assert story.end().broken == []


def test_a_thread_that_is_open_again_frees_no_other_place():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text)
    story.tell(ThreadReopened(address=DEPLOY))
    story.refuse(text)
    story.send(NOTICE)
    assert story.end().broken == ["X10"]


def test_a_thread_of_the_same_name_that_is_opened_may_get_it():
    story = WireStory()
    story.ask("a1", DEPLOY)
    text = story.turn("a1")
    story.refuse(text, DEPLOY, Reason.PLACE_GONE)
    story.tell(ThreadOpened(address=DEPLOY, name="ops/deploy"))
    story.send(text, DEPLOY)
    assert story.end().broken == []


def test_a_new_message_frees_notices_of_its_place_and_no_answers():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text)
    story.refuse("⚠️ Sorry.")
    story.ask("b1", BEN)
    story.send(story.turn("b1"), BEN)
    story.refuse("⚠️ Sorry.")
    story.ask("a2")
    story.refuse(text)
    story.send(NOTICE)
    assert story.end().broken == ["X10"]
    assert len(story.verdict("X10").violations) == 2


@pytest.mark.parametrize(("detail", "why"), [("chat is full", "chat is full"), ("", "refused")])
def test_it_says_why_it_was_refused(detail: str, why: str):
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    story.refuse(text, detail=detail)
    story.refuse(text, detail=detail)
    assert f"({why})" in story.end().verdict("X10").violations[0].actual[0]
