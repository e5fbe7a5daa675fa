"""T1 to T3, A3 and H2: what comes in, what people see, and what is said of it, judged by the world."""

from typing import Any

import msgspec

from tests.support.event_stories import PLACE, Story
from tests.support.factories import direct
from tests.support.for_each import for_each
from tests.support.invariants.hand_trace import HandStory
from tests.support.scenario.own_defects import FILES, defect_run
from trunkline.core.action_catalogue import Action
from trunkline.core.events import Body
from trunkline.core.events.bindings import BindingBound
from trunkline.core.events.delivery import Fallback
from trunkline.core.events.gateway import InboundReceived, ProcessStarted, TurnStarted
from trunkline.core.events.heartbeat import HeartbeatEnded, HeartbeatStarted
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Address, ChatKind, IntentKind, IntentState, Peer, WorkKind
from trunkline.sim.events.actions import AgentActs, AgentTold, WireActed
from trunkline.sim.events.hands import AgentAnswered, AgentSends, HandAnswered
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import ClientAnswered, ClientRequested, FaultFired, HookRewrote
from trunkline.sim.events.wire import WireRefused, WireResponseLost
from trunkline.sim.events.world import AgentContexts, PeerSaid, PlatformPushed, TextLimit, WorldHeartbeat, WorldLimits
from trunkline.sim.invariants import Status, judge

ELSEWHERE = direct("200", channel="telegram")
ANA = Peer(id="100", name="ana")


def told(story: Story, text: str = "hi there", peer: Peer = ANA, place: Address = PLACE, message: str = "1") -> None:
    """Ana says "hi there", and the gateway receives this."""
    story.tell(PeerSaid(address=PLACE, peer=ANA, message_id="1", text="hi there"), node="telegram")
    story.tell(PlatformPushed(address=PLACE, message_id="1", original_id="1"), node="telegram")
    story.tell(InboundReceived(address=place, peer=peer, message_id=message, text=text), inbound="m1")


def answers(text: str | None, *, given: str = "hi there", work: WorkKind = WorkKind.MESSAGE) -> AgentAnswered:
    return AgentAnswered(agent="main", work=work, given=given, peer=ANA, place=PLACE, text=text)


def turn(invariant: str, **limits: Any) -> Story:
    """Ana has written, and a turn of the agent works on it."""
    story = Story(invariant)
    story.world()
    story.tell(WorldLimits(max_attempts=5, max_age=60.0, **limits), node="sim")
    told(story)
    started = TurnStarted(agent="main", session_id="s", session_key="k", work=WorkKind.MESSAGE, origin=PLACE)
    story.tell(started, inbound="m1", turn="t1")
    return story


def shows(story: Story, *texts: str, end: bool = True, html: str | None = None, **fields: Any) -> Story:
    """A message of the turn is prepared and accepted in these parts, and ends."""
    story.prepared("i1", *texts, turn="t1", inbound="m1", **fields)
    for number, text in enumerate(texts):
        story.accepted(text, chunk=number, html=html)
    if end:
        story.settled(IntentState.DELIVERED)
    return story.end()


# -------------------------------------------------------------------- T1


@for_each(
    ("changed", "says"),
    [
        ({}, ""),
        ({"text": "hi"}, "the words “hi”"),
        ({"peer": Peer(id="9")}, "the sender 9"),
        ({"place": direct("100", channel="telegram", account="other")}, "has not pushed"),
        ({"message": "2"}, "has not pushed"),
    ],
)
def test_what_is_received_was_pushed(changed: dict[str, Any], says: str) -> None:
    story = Story("T1")
    story.world()
    told(story, **changed)
    assert [says in wrong for wrong in story.wrong] == ([True] if says else [])
    assert story.verdict.exercised == 1


@for_each(("given", "wrong"), [("hi there", 0), ("hi", 1)])
def test_an_agent_gets_what_was_pushed(given: str, wrong: int) -> None:
    story = turn("T1")
    story.tell(answers("ok", given=given), node="sim", turn="t1")
    assert len(story.wrong) == wrong


def test_a_turn_for_what_nobody_said_is_found() -> None:
    story = turn("T1")
    story.tell(answers("ok"), node="sim", turn="t9")
    assert story.wrong == ["agent main got a message that nobody pushed"]


def test_the_turns_of_results_are_no_messages() -> None:
    story = turn("T1")
    story.tell(answers("ok", given="a result", work=WorkKind.CALLBACK), node="sim", turn="t9")
    assert story.wrong == []


def test_a_gateway_without_a_world_is_not_judged() -> None:
    story = Story("T1")
    story.tell(InboundReceived(address=PLACE, peer=ANA, message_id="1", text="hi"), inbound="m1")
    assert story.end().verdict.status is Status.NOT_EXERCISED


# -------------------------------------------------------------------- T2


@for_each(
    ("said", "seen", "wrong"),
    [
        ("one two three", ["one two three"], 0),
        ("one two three", ["one two"], 1),
        ("one two three", ["one two three three"], 1),
        ("one two three", ["three two one"], 1),
        ("one two three", ["One two three"], 1),
        ("one\n\ntwo three ", ["one", "two three"], 0),
        # A torn word, and a sign that is missing.
        ("one two three", ["one t", "wo thre"], 2),
        ("**one** `two`", ["one two"], 0),
        ("well done 👍", ["well done"], 1),
        ("a < b & c", ["a < b & c"], 0),
        ("```py\none\ntwo\n```", ["```py\none\n```", "```py\ntwo\n```"], 0),
        ("<think>hm</think>three", ["three"], 0),
        ("<think>hm</think>three", ["thre"], 1),
        # Whom the reasoning reaches is judged by C9.
        ("<think>hm</think>three", ["<think>hm</think>three"], 0),
        ("see\nMEDIA:https://x.org/a.png", ["see\nhttps://x.org/a.png"], 0),
        ("quiet!\nNO_REPLY", ["quiet!"], 1),
        ("> **NO_REPLY**\nquiet!", ["quiet!"], 1),
        ("write NO_REPLY alone", ["write NO_REPLY alone"], 0),
        (None, ["anything"], 1),
    ],
)
def test_people_see_what_the_agent_returned(said: str | None, seen: list[str], wrong: int) -> None:
    story = turn("T2")
    story.tell(answers(said), node="sim", turn="t1")
    shows(story, *seen)
    assert len(story.wrong) == wrong
    assert story.verdict.exercised == 1


@for_each(("seen", "wrong"), [(["one"], 0), (["two three"], 0), (["two one"], 1)])
def test_of_what_did_not_arrive_each_part_is_part_of_it(seen: list[str], wrong: int) -> None:
    story = turn("T2")
    story.tell(answers("one two three"), node="sim", turn="t1")
    story.prepared("i1", *seen, "more", turn="t1", inbound="m1")
    story.accepted(seen[0])
    assert len(story.end().wrong) == wrong


def test_a_whole_message_is_judged_as_one_wherever_it_arrived() -> None:
    story = turn("T2")
    story.tell(answers("one two three"), node="sim", turn="t1")
    assert len(shows(story, "one two", end=False).wrong) == 1


def test_the_second_copy_of_a_part_has_the_mark_of_a_repeat() -> None:
    story = turn("T2", mark="again: ")
    story.tell(answers("one two"), node="sim", turn="t1")
    story.prepared("i1", "one two", turn="t1", inbound="m1")
    story.accepted("again: one two", attempt=1)
    story.settled(IntentState.DELIVERED)
    assert story.end().wrong == []


def test_the_mark_of_another_context_does_not_count() -> None:
    story = turn("T2", contexts=(AgentContexts(agent="main"),))
    story.tell(AgentSends(agent="main", text="one two", to="telegram/@ben"), node="sim", turn="t1")
    assert shows(story, "[from #ops on slack] one two", intent_kind=IntentKind.TOOL).wrong == []


def test_of_a_cut_message_the_first_part_has_half_of_the_mark() -> None:
    story = turn("T2", contexts=(AgentContexts(agent="main", suffix=" (from {channel})"),))
    story.tell(AgentSends(agent="main", text="one two", to="telegram/@ben"), node="sim", turn="t1")
    story.prepared("i1", "[from #ops] one", "two (from #ops)", turn="t1", inbound="m1", intent_kind=IntentKind.TOOL)
    story.accepted("[from #ops] one")
    assert story.end().wrong == []


@for_each(("original", "seen", "wrong"), [("one", "one!", 0), ("one", "one", 1), ("on", "one!", 1)])
def test_what_hooks_made_of_it_counts_and_what_they_were_given(original: str, seen: str, wrong: int) -> None:
    story = turn("T2")
    story.tell(answers("one"), node="sim", turn="t1")
    story.tell(HookRewrote(by="hook x", text="one!", original=original), node="sim", intent="i1")
    assert len(shows(story, seen).wrong) == wrong


def test_a_hook_that_also_reroutes_may_be_refused_as_a_whole() -> None:
    for seen in ("one", "one!"):
        story = turn("T2")
        story.tell(answers("one"), node="sim", turn="t1")
        story.tell(HookRewrote(by="hook x", text="one!", original="one", more=True), node="sim", intent="i1")
        assert shows(story, seen).wrong == []


@for_each(
    ("said", "seen", "wrong"),
    [
        ("HEARTBEAT_OK all is well", "all is well", 0),
        ("all is well", "[beat] all is well", 0),
        ("HEARTBEAT_OK", "[beat] HEARTBEAT_OK", 0),
        ("Reasoning: hm\n\nall is well", "all is well", 0),
        ("Reasoning: hm\n\nall is well", "Reasoning: hm\n\nall is well", 1),
        ("HEARTBEAT_OK all is well", "all is", 1),
    ],
)
def test_a_heartbeat_shows_what_it_returned_without_its_token(said: str, seen: str, wrong: int) -> None:
    story = turn("T2")
    story.tell(WorldHeartbeat(agent="main", every=60.0, prefix="[beat]"), node="sim")
    story.tell(answers(said, work=WorkKind.HEARTBEAT), node="sim", turn="t1")
    assert len(shows(story, seen, intent_kind=IntentKind.HEARTBEAT).wrong) == wrong


@for_each(
    ("text", "html", "wrong"),
    [
        ("**one**", "<b>one</b>", 0),
        ("**one**", "**one**", 1),
        ("**one**", "one", 1),
        ("**one**", "<b>two</b>", 1),
        ("a < b", "a &lt; b", 0),
    ],
)
def test_the_html_shows_the_text_with_its_styles(text: str, html: str, wrong: int) -> None:
    story = turn("T2")
    story.tell(answers(text), node="sim", turn="t1")
    assert len(shows(story, text, html=html).wrong) == wrong


@for_each(("size", "wrong"), [(10, 0), (11, 1)])
def test_no_part_is_longer_than_configured(size: int, wrong: int) -> None:
    limit = TextLimit(channel="telegram", account="default", length=10)
    story = turn("T2", texts=(limit,))
    story.tell(answers("x" * size), node="sim", turn="t1")
    assert len(shows(story, "x" * size).wrong) == wrong


@for_each(("shown", "repeated", "wrong"), [("one two", False, 0), ("one", False, 1), ("one", True, 0)])
def test_an_edit_shows_what_its_agent_wanted(shown: str, repeated: bool, wrong: int) -> None:
    story = turn("T2")
    story.tell(AgentActs(action="edit", call=1, text="one two"), node="sim", turn="t1")
    story.prepared("i1", "one two", turn="t1", inbound="m1", intent_kind=IntentKind.TOOL, action=Action.EDIT)
    edited = WireActed(
        action=Action.EDIT, address=PLACE, requested=PLACE, key="k", attempt=1, text=shown, repeated=repeated
    )
    story.tell(edited, node="telegram", intent="i1")
    assert len(story.end().wrong) == wrong


@for_each(("deadline", "wrong"), [(9.0, 1), (None, 1), (4.0, 0)])
def test_what_a_worker_answers_after_its_deadline_is_no_result(deadline: float | None, wrong: int) -> None:
    story = HandStory("T2")
    story.world()
    story.asks()
    story.delegates(deadline=deadline)
    story.tell(answers("ok"), node="sim", turn="t-m1")
    story.took()
    story.now += 5.0
    story.worker_answers("forty zebras")
    story.says("no result", inbound="m1", delegation="d1", intent_kind=IntentKind.ANNOUNCE)
    assert len(story.end().wrong) == wrong


@for_each(("preview", "wrong"), [("the disk", 0), ("the disk!", 0), ("the moon", 1)])
def test_an_alert_repeats_what_the_agent_said_or_what_hooks_made_of_it(preview: str, wrong: int) -> None:
    story = turn("H2")
    story.tell(WorldHeartbeat(agent="main", every=60.0), node="sim")
    story.tell(HeartbeatStarted(agent="main", guards=(), wake="interval", to=PLACE), inbound="m1")
    story.tell(HookRewrote(by="hook x", text="the disk!", original="the disk"), node="sim", intent="i1")
    shows(story, "the disk!", intent_kind=IntentKind.HEARTBEAT)
    left_out = HeartbeatEnded(agent="main", status="skipped", reason=Reason.DUPLICATE, to=PLACE, preview=preview)
    story.tell(left_out, inbound="m1")
    assert len(story.wrong) == wrong


_ROOM = Address(channel="telegram", account="a2", kind=ChatKind.GROUP, conversation="-100")


@for_each(("topic", "wrong"), [("7", 0), (None, 0), ("8", 1)])
def test_a_target_that_is_the_conversation_of_the_turn_keeps_its_topic(topic: str | None, wrong: int) -> None:
    story = turn("A3")
    at = msgspec.structs.replace(_ROOM, account="a1", thread="7")
    place = msgspec.structs.replace(_ROOM, thread=topic)
    story.prepared("i1", turn="t1", inbound="m1", place=place, intent_kind=IntentKind.TOOL)
    asked = '{"action":"send","target":"telegram:-100"}'
    answer = AgentTold(
        agent="main", at=at, asked=asked, aim=_ROOM, action="send", status="queued", place=place, named="i1"
    )
    story.tell(answer, node="sim", turn="t1")
    assert len(story.end().wrong) == wrong


def test_notices_have_no_author() -> None:
    story = turn("T2")
    story.tell(answers("one"), node="sim", turn="t1")
    assert shows(story, "Sorry.", intent_kind=IntentKind.NOTICE).verdict.status is Status.NOT_EXERCISED


def test_a_trace_without_the_words_of_agents_is_not_judged_and_says_so() -> None:
    (path,) = (path for path in FILES if path.stem == "words-arrive-whole")
    events = defect_run(path, "answers-lose-their-last-word").trace.events
    told_of = [event for event in events if event.kind not in ("agent.answered", "client.asked")]
    verdicts = {verdict.id: verdict for verdict in judge(told_of)}
    assert verdicts["T2"].status is Status.NOT_EXERCISED
    assert verdicts["T2"].note == "not judged: this trace does not say what agents returned"
    assert verdicts["T1"].status is Status.OK


# -------------------------------------------------------------------- T3


def withheld(closed: tuple[str, ...] = ("telegram",)) -> Story:
    """Bound work has returned "zebra", and the gateway has recorded a fallback."""
    story = turn("T3", closed=closed)
    bound = BindingBound(conversation=ELSEWHERE, session_key="w", target_kind="subagent", placement="child", by="spawn")
    story.tell(bound, binding="b1", delegation="d1")
    answered = HandAnswered(
        hand="codex", outcome=HandOutcome.OK, text="zebra", process="gateway", generation=1, marks=("zebra",)
    )
    story.tell(answered, node="sim", delegation="d1")
    story.tell(Fallback(asked=ELSEWHERE, used=PLACE, reason=Reason.NO_ACTIVE_BINDING), delegation="d1")
    return story


@for_each(
    ("place", "fields", "wrong"),
    [
        (PLACE, {"delegation": "d1"}, 1),
        (PLACE, {"intent_kind": IntentKind.NOTICE}, 1),
        (ELSEWHERE, {"delegation": "d1"}, 0),
        (PLACE, {"delegation": "d1", "targeted": True}, 0),
        (PLACE, {"turn": "t1", "inbound": "m1"}, 0),
    ],
)
def test_no_word_of_a_closed_result_is_reported_elsewhere(place: Address, fields: dict[str, Any], wrong: int) -> None:
    story = withheld()
    story.prepared("i1", "it says zebra", place=place, **fields)
    story.accepted("it says zebra", place=place)
    assert len(story.end().wrong) == wrong
    assert story.verdict.exercised == 1


def test_where_a_fallback_is_configured_nothing_is_closed() -> None:
    story = withheld(closed=())
    story.prepared("i1", "zebra", delegation="d1")
    story.accepted("zebra")
    assert story.end().verdict.status is Status.NOT_EXERCISED


def test_what_a_person_says_is_no_secret_of_the_hand() -> None:
    story = withheld()
    story.tell(PeerSaid(address=PLACE, peer=ANA, message_id="2", text="a zebra?"), node="telegram")
    story.prepared("i1", "zebra", delegation="d1")
    story.accepted("zebra")
    assert story.end().wrong == []


# -------------------------------------------------------------------- T5


@for_each(
    ("trouble", "before", "wrong"),
    [
        (None, 0.0, 1),
        (WireRefused(address=PLACE, reason=Reason.REFUSED, chunk=0, attempt=1), 0.0, 0),
        (WireRefused(address=ELSEWHERE, reason=Reason.REFUSED, chunk=0, attempt=1), 0.0, 0),
        (WireRefused(address=direct("1", channel="slack"), reason=Reason.REFUSED, chunk=0, attempt=1), 0.0, 1),
        (WireResponseLost(address=PLACE, chunk=0, attempt=1), 0.0, 0),
        (ProcessCrashed(why="x"), 0.0, 0),
        (FaultFired(fault="send/drop"), 0.0, 0),
        (FaultFired(fault="connect/error", lasts=3.0), 3600.0, 1),
        (FaultFired(fault="connect/error", lasts=4000.0), 3600.0, 0),
    ],
)
def test_a_message_ends_badly_only_if_something_had_happened(trouble: Body | None, before: float, wrong: int) -> None:
    story = Story("T5")
    story.world()
    story.tell(WorldLimits(max_attempts=5, max_age=60.0, backoff=5.0, timeout=30.0), node="sim")
    if trouble is not None and before:
        story.tell(trouble, node="sim")
    story.now += before
    story.prepared("i1")
    if trouble is not None and not before:
        story.tell(trouble, node="sim", intent="i1")
    story.settled(IntentState.FAILED, reason=Reason.REFUSED)
    assert len(story.end().wrong) == wrong


def test_a_platform_that_is_slower_than_the_gateway_waits_is_not_judged() -> None:
    story = Story("T5")
    story.world()
    story.tell(WorldLimits(max_attempts=5, max_age=60.0, timeout=0.0), node="sim")
    story.prepared("i1")
    story.settled(IntentState.UNKNOWN, reason=Reason.PARKED)
    assert story.end().verdict.status is Status.NOT_EXERCISED


# -------------------------------------------------------------------- T6


@for_each(
    ("then", "wrong"),
    [
        ((ClientAnswered(key="k", status="delivered"),), 0),
        ((), 1),
        ((ProcessCrashed(why="x"),), 0),
        ((ProcessCrashed(why="x"), ProcessStarted(), ClientRequested(key="l")), 1),
    ],
)
def test_each_client_gets_an_answer(then: tuple[Body, ...], wrong: int) -> None:
    story = Story("T6")
    story.world()
    asked = story.tell(ClientRequested(key="k"), node="sim")
    for body in then:
        story.tell(body, node="gateway" if isinstance(body, ProcessStarted) else "sim", cause=asked)
    assert len(story.end().wrong) == wrong


def test_with_two_processes_one_stands_by_and_answers_nobody() -> None:
    story = Story("T6")
    story.world()
    story.tell(ProcessStarted(), node="second")
    story.tell(ClientRequested(key="k"), node="sim")
    assert story.end().wrong == []


@for_each(
    ("kind", "said", "wrong"),
    [
        (IntentKind.REPLY, "answers", 0),
        (IntentKind.REPLY, "sends", 1),
        (IntentKind.TOOL, "sends", 0),
        (IntentKind.TOOL, "answers", 1),
        (IntentKind.SEND, "answers", 1),
        (IntentKind.NOTICE, "answers", 0),
        (IntentKind.ANNOUNCE, "answers", 0),
    ],
)
def test_nothing_goes_out_for_nobody(kind: IntentKind, said: str, wrong: int) -> None:
    story = turn("T6")
    story.tell(answers("elsewhere"), node="sim", turn="t2")
    story.tell(answers("hi") if said == "answers" else AgentSends(agent="main", text="hi"), node="sim", turn="t1")
    assert len(shows(story, "hi", intent_kind=kind).wrong) == wrong


def test_a_command_is_answered_by_the_gateway_itself() -> None:
    story = Story("T6")
    story.world()
    told(story, "/unfocus")
    story.tell(answers("elsewhere"), node="sim", turn="t2")
    assert shows(story, "Unbound.").wrong == []
