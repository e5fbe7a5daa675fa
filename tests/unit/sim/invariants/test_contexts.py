"""P3, P4 and P5: what leaves the conversation of its turn is decided, as configured; marks are seen; denials hold."""

from typing import Any

import pytest

from tests.support.event_stories import PLACE, Story
from tests.support.factories import direct, group
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.events.actions import PolicyDecided
from trunkline.core.events.gateway import InboundReceived, RouteDecided, TurnStarted
from trunkline.core.message_parts import MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, Peer, WorkKind
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.script import TextDenied
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import AgentContexts, WorldLimits
from trunkline.sim.invariants import Status

ELSEWHERE = direct("200", channel="telegram")
BEYOND = direct("9", channel="discord")
TOPIC = group("-1007", thread="7")


def turn(invariant: str, work: WorkKind = WorkKind.MESSAGE, place: Address = PLACE, **settings: Any) -> Story:
    """A turn of the agent main, under these settings."""
    story = Story(invariant)
    story.world()
    contexts = (AgentContexts(agent="main", **settings),)
    story.tell(WorldLimits(max_attempts=5, max_age=60.0, contexts=contexts), node="sim")
    origin = None
    if work is WorkKind.MESSAGE:
        origin = place
        received = InboundReceived(address=place, peer=Peer(id="100"), message_id="m1", text="hi")
        story.tell(received, inbound="m1")
    started = TurnStarted(agent="main", session_id="s", session_key="k", work=work, origin=origin)
    story.tell(started, inbound="m1", turn="t1")
    return story


def decided(story: Story, target: Address, *, allowed: bool = True, mark: str = "") -> None:
    reason = Reason.WITHIN_PROVIDER if allowed else Reason.CROSS_CONTEXT_DENIED
    body = PolicyDecided(action=Action.SEND, allowed=allowed, reason=reason, origin=None, target=target, mark=mark)
    story.tell(body, inbound="m1", turn="t1")


def says(story: Story, place: Address, *texts: str, parts: MessageParts | None = None, **fields: Any) -> None:
    """The tool sends a message, and people see it."""
    asked: dict[str, Any] = {"intent_kind": IntentKind.TOOL, "targeted": True, **fields}
    story.prepared("i1", *texts, place=place, turn="t1", inbound="m1", **asked)
    for chunk, text in enumerate(texts):
        body = WireAccepted(
            address=place, requested=place, text=text, provider_id="p", key="k", chunk=chunk, attempt=1, parts=parts
        )
        story.tell(body, node=place.channel, intent="i1")


def changes(story: Story, place: Address, action: Action, text: str = "") -> None:
    fields: dict[str, Any] = {"intent_kind": IntentKind.TOOL, "targeted": True, "action": action}
    story.prepared("i1", text, place=place, turn="t1", inbound="m1", **fields)
    body = WireActed(action=action, address=place, requested=place, key="k", attempt=1, text=text)
    story.tell(body, node=place.channel, intent="i1")


# -------------------------------------------------------------------- P3


@pytest.mark.parametrize(("place", "wrong"), [(PLACE, 0), (ELSEWHERE, 1), (BEYOND, 1)])
def test_what_leaves_its_conversation_needs_a_decision(place: Address, wrong: int) -> None:
    story = turn("P3")
    says(story, place, "hello")
    assert len(story.wrong) == wrong


def test_a_thread_belongs_to_its_conversation() -> None:
    story = turn("P3", place=TOPIC)
    says(story, group("-1007"), "hello")
    assert story.verdict.status is Status.NOT_EXERCISED


def test_what_is_no_call_of_the_tool_or_names_no_target_is_not_judged() -> None:
    unnamed: list[dict[str, Any]] = [{"intent_kind": IntentKind.REPLY}, {"targeted": False}]
    for fields in unnamed:
        story = turn("P3")
        says(story, ELSEWHERE, "hello", **fields)
        assert story.verdict.status is Status.NOT_EXERCISED


@pytest.mark.parametrize(
    ("place", "settings", "wrong"),
    [(ELSEWHERE, {}, 0), (ELSEWHERE, {"within": False}, 1), (BEYOND, {}, 1), (BEYOND, {"across": True}, 0)],
)
def test_a_decision_follows_the_configuration(place: Address, settings: dict[str, Any], wrong: int) -> None:
    story = turn("P3", **settings)
    decided(story, place)
    says(story, place, "hello")
    assert len(story.wrong) == wrong
    assert all("configuration does not allow" in summary for summary in story.wrong)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [({}, 0), ({"reach": "none"}, 1), ({"reach": "none", "targets": ("telegram",)}, 0), ({"reach": "last"}, 1)],
)
def test_a_turn_that_works_nowhere_reaches_what_is_configured(settings: dict[str, Any], wrong: int) -> None:
    story = turn("P3", WorkKind.HEARTBEAT, **settings)
    decided(story, ELSEWHERE)
    says(story, ELSEWHERE, "hello")
    assert len(story.wrong) == wrong


def test_where_people_wrote_may_be_the_last_conversation() -> None:
    story = turn("P3", WorkKind.HEARTBEAT, reach="last")
    route = RouteDecided(
        agent="main",
        session_key="k",
        matched_by="default",
        binding="",
        candidates=(),
        reply_to=ELSEWHERE,
        reply_reason=Reason.REPLY_TO_ORIGIN,
    )
    story.tell(route, inbound="m0")
    decided(story, ELSEWHERE)
    says(story, ELSEWHERE, "hello")
    assert story.verdict.status is Status.OK


def test_a_denial_of_what_is_allowed_is_wrong_at_once() -> None:
    story = turn("P3")
    decided(story, ELSEWHERE, allowed=False)
    assert story.wrong == ["send from telegram:default/100 is denied, but the configuration allows it"]


@pytest.mark.parametrize(("action", "wrong"), [(Action.EDIT, 1), (Action.PIN, 1), (Action.REACT, 0)])
def test_changes_are_judged_and_reactions_are_not(action: Action, wrong: int) -> None:
    story = turn("P3")
    changes(story, ELSEWHERE, action)
    assert len(story.wrong) == wrong


def test_traces_of_earlier_versions_are_not_judged() -> None:
    story = turn("P3")
    story.tell(WorldLimits(max_attempts=5, max_age=60.0), node="sim")
    says(story, BEYOND, "hello")
    assert story.verdict.status is Status.NOT_EXERCISED


# -------------------------------------------------------------------- P4


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [(("[from #ops] hello",), 0), (("hello",), 1), (("[from #o", "ps] hello"), 0), (("hello [from #ops]",), 1)],
)
def test_a_mark_is_seen_before_the_text(texts: tuple[str, ...], wrong: int) -> None:
    story = turn("P4", across=True)
    decided(story, BEYOND, mark="[from #ops] ")
    says(story, BEYOND, *texts)
    assert len(story.wrong) == wrong


@pytest.mark.parametrize(("text", "wrong"), [("[from heartbeat] x", 0), ("[from #ops] x", 1)])
def test_a_turn_that_works_nowhere_says_what_it_is(text: str, wrong: int) -> None:
    story = turn("P4", WorkKind.HEARTBEAT)
    decided(story, ELSEWHERE)
    says(story, ELSEWHERE, text)
    assert len(story.wrong) == wrong


def test_a_mark_may_be_an_embed_or_follow_the_text() -> None:
    story = turn("P4", across=True)
    decided(story, BEYOND)
    says(story, BEYOND, "hello", parts=MessageParts(embed="From #ops"))
    assert story.verdict.status is Status.OK
    story = turn("P4", across=True, prefix="", suffix=" ({channel})")
    decided(story, BEYOND)
    says(story, BEYOND, "hello (#ops)")
    assert story.verdict.status is Status.OK


def test_what_is_not_to_be_marked_needs_no_mark() -> None:
    unmarked: list[tuple[Address, dict[str, Any]]] = [
        (ELSEWHERE, {}),
        (BEYOND, {"across": True, "marks_across": False}),
    ]
    for place, settings in unmarked:
        story = turn("P4", **settings)
        decided(story, place)
        says(story, place, "hello")
        assert story.verdict.status is Status.NOT_EXERCISED


@pytest.mark.parametrize(("text", "wrong"), [("[from #ops] better", 0), ("better", 1)])
def test_an_edit_keeps_the_mark(text: str, wrong: int) -> None:
    story = turn("P4", across=True)
    decided(story, BEYOND)
    changes(story, BEYOND, Action.EDIT, text)
    assert len(story.wrong) == wrong


# -------------------------------------------------------------------- P5


def test_what_was_denied_is_not_on_the_wire() -> None:
    story = turn("P5", within=False)
    decided(story, ELSEWHERE, allowed=False)
    assert story.verdict.status is Status.OK
    says(story, ELSEWHERE, "hello")
    assert story.wrong == ["i1 was denied, and people see it nevertheless"]


def test_a_later_allowance_counts() -> None:
    story = turn("P5")
    decided(story, ELSEWHERE, allowed=False)
    decided(story, ELSEWHERE)
    says(story, ELSEWHERE, "hello")
    assert story.verdict.status is Status.OK


@for_each("first", ["denied", "seen"])
@for_each(
    ("texts", "wrong"), [(("a secret",), 1), (("a ", "secret"), 1), (("I may not say: a secret",), 0), (("secret",), 0)]
)
def test_a_denied_text_is_seen_nowhere_else(texts: tuple[str, ...], wrong: int, first: str) -> None:
    """An answer may speak of it."""
    story = turn("P5", within=False)
    decided(story, ELSEWHERE, allowed=False)
    denied = TextDenied(by="agent main", text="a secret")
    if first == "denied":
        story.tell(denied, node="sim", turn="t1")
    says(story, PLACE, *texts, targeted=False)
    if first == "seen":
        story.tell(denied, node="sim", turn="t1")
    assert len(story.wrong) == wrong


def test_what_was_denied_to_an_earlier_run_of_a_turn_may_be_allowed_by_now() -> None:
    story = turn("P5", within=False)
    story.tell(TextDenied(by="agent main", text="a secret"), node="sim", turn="t1")
    again = TurnStarted(agent="main", session_id="s", session_key="k", work=WorkKind.MESSAGE, origin=PLACE, attempt=2)
    story.tell(again, inbound="m1", turn="t1")
    says(story, PLACE, "a secret", targeted=False)
    assert story.wrong == []
