"""D8, D7, L1 and R2: echoes, other bots, proxies, and who speaks."""

from typing import Any

import pytest

from tests.support.invariants.bot_trace import ELSEWHERE, HOOK, OTHER_ACCOUNT, Author
from trunkline.core.events.bindings import BindingDegraded
from trunkline.core.events.gateway import InboundDropped
from trunkline.core.reasons import Reason
from trunkline.sim.invariants import Status

# ---------------------------------------------------------------- D8: echoes


def test_an_echo_that_is_dropped_is_well():
    story = Author("D8")
    story.echoed()
    story.dropped(Reason.OWN_ECHO)
    assert (story.end().verdict.status, story.verdict.exercised) == (Status.OK, 1)


def test_without_bots_there_is_nothing_to_judge():
    story = Author("D8")
    story.said()
    story.admitted()
    assert story.end().verdict.status is Status.NOT_EXERCISED


@pytest.mark.parametrize("what", ["admitted", "line", "turn"])
def test_whatever_an_echo_starts_is_wrong(what: str):
    story = Author("D8")
    story.echoed()
    started = getattr(story, what)()
    assert (story.first_wrong, story.verdict.violations[0].expected) == (started, ("inbound.dropped (own-echo)",))


def test_what_follows_from_an_echo_is_reported_once():
    story = Author("D8")
    story.echoed()
    first = story.admitted()
    story.line()
    story.turn()
    assert story.first_wrong == first


def test_an_echo_is_one_for_every_account_that_sees_it():
    story = Author("D8")
    story.echoed(seen=OTHER_ACCOUNT)
    story.admitted()
    assert len(story.wrong) == 1


def test_a_message_with_the_same_id_in_another_conversation_is_no_echo():
    story = Author("D8")
    story.echoed(seen=ELSEWHERE)
    story.admitted()
    assert story.wrong == []


# ---------------------------------------------------------------- D8: other bots


def test_a_relay_that_is_heard_or_ignored_as_a_bot_is_well():
    story = Author("D8")
    story.said("m1", bot=True)
    story.admitted("m1")
    story.turn("m1")
    story.said("m2", bot=True)
    story.dropped(Reason.BOT_IGNORED, "m2")
    assert (story.wrong, story.end().verdict.exercised) == ([], 2)


def test_a_relay_that_is_taken_for_an_echo_is_wrong():
    story = Author("D8")
    story.said(bot=True)
    dropped = story.dropped(Reason.OWN_ECHO)
    assert story.wrong == ["m1, posted by somebody, was dropped as own-echo"]
    assert story.first_wrong == dropped


def test_a_person_is_neither_an_echo_nor_a_bot():
    story = Author("D8")
    for number, reason in enumerate((Reason.OWN_ECHO, Reason.BOT_IGNORED)):
        story.said(f"m{number}")
        story.dropped(reason, f"m{number}")
    assert len(story.wrong) == 2


def test_what_a_proxy_posts_for_a_person_is_a_persons():
    story = Author("D8")
    story.said(bot=True, stands_for="id-m0")
    story.dropped(Reason.BOT_IGNORED)
    assert len(story.wrong) == 1


@pytest.mark.parametrize("reason", [Reason.DUPLICATE_PROXY, Reason.EMPTY_MESSAGE, Reason.DUPLICATE_MESSAGE])
def test_other_reasons_are_not_judged_here(reason: Reason):
    story = Author("D8")
    story.said(bot=True, stands_for="id-m0")
    story.dropped(reason)
    assert story.wrong == []


# ---------------------------------------------------------------- D7 and L1: proxies


def proxied(*only: str) -> Author:
    story = Author(*only)
    story.said("m1")
    story.admitted("m1")
    story.turn("m1")
    story.said("m2", bot=True, stands_for="id-m1")
    return story


def test_what_a_proxy_posted_again_is_the_same_message():
    story = proxied("D7")
    story.tell(InboundDropped(reason=Reason.DUPLICATE_PROXY, first="m1"), inbound="m2")
    assert (story.wrong, story.verdict.exercised) == ([], 2)


def test_two_turns_for_what_a_proxy_posted_again_are_one_too_many():
    story = proxied("D7")
    story.admitted("m2")
    again = story.turn("m2")
    assert [violation.at for violation in story.verdict.violations] == [again]


@pytest.mark.parametrize("taken", [True, False])
def test_what_a_proxy_posted_is_to_be_taken_as_well(taken: bool):
    story = proxied("L1")
    if taken:
        story.dropped(Reason.DUPLICATE_PROXY, "m2")
    story.end()
    assert ("message m2 was never accounted for" in story.wrong) is not taken
    assert "message m1 was never accounted for" not in story.wrong


# ---------------------------------------------------------------- R2: who speaks


def test_who_was_meant_to_speak_speaks():
    story = Author("R2")
    story.bound()
    story.meant()
    story.spoken()
    assert (story.wrong, story.verdict.exercised) == ([], 2)


def test_the_bot_may_speak_instead_when_that_was_announced_before():
    story = Author("R2")
    story.bound()
    story.meant()
    story.instead()
    story.spoken(None)
    assert story.wrong == []


def test_the_bot_instead_in_silence_is_wrong():
    story = Author("R2")
    story.bound()
    story.meant()
    spoken = story.spoken(None)
    story.instead()
    assert story.wrong == ["i1 was posted by the bot without a recorded fallback"]
    assert story.first_wrong == spoken


@pytest.mark.parametrize("told", [{"chunk": 1}, {"intent": "i2"}])
def test_each_message_needs_its_own_word_before_the_part_that_the_bot_says(told: dict[str, Any]):
    story = Author("R2")
    story.bound()
    story.meant()
    story.meant("i2")
    story.instead(**told)
    story.spoken(None)
    assert story.wrong == ["i1 was posted by the bot without a recorded fallback"]


def test_once_the_bot_has_taken_a_message_over_it_says_the_rest():
    story = Author("R2")
    story.bound()
    story.meant()
    story.spoken()
    story.instead(chunk=1)
    story.spoken(None, chunk=1)
    story.spoken(None, chunk=2)
    assert story.wrong == []


def test_another_webhook_is_another_speaker_whatever_was_announced():
    story = Author("R2")
    story.bound()
    story.meant()
    story.instead()
    story.spoken("webhook 8 as codex")
    assert story.wrong == ["i1 was posted by webhook 8 as codex without a recorded fallback"]


def test_a_webhook_does_not_say_what_the_bot_was_to_say():
    story = Author("R2")
    story.bound(identity=None)
    story.meant(identity=None)
    story.spoken()
    assert story.wrong == [f"i1 was posted by {HOOK} without a recorded fallback"]


def test_a_conversation_with_an_identity_is_not_planned_for_the_bot_in_silence():
    story = Author("R2")
    story.bound()
    meant = story.meant(identity=None)
    assert story.wrong == [f"i1 was prepared for the bot in a conversation of {HOOK}"]
    assert story.first_wrong == meant


def test_a_degraded_one_is():
    story = Author("R2")
    story.bound()
    story.tell(BindingDegraded(identity=HOOK, reason=Reason.IDENTITY_GONE, fallbacks=3), binding="b1")
    story.meant(identity=None)
    story.spoken(None)
    assert story.wrong == []


def test_where_the_bot_speaks_nothing_is_planned_otherwise():
    story = Author("R2")
    story.bound(identity=None)
    story.meant(identity=None)
    story.spoken(None)
    assert story.wrong == []
