"""D8, and what B2 and R2 say of bindings, on stories written by hand: who speaks, with which token, what comes back."""

from typing import Any

import pytest

from tests.support.event_stories import PLACE, Story
from tests.support.factories import direct
from trunkline.core.events.bindings import BindingBound, BindingDegraded, BindingEnded, BindingTouched, IdentityFallback
from trunkline.core.events.delivery import ChunkAcked, IntentPrepared
from trunkline.core.events.gateway import (
    InboundAdmitted,
    InboundDropped,
    InboundReceived,
    RouteDecided,
    TranscriptAppended,
    TurnStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, Peer, WorkKind
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import CredentialRotated, PeerSaid
from trunkline.sim.invariants import Status

ELSEWHERE = direct("200", channel="telegram")
OTHER_ACCOUNT = direct("100", channel="telegram", account="other")
HOOK = "webhook 7 as codex"


class Author(Story):
    """Writes stories of a bound conversation."""

    # ------------------------------------------------------------ what comes in

    def said(self, inbound: str = "m1", place: Address = PLACE, seen: Address | None = None, **who: Any) -> None:
        """Somebody says something, and the gateway receives it."""
        message = f"id-{inbound}"
        body = PeerSaid(address=place, peer=Peer(id="5", name="somebody"), message_id=message, text="hello", **who)
        self.tell(body, node="telegram", inbound=inbound)
        self.tell(
            InboundReceived(address=seen or place, peer=Peer(id="5"), message_id=message, text="hello"), inbound=inbound
        )

    def echoed(self, inbound: str = "m1", **where: Any) -> None:
        """The gateway's own webhook has said it."""
        self.said(inbound, bot=True, echo_of="7", **where)

    def dropped(self, reason: Reason, inbound: str = "m1") -> int:
        return self.tell(InboundDropped(reason=reason), inbound=inbound)

    def admitted(self, inbound: str = "m1", work: WorkKind = WorkKind.MESSAGE) -> int:
        body = InboundAdmitted(work=work, session_id="s", session_key="k")
        return self.tell(body, inbound=inbound)

    def routed(self, inbound: str = "m1", binding: str | None = "b1") -> int:
        body = RouteDecided(
            agent="main",
            matched_by="binding.session",
            binding=None,
            candidates=(),
            session_key="k",
            reply_to=PLACE,
            reply_reason=Reason.REPLY_TO_ORIGIN,
        )
        return self.tell(body, inbound=inbound, binding=binding)

    def line(self, inbound: str = "m1") -> int:
        body = TranscriptAppended(session_id="s", session_key="k", role="user", text="hello")
        return self.tell(body, inbound=inbound)

    def turn(self, inbound: str = "m1") -> int:
        body = TurnStarted(agent="main", session_id="s", session_key="k", work=WorkKind.MESSAGE, origin=PLACE)
        return self.tell(body, inbound=inbound, turn=f"t-{inbound}")

    # ------------------------------------------------------------ what is bound, and said there

    def bound(self, name: str = "b1", identity: str | None = HOOK, place: Address = PLACE) -> int:
        body = BindingBound(
            conversation=place,
            session_key="k",
            target_kind="session",
            placement="current",
            by="operator",
            expires_at=60.0,
            identity=identity,
        )
        return self.tell(body, binding=name)

    def meant(self, intent: str = "i1", identity: str | None = HOOK, binding: str | None = "b1") -> int:
        """Something is to be said by somebody."""
        body = IntentPrepared(
            intent_kind=IntentKind.REPLY,
            address=PLACE,
            targeted=False,
            text="hello",
            chunks=2,
            key=intent,
            reason=Reason.REPLY_TO_ORIGIN,
            mirror_key="k",
            identity=identity,
        )
        return self.tell(body, intent=intent, binding=binding)

    def spoken(self, identity: str | None = HOOK, intent: str = "i1", chunk: int = 0, **more: Any) -> int:
        """The platform takes it, and shows it as somebody's."""
        place = more.pop("place", PLACE)
        body = WireAccepted(
            address=place,
            requested=place,
            text="hello",
            provider_id=f"p-{intent}-{chunk}",
            key=f"{intent}/{chunk}",
            chunk=chunk,
            attempt=1,
            identity=identity,
            credential=more.pop("credential", 0),
        )
        return self.tell(body, node="telegram", intent=intent, **more)

    def instead(self, intent: str = "i1", chunk: int = 0) -> int:
        body = IdentityFallback(chunk=chunk, attempt=1, instead_of=HOOK, used="bot", reason=Reason.IDENTITY_GONE)
        return self.tell(body, intent=intent, binding="b1")

    def stored(self, intent: str = "i1", *, after: float = 0.0) -> int:
        body = ChunkAcked(chunk=0, address=PLACE, provider_id="p", reason=Reason.ACCEPTED)
        return self.tell(body, intent=intent, after=after)

    def touched(self, at: float | None = None, binding: str = "b1", *, after: float = 0.0, by: str = "outbound") -> int:
        when = self.now + after if at is None else at
        body = BindingTouched(by=by, last_activity_at=when, expires_at=when + 60)
        return self.tell(body, binding=binding, after=after)

    def over(self, binding: str = "b1") -> int:
        body = BindingEnded(conversation=PLACE, session_key="k", reason=Reason.UNBOUND)
        return self.tell(body, binding=binding)

    # ------------------------------------------------------------ tokens

    def rotated(self, number: int = 2, **fields: Any) -> int:
        fields = {"channel": "telegram", "account": "default", **fields}
        return self.tell(CredentialRotated(number=number, **fields), node="telegram")

    def turned_down(self, credential: int, *, after: float = 0.0) -> int:
        body = WireRefused(address=PLACE, reason=Reason.UNAUTHORIZED, chunk=0, attempt=1, credential=credential)
        return self.tell(body, node="telegram", intent="i1", after=after)

    @property
    def first_wrong(self) -> int | None:
        (violation,) = self.verdict.violations
        return violation.first_wrong


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


def test_what_follows_of_an_echo_is_told_once():
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
    assert story.wrong == ["m1, which somebody said, was dropped as own-echo"]
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
    assert ("message m2 was never taken" in story.wrong) is not taken
    assert "message m1 was never taken" not in story.wrong


# ---------------------------------------------------------------- B2: activity


def test_what_is_said_keeps_its_conversation_bound():
    story = Author("B2")
    story.bound()
    story.meant()
    story.stored(after=30)
    story.touched(after=0.001)
    assert (story.end().verdict.status, story.verdict.exercised) == (Status.OK, 1)


def test_a_binding_that_is_not_told_of_what_was_said_there_expires_too_early():
    story = Author("B2")
    bound = story.bound()
    story.meant()
    stored = story.stored(after=30)
    story.end()
    (violation,) = story.verdict.violations
    assert (violation.first_wrong, violation.evidence) == (stored, (bound, stored))


@pytest.mark.parametrize(
    ("touch", "wrong"),
    [
        ({"after": 4.0}, 0),
        ({"after": 6.0}, 1),
        # Later activity does not make up for it: the deadline was too early in between.
        ({"after": 20.0, "by": "inbound"}, 1),
        ({"at": 26.0}, 0),
        ({"at": 20.0}, 1),
        ({"binding": "b2"}, 1),
    ],
)
def test_the_touch_comes_soon_and_tells_the_time(touch: dict[str, Any], wrong: int):
    story = Author("B2")
    story.bound()
    story.bound("b2", place=ELSEWHERE)
    story.meant()
    story.stored(after=30)
    story.touched(**touch)
    assert len(story.end().wrong) == wrong


def test_a_missing_touch_is_seen_at_the_next_thing_that_is_said():
    story = Author("B2")
    story.bound()
    story.meant()
    missed = story.stored(after=30)
    story.meant("i2")
    story.stored("i2", after=10)
    story.touched()
    assert story.first_wrong == missed


def test_one_touch_is_enough_for_what_is_said_at_once():
    story = Author("B2")
    story.bound()
    story.meant()
    story.meant("i2")
    story.stored(after=30)
    story.stored("i2", after=0.5)
    story.touched()
    assert story.end().wrong == []


def test_a_binding_that_is_over_needs_no_activity():
    story = Author("B2")
    story.bound()
    story.meant()
    story.over()
    story.stored(after=30)
    assert story.end().wrong == []


@pytest.mark.parametrize(("after", "wrong"), [(59.0, 1), (61.0, 0)])
def test_nothing_brings_back_a_binding_that_is_over_by_its_deadline(after: float, wrong: int):
    story = Author("B2")
    story.bound()
    story.meant()
    story.stored(after=after)
    assert len(story.end().wrong) == wrong


@pytest.mark.parametrize(
    ("binding", "work", "touched", "wrong"),
    [
        ("b1", WorkKind.MESSAGE, True, 0),
        ("b1", WorkKind.MESSAGE, False, 1),
        ("b1", WorkKind.CONTROL, False, 0),
        (None, WorkKind.MESSAGE, False, 0),
    ],
)
def test_what_a_person_says_there_is_activity_too(binding: str | None, work: WorkKind, touched: bool, wrong: int):
    story = Author("B2")
    story.bound()
    story.now = 30.0
    story.said()
    story.routed(binding=binding)
    story.admitted(work=work)
    if touched:
        story.touched(by="inbound")
    assert len(story.end().wrong) == wrong


@pytest.mark.parametrize("reason", [Reason.MISPLACED, Reason.OPERATOR_SENT])
def test_what_is_not_seen_there_is_no_activity(reason: Reason):
    story = Author("B2")
    story.bound()
    story.meant()
    story.tell(ChunkAcked(chunk=0, address=PLACE, provider_id="p", reason=reason), intent="i1", after=30)
    assert story.end().wrong == []


def test_what_is_said_elsewhere_touches_nothing():
    story = Author("B2")
    story.bound()
    story.meant(binding=None)
    story.stored(after=30)
    assert story.end().wrong == []


# ---------------------------------------------------------------- B2: tokens


def test_the_newest_token_is_well():
    story = Author("B2")
    story.rotated()
    story.spoken(credential=2, after=10)
    assert (story.wrong, story.verdict.exercised) == ([], 1)


@pytest.mark.parametrize(("after", "wrong"), [(0.4, 0), (0.6, 1), (50.0, 1)])
@pytest.mark.parametrize("how", ["spoken", "turned_down"])
def test_an_older_one_is_well_only_in_the_moment_of_the_change(how: str, after: float, wrong: int):
    story = Author("B2")
    story.rotated(3)
    getattr(story, how)(credential=2, after=after)
    assert len(story.wrong) == wrong


@pytest.mark.parametrize(("after", "wrong"), [(4.0, 0), (5.4, 0), (6.0, 1)])
def test_a_gateway_uses_a_token_when_it_was_given_it(after: float, wrong: int):
    story = Author("B2")
    story.rotated(tell=5.0)
    story.turned_down(1, after=after)
    assert len(story.wrong) == wrong


def test_tokens_are_those_of_their_account():
    story = Author("B2")
    story.rotated(account="other")
    story.spoken(credential=1, after=10)
    story.spoken(credential=1, place=OTHER_ACCOUNT, intent="i2")
    assert story.wrong == ["i2 was sent with token 1 of telegram"]


def test_where_tokens_are_not_counted_nothing_is_judged():
    story = Author("B2")
    story.rotated()
    story.spoken(credential=0, after=10)
    assert story.verdict.status is Status.NOT_EXERCISED


# ---------------------------------------------------------------- R2: who speaks


def test_who_was_meant_to_speak_speaks():
    story = Author("R2")
    story.bound()
    story.meant()
    story.spoken()
    assert (story.wrong, story.verdict.exercised) == ([], 2)


def test_the_bot_may_speak_instead_when_that_was_told_before():
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
    assert story.wrong == ["i1 was said by the bot, in silence"]
    assert story.first_wrong == spoken


@pytest.mark.parametrize("told", [{"chunk": 1}, {"intent": "i2"}])
def test_each_message_needs_its_own_word_before_the_part_that_the_bot_says(told: dict[str, Any]):
    story = Author("R2")
    story.bound()
    story.meant()
    story.meant("i2")
    story.instead(**told)
    story.spoken(None)
    assert story.wrong == ["i1 was said by the bot, in silence"]


def test_once_the_bot_has_taken_a_message_over_it_says_the_rest():
    story = Author("R2")
    story.bound()
    story.meant()
    story.spoken()
    story.instead(chunk=1)
    story.spoken(None, chunk=1)
    story.spoken(None, chunk=2)
    assert story.wrong == []


def test_another_webhook_is_another_speaker_whatever_was_told():
    story = Author("R2")
    story.bound()
    story.meant()
    story.instead()
    story.spoken("webhook 8 as codex")
    assert story.wrong == ["i1 was said by webhook 8 as codex, in silence"]


def test_a_webhook_does_not_say_what_the_bot_was_to_say():
    story = Author("R2")
    story.bound(identity=None)
    story.meant(identity=None)
    story.spoken()
    assert story.wrong == [f"i1 was said by {HOOK}, in silence"]


def test_a_conversation_with_an_identity_is_not_planned_for_the_bot_in_silence():
    story = Author("R2")
    story.bound()
    meant = story.meant(identity=None)
    assert story.wrong == [f"i1 is meant to be said by the bot in a conversation of {HOOK}"]
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
