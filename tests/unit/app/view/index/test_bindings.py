"""Session bindings as they are shown: records at any moment, life bars, the resolver, explanations, lanes and words."""

import pytest

from tests.support.app.bound_runs import CHILD, HOOK, NIGHT, PLACES, bind, bound_threads, decide, end, heard, touch
from tests.support.app.traces import AUDIT, BO, DEPLOY, DM, IDLE, KEYS, OPS, RELEASE, Author, bound_completion, verdicts
from trunkline.app.runs.model import Run
from trunkline.app.view.bindings.lifetime_bar import BarCell, BarPart, column, life_bar
from trunkline.app.view.explain.binding_facts import record_facts
from trunkline.app.view.explain.explanation import explain
from trunkline.app.view.explain.resolver import answer, read_place, resolution_facts, resolve, title
from trunkline.app.view.index.bindings import BarMark, BindingHistory, Standing
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.sessions.transcripts import Sessions, TranscriptDifference
from trunkline.app.view.timeline.lanes import TimelineLanes
from trunkline.app.view.timeline.row import Look
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.core.bindings.records import BindingStatus
from trunkline.core.errors import UsageError
from trunkline.core.events.bindings import FallbackDenied, RouterDecided
from trunkline.core.events.delivery import AttemptEnded, IntentPrepared, MirrorAppended
from trunkline.core.events.gateway import ProcessStarted, TranscriptAppended, TurnStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentKind, Peer, WorkKind
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import PeerSaid

TOPIC = Address(channel="telegram", account="main", kind=ChatKind.GROUP, conversation="-100", thread="7")


def small(*acts) -> RunView:
    """A run in which `acts` happen, a second each."""
    author = Author()
    author.world(PLACES)
    for act in acts:
        author.wait(1.0)
        act(author)
    return RunView(Run(trace=author.trace("small", title=""), verdicts=verdicts()))


@pytest.fixture(scope="module")
def view() -> RunView:
    return RunView(bound_threads())


def seq_of(view: RunView, kind: str, number: int = 0) -> int:
    return [event.seq for event in view.events if event.kind == kind][number]


def standings(view: RunView, seq: int) -> dict[str, str]:
    return {row.id: view.bindings.standing(row, seq).value for row in view.bindings.rows(seq)}


def texts(lines, label: str) -> list[str]:
    """The lines under a label, up to the next one."""
    found, on = [], False
    for line in lines:
        on = line.label == label if line.label else on
        if on:
            found.append(line.text)
    return found


# ---------------------------------------------------------------- records


def test_one_row_alone_is_that_of_all_rows(view):
    for seq in range(0, view.last + 1, 7):
        assert [view.bindings.nth(index, seq) for index in range(len(view.bindings))] == view.bindings.rows(seq)


def test_what_a_binding_is_worth_at_any_moment(view):
    first = seq_of(view, "binding.bound")
    assert standings(view, first - 1) == dict.fromkeys(("b1", "b2", "b3", "b4", "b5"), "later")
    assert standings(view, first)["b1"] == "active"
    assert standings(view, seq_of(view, "binding.ending"))["b2"] == "ending"
    assert standings(view, view.last) == {
        "b1": "ended",
        "b2": "ended",
        "b3": "expired",
        "b4": "ended",
        "b5": "active",
    }


def test_a_deadline_that_passed_ends_nothing_and_routes_nothing(view):
    row = view.bindings.row("b3", view.last)
    assert row is not None
    assert row.status is BindingStatus.ACTIVE
    assert view.bindings.standing(row, view.last) is Standing.EXPIRED
    assert DM.lane not in view.bindings.bound(view.last)


def test_the_fields_of_a_record_are_those_of_the_trace(view):
    row = view.bindings.row("b1", view.last)
    assert row is not None
    assert (row.conversation, row.session_key, row.target_kind) == (RELEASE, CHILD, "subagent")
    assert (row.placement, row.by, row.label) == ("child", "spawn", "codex")
    assert (row.identity, row.degraded, row.as_bot) == (HOOK, Reason.IDENTITY_GONE, 1)
    assert (row.touches, row.active_at) == (3, 6.36)
    assert (row.bound_at, row.ended_at, row.reason) == (0.52, 7.36, Reason.THREAD_GONE)


def test_a_touch_moves_the_deadline_and_is_counted_at_the_cursor(view):
    before, after = (seq_of(view, "binding.touched") - 1, seq_of(view, "binding.touched", 1))
    rows = [view.bindings.row("b1", seq) for seq in (before, after)]
    assert [row.touches for row in rows if row] == [0, 2]
    assert [row.expires_at for row in rows if row] == pytest.approx([4.52, 6.44])


def test_a_binding_that_an_earlier_run_made_is_known_from_its_end():
    view = small(lambda author: end(author, "b9", AUDIT, NIGHT, Reason.UNBOUND, by="operator"))
    row = view.bindings.row("b9", view.last)
    assert row is not None
    assert (row.status, row.session_key, row.ended_by) == (BindingStatus.ENDED, NIGHT, "operator")


def test_events_without_a_known_binding_change_nothing():
    view = small(lambda author: touch(author, "b9"))
    assert (len(view.bindings), view.bindings.rows(view.last), view.bindings.row("b9", 3)) == (0, [], None)
    assert (len(BindingHistory(())), BindingHistory(()).span) == (0, (0.0, 0.0))


def test_an_event_leads_to_its_binding(view):
    def concerned(kind: str, number: int = 0) -> str | None:
        return view.bindings.concerned(view.event(seq_of(view, kind, number)))

    assert concerned("binding.touched") == "b1"
    assert concerned("router.decided") == "b1"
    assert concerned("wire.accepted") == "b1", "by the conversation"
    assert concerned("process.started") is None
    assert concerned("binding.bound", 4) == "b5"


# ---------------------------------------------------------------- life bars


def drawn(view: RunView, binding: str, width: int, seq: int | None = None) -> list[BarCell]:
    row = view.bindings.row(binding, view.last)
    assert row is not None
    now = view.time(view.last if seq is None else seq)
    return life_bar(row, view.bindings.points(binding), view.bindings.span, now, width)


def shape(cells: list[BarCell]) -> str:
    return "".join(cell.char for cell in cells).rstrip()


def test_life_bars_have_the_shape_of_a_life(view):
    assert shape(drawn(view, "b1", 40)) == "├───────●─●──────────────────●────┤"
    assert shape(drawn(view, "b2", 40)) == "  ├──────────╌╌╌╌┤"
    assert shape(drawn(view, "b3", 40)) == "  ├─────────┊"
    assert shape(drawn(view, "b4", 40)) == " " * 22 + "├─┤"
    assert shape(drawn(view, "b5", 40)) == " " * 24 + "├──────────────▸"


@pytest.mark.parametrize("width", [1, 2, 5, 24, 300])
def test_a_life_bar_fits_any_width(view, width):
    for binding in ("b1", "b2", "b3", "b4", "b5"):
        assert len(drawn(view, binding, width)) == width


def test_what_lies_after_the_cursor_is_there_and_marked(view):
    at = seq_of(view, "binding.touched", 1)
    cells = drawn(view, "b1", 40, at)
    assert shape(cells) == shape(drawn(view, "b1", 40))
    here = column(view.time(at), view.bindings.span, 40)
    assert [cell.later for cell in cells[: here + 1]] == [False] * (here + 1)
    assert all(cell.later for cell in cells[here + 1 :] if cell.part is not BarPart.NONE)


def test_a_use_after_the_end_is_wrong():
    view = small(
        lambda author: bind(author, "b1", AUDIT, NIGHT),
        lambda author: end(author, "b1", AUDIT, NIGHT, Reason.UNBOUND),
        lambda author: heard(author, AUDIT, BO, "still there?", NIGHT, "b1"),
        lambda author: touch(author, "b1"),
        lambda author: author.rest(),
    )
    assert [point.mark for point in view.bindings.points("b1")].count(BarMark.WRONG) == 2
    assert "┤" in shape(drawn(view, "b1", 40))
    assert shape(drawn(view, "b1", 40)).count("✗") == 2
    first, second = view.bindings.misused("b1", view.last)
    assert view.bindings.misused("b1", second.seq - 1) == [first]
    (row,) = view.bindings.rows(view.last)
    told = [fact for fact in record_facts(view, row, view.last) if fact.label == "broken"]
    assert [fact.seq for fact in told] == [first.seq, second.seq]
    assert all(fact.text.startswith("✗ used at ") for fact in told)


def test_a_route_by_an_expired_binding_is_wrong_and_one_in_time_is_not():
    view = small(
        lambda author: bind(author, "b1", AUDIT, NIGHT, idle=1.5),
        lambda author: heard(author, AUDIT, BO, "in time", NIGHT, "b1"),
        lambda author: heard(author, AUDIT, BO, "too late", NIGHT, "b1"),
    )
    wrong = [point.seq for point in view.bindings.points("b1") if point.mark is BarMark.WRONG]
    assert wrong == [seq_of(view, "route.decided", 1)]


def test_a_moment_that_is_the_whole_run_has_a_bar():
    view = small(lambda author: bind(author, "b1", AUDIT, NIGHT))
    assert view.bindings.span == (1.0, 1.0)
    assert len(drawn(view, "b1", 10)) == 10


# ---------------------------------------------------------------- the resolver


def test_a_bound_conversation_resolves_to_its_session(view):
    found = resolve(view, IDLE, view.last)
    assert found.binding is not None
    assert (found.binding.id, found.session_key) == ("b5", NIGHT)
    assert answer(view, found) == f"resolve discord #random → b5 → session {NIGHT}"
    assert [(one.row.id, one.chosen) for one in found.considered][:2] == [("b5", True), ("b4", False)]


def test_the_answer_is_that_of_the_cursor(view):
    at = seq_of(view, "binding.bound", 3)
    assert [getattr(resolve(view, IDLE, seq).binding, "id", None) for seq in (at - 1, at, view.last)] == [
        None,
        "b4",
        "b5",
    ]
    assert resolve(view, IDLE, 0).considered == ()


def test_every_candidate_tells_why_it_lost(view):
    whys = {one.row.id: one.why for one in resolve(view, RELEASE, view.last).considered}
    assert whys["b1"] == "the same place, but it ended at 7.360: thread-gone"
    assert whys["b2"] == "same account, another conversation"
    assert whys["b3"] == "another platform"
    whys = {one.row.id: one.why for one in resolve(view, OPS, view.last).considered}
    assert whys["b1"] == "a thread of it: only what is said in that thread goes there"
    whys = {one.row.id: one.why for one in resolve(view, DM, view.last).considered}
    assert whys["b3"] == "the same place, but its deadline passed at 3.020: it does not route"
    at = seq_of(view, "binding.ending")
    whys = {one.row.id: one.why for one in resolve(view, AUDIT, at).considered}
    assert whys["b2"] == "the same place, but it is ending and takes nothing new: unbound"


def test_parents_topics_and_accounts_do_not_take_each_others_place():
    group = Address(channel="telegram", account="main", kind=ChatKind.GROUP, conversation="-100")
    other = Address(channel="telegram", account="main", kind=ChatKind.GROUP, conversation="-100", thread="8")
    night = Address(channel="telegram", account="night", kind=ChatKind.GROUP, conversation="-100", thread="7")
    view = small(
        lambda author: bind(author, "b1", group, NIGHT),
        lambda author: bind(author, "b2", other, NIGHT),
        lambda author: bind(author, "b3", night, NIGHT),
    )
    found = resolve(view, TOPIC, view.last)
    assert found.binding is None
    assert {one.row.id: one.why for one in found.considered} == {
        "b1": "the conversation above it: a binding does not take the threads below",
        "b2": "same conversation, another thread",
        "b3": "same platform, another account",
    }


def test_without_a_binding_it_goes_the_default_route_of_its_last_message(view):
    found = resolve(view, OPS, view.last)
    assert (found.binding, found.session_key) == (None, KEYS[OPS])
    assert found.seq == seq_of(view, "route.decided")
    assert answer(view, found) == f"resolve discord #ops → not bound → default route → session {KEYS[OPS]}"
    assert resolve(view, OPS, found.seq - 1).session_key is None


def test_a_route_by_a_binding_is_no_default_route(view):
    assert resolve(view, RELEASE, view.last).session_key is None


def test_the_answer_as_facts_names_its_event(view):
    facts = list(resolution_facts(view, resolve(view, IDLE, view.last)))
    assert facts[0].label == "answer"
    assert facts[0].seq == seq_of(view, "binding.bound", 4)
    assert [fact.text for fact in facts if "b5" in fact.text and fact.text.startswith("✓")] == [
        "✓ b5 active discord #random: same channel, account, conversation and thread"
    ]
    none = small()
    assert texts(resolution_facts(none, resolve(none, OPS, none.last)), "bindings") == ["none was made so far"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("#ops", OPS),
        ("ops/deploy", DEPLOY),
        ("#ops ▸ deploy", DEPLOY),
        ("#ops > deploy", DEPLOY),
        ("discord/ops/deploy", DEPLOY),
        (" DEPLOY ", DEPLOY),
        ("@bo", DM),
        ("release 41", RELEASE),
        ("discord:main/601", DEPLOY),
        ("discord:main/501/601", DEPLOY),
        ("telegram:main/77", DM),
    ],
)
def test_a_place_is_named_as_people_name_it(view, text, place):
    assert read_place(view.places, text) == place


def test_a_place_that_the_run_does_not_know_is_taken_by_its_ids(view):
    found = read_place(view.places, "Telegram:main/-100/7")
    assert found.lane == TOPIC.lane
    assert read_place(view.places, "discord:main/501/999").parent == "501"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "name a conversation"),
        ("nowhere", "no place of this run is called 'nowhere'"),
        ("dep", "there is discord/#ops/deploy"),
        ("discord:main", "no place of this run"),
        ("discord:main/1/2/3", "no place of this run"),
        (":/1", "no place of this run"),
    ],
)
def test_what_is_no_place_says_what_there_is(view, text, told):
    with pytest.raises(UsageError, match=None) as caught:
        read_place(view.places, text)
    assert told in caught.value.facts


def test_two_places_of_one_name_are_not_guessed():
    author = Author()
    again = Address(channel="telegram", account="main", kind=ChatKind.GROUP, conversation="-1")
    author.world([(OPS, "#ops", None), (again, "#ops", None)])
    view = RunView(Run(trace=author.trace("two", title=""), verdicts=()))
    with pytest.raises(UsageError) as caught:
        read_place(view.places, "ops")
    assert caught.value.facts == "2 places are called so: discord/#ops, telegram/#ops"
    assert read_place(view.places, "telegram/ops") == again


def test_a_thread_is_shown_under_its_parent(view):
    assert [title(view.places, place) for place in (OPS, RELEASE, DM)] == ["#ops", "#ops ▸ release 41", "@bo"]


# ---------------------------------------------------------------- explanations


def test_the_record_tells_fields_resolution_and_story(view):
    row = view.bindings.row("b1", view.last)
    assert row is not None
    facts = list(record_facts(view, row, view.last))
    labels = [
        "status",
        "place",
        "session",
        "by",
        "identity",
        "bound",
        "touched",
        "ends",
        "because",
        "resolves",
        "story",
    ]
    assert [fact.label for fact in facts if fact.label] == labels
    assert texts(facts, "status") == ["b1 ended"]
    assert texts(facts, "resolves") == [answer(view, resolve(view, RELEASE, view.last))]
    numbers = [int(line.split()[0].removeprefix("#")) for line in texts(facts, "story")]
    assert numbers == [21, 28, 44, 46, 47, 49, 57, 59]
    assert texts(facts, "touched") == ["3 times, last at 6.360"]


def test_the_record_of_a_binding_that_is_made_later_says_so(view):
    row = view.bindings.row("b5", 0)
    assert row is not None
    facts = list(record_facts(view, row, 0))
    assert texts(facts, "status") == [f"b5 is bound later, at #{row.since}"]
    assert texts(facts, "resolves") == []


def test_a_touch_of_an_operator_is_part_of_the_story_and_one_by_a_message_is_not():
    view = small(
        lambda author: bind(author, "b1", AUDIT, NIGHT),
        lambda author: touch(author, "b1"),
        lambda author: touch(author, "b1", by="operator"),
    )
    row = view.bindings.row("b1", view.last)
    assert row is not None
    assert row.touches == 2
    assert len(texts(record_facts(view, row, view.last), "story")) == 2


def test_long_ids_are_numbered_and_told_once():
    long = "binding-discord/main/602"
    view = small(
        lambda author: bind(author, long, AUDIT, NIGHT),
        lambda author: heard(author, AUDIT, BO, "hello", NIGHT, long),
        lambda author: bind(author, "another", AUDIT, NIGHT, instead_of=long),
    )
    row = view.bindings.row(long, view.last)
    assert row is not None
    facts = list(record_facts(view, row, view.last))
    assert texts(facts, "status") == ["b1 active"]
    assert texts(facts, "id") == [long]
    assert describe(view, view.event(view.last)).endswith("by operator, instead of b1")
    assert texts(explain(view, seq_of(view, "route.decided")).lines, "route")[0].endswith(
        "by binding b1 (binding.session)"
    )
    assert view.bindings.name("nobody knows it") == "nobody knows it"


def test_a_decision_of_the_router_tells_input_candidates_and_result(view):
    lines = explain(view, seq_of(view, "router.decided")).lines
    assert texts(lines, "router") == [f"#44 task_completion of session {CHILD}"]
    assert texts(lines, "asked by") == ["discord/#ops  (fail closed: no guess)"]
    assert [line.split("  ")[0] for line in texts(lines, "tried")] == [
        "✓ b1 active discord/#ops/release 41",
        "✗ b3 active telegram/@bo",
    ]
    assert [line.startswith("bound → discord/#ops/release 41  requester-match") for line in texts(lines, "chosen")] == [
        True
    ]


@pytest.mark.parametrize("kind", ["completion.planned", "intent.prepared", "wire.accepted"])
def test_a_completion_tells_what_the_router_said(view, kind):
    lines = explain(view, seq_of(view, kind)).lines
    assert texts(lines, "router") == [f"#44 task_completion of session {CHILD}"]


def test_a_message_that_went_out_as_the_bot_says_so(view):
    lines = explain(view, seq_of(view, "wire.accepted")).lines
    assert texts(lines, "identity") == [f"#49 chunk 1 goes out as the bot instead of {HOOK}: identity-gone"]
    assert texts(lines, "reopened") == ["#47 the gateway unarchives discord/#ops/release 41 to post there"]


def test_what_was_denied_is_told_with_the_decision_before_it(view):
    lines = explain(view, seq_of(view, "fallback.denied")).lines
    assert [line.label for line in lines if line.label][:5] == ["denied", "because", "router", "asked by", "tried"]
    notice = explain(view, seq_of(view, "wire.accepted", 1)).lines
    assert len(texts(notice, "denied")) == 1


def test_an_event_of_a_binding_tells_its_story(view):
    lines = explain(view, seq_of(view, "binding.ended")).lines
    assert [line.label for line in lines if line.label][:6] == [
        "what",
        "because",
        "status",
        "ends",
        "resolves",
        "story",
    ]
    assert [line.split()[0] for line in texts(lines, "story")] == ["#24", "#33", "#34"]


def test_a_refused_binding_and_a_command_tell_who_and_why(view):
    lines = explain(view, seq_of(view, "binding.refused")).lines
    assert texts(lines, "refused") == ["bind of discord/#random"]
    assert texts(lines, "by") == ["discord:9001"]
    assert texts(explain(view, seq_of(view, "control.called")).lines, "command") == ["/focus nobody"]
    ended = explain(view, seq_of(view, "control.ended")).lines
    assert texts(ended, "command") == ["/focus: refused"]
    assert texts(ended, "because") == ["unknown-session: There is no such session."]


def test_a_router_that_looked_at_nothing_says_so():
    body = RouterDecided(
        event_kind="task_completion",
        target_session_key=CHILD,
        requester=None,
        fail_closed=False,
        mode="fallback",
        reason=Reason.NO_ACTIVE_BINDING,
    )
    view = small(lambda author: author.gateway.record(body))
    lines = explain(view, view.last).lines
    assert texts(lines, "asked by") == ["nobody that is known  (fail open: a guess is allowed)"]
    assert texts(lines, "tried") == ["no binding of that session was there"]


# ---------------------------------------------------------------- whose conversation it is


def conversed(author: Author, place: Address, peer: Peer, text: str, key: str, binding: str | None) -> None:
    """Somebody speaks, and is answered and mirrored in the session that has the conversation."""
    admitted, inbound = heard(author, place, peer, text, key, binding)
    session = "s-" + key
    line = TranscriptAppended(session_id=session, session_key=key, role="user", text=text)
    author.gateway.record(line, admitted, inbound=inbound)
    turn = author.id("turn")
    started = TurnStarted(agent="jeeves", session_id=session, session_key=key, work=WorkKind.MESSAGE, origin=place)
    cause = author.gateway.record(started, admitted, inbound=inbound, turn=turn)
    said(author, place, f"re: {text}", key, cause, binding)


def said(author: Author, place: Address, text: str, key: str, cause: int, binding: str | None) -> None:
    intent = author.id("intent")
    prepared = author.gateway.record(
        IntentPrepared(
            intent_kind=IntentKind.REPLY,
            address=place,
            targeted=False,
            text=text,
            chunks=1,
            key="k",
            reason=Reason.REPLY_TO_ORIGIN,
            mirror_key=key,
        ),
        cause,
        intent=intent,
        binding=binding,
    )
    accepted = WireAccepted(
        address=place, requested=place, text=text, provider_id=author.id("message"), key="k", chunk=0, attempt=1
    )
    wire = author.platform(place).record(accepted, prepared, intent=intent)
    mirror = MirrorAppended(session_id="s-" + key, session_key=key, text=text)
    author.gateway.record(mirror, wire, intent=intent)


def lent() -> RunView:
    """The thread `audit` has its own session, is bound to that of #random for a while, and has its own again."""
    return small(
        lambda author: conversed(author, IDLE, BO, "night shift", NIGHT, None),
        lambda author: conversed(author, AUDIT, BO, "one", KEYS[AUDIT], None),
        lambda author: bind(author, "b1", AUDIT, NIGHT),
        lambda author: conversed(author, AUDIT, BO, "two", NIGHT, "b1"),
        lambda author: end(author, "b1", AUDIT, NIGHT, Reason.UNBOUND),
        lambda author: conversed(author, AUDIT, BO, "three", KEYS[AUDIT], None),
    )


def test_a_conversation_belongs_to_the_bound_session_while_it_is_bound():
    view = lent()
    sessions = Sessions(view)
    held = {key: [pair.seen.text for pair in sessions.pairs(key) if pair.seen] for key in (KEYS[AUDIT], NIGHT)}
    assert held[KEYS[AUDIT]] == ["one", "re: one", "three", "re: three"]
    assert held[NIGHT] == ["night shift", "re: night shift", "two", "re: two"]
    assert not [pair for key in held for pair in sessions.pairs(key) if pair.wrong]


def test_the_list_of_sessions_shows_whose_a_bound_conversation_is_at_the_cursor():
    view = lent()
    sessions = Sessions(view)

    def places(seq: int) -> dict[str, str]:
        return {row.key: row.place for row in sessions.rows(seq)}

    lent_out = {NIGHT: "discord/#random, discord/#ops/audit", KEYS[AUDIT]: "bound to another"}
    assert places(seq_of(view, "binding.bound")) == lent_out
    assert places(view.last) == {NIGHT: "discord/#random", KEYS[AUDIT]: "discord/#ops/audit"}


def test_a_message_in_a_bound_conversation_that_another_session_remembers_is_missed():
    view = small(
        lambda author: conversed(author, IDLE, BO, "night shift", NIGHT, None),
        lambda author: conversed(author, AUDIT, BO, "one", KEYS[AUDIT], None),
        lambda author: bind(author, "b1", AUDIT, NIGHT),
        lambda author: said(author, AUDIT, "done", KEYS[AUDIT], 1, "b1"),
    )
    sessions = Sessions(view)
    wrong = {key: [pair.difference for pair in sessions.pairs(key) if pair.wrong] for key in (NIGHT, KEYS[AUDIT])}
    assert wrong == {NIGHT: [TranscriptDifference.MISSING_MIRROR], KEYS[AUDIT]: [TranscriptDifference.FOREIGN_MIRROR]}


def test_a_notice_belongs_to_the_session_of_its_place(view):
    sessions = Sessions(view)
    notices = [pair for pair in sessions.pairs(KEYS[OPS]) if pair.seen and pair.seen.text.startswith("The result of")]
    assert [pair.wrong for pair in notices] == [False]


# ---------------------------------------------------------------- lanes, rows and words


def test_bound_threads_stand_beside_their_parent(view):
    labels = [(lane.label, lane.child) for lane in TimelineLanes(view).all]
    assert labels[:5] == [
        ("#ops", False),
        ("deploy", True),
        ("audit", True),
        ("release 41", True),
        ("#random", False),
    ]


def test_a_bound_conversation_is_never_idle_even_if_nobody_announced_it():
    stray = Address(channel="discord", account="main", kind=ChatKind.CHANNEL, conversation="777", parent="501")
    view = small(lambda author: bind(author, "b1", stray, NIGHT))
    lanes = [lane for lane in TimelineLanes(view).all if lane.place == stray.lane]
    assert [(lane.label, lane.child, lane.idle) for lane in lanes] == [("777", True, False)]


def test_which_lanes_are_bound_follows_the_cursor(view):
    assert view.bindings.bound(0) == {}
    assert view.bindings.bound(seq_of(view, "binding.touched")) == {
        RELEASE.lane: "b1",
        AUDIT.lane: "b2",
        DM.lane: "b3",
    }
    assert view.bindings.bound(view.last) == {IDLE.lane: "b5"}


def test_rows_of_bindings_stand_at_their_places(view):
    lanes = TimelineLanes(view)
    rows = {row.seq: row for row in Timeline(view, lanes).rows}
    bound = rows[seq_of(view, "binding.bound")]
    assert (bound.text, bound.start) == ("b1 → codex", lanes.of(RELEASE))
    denied = rows[seq_of(view, "fallback.denied")]
    assert (denied.look, denied.start, denied.end) == (Look.SUPPRESSED, lanes.gateway, lanes.of(OPS))
    wire = rows[seq_of(view, "wire.accepted")]
    assert (wire.look, wire.tags) == (Look.FALLBACK, ("FB",))
    assert rows[seq_of(view, "binding.degraded")].start == lanes.of(RELEASE)
    assert seq_of(view, "binding.touched") not in rows


def test_an_attempt_that_is_made_again_as_the_bot_is_no_doubt():
    """Who speaks instead has a row of its own."""
    refused = WireRefused(address=OPS, reason=Reason.IDENTITY_GONE, chunk=0, attempt=1)
    ended = AttemptEnded(chunk=0, attempt=1, reason=Reason.IDENTITY_GONE, decision="as-bot")
    view = small(lambda author: author.platform(OPS).record(refused), lambda author: author.gateway.record(ended))
    rows = Timeline(view, TimelineLanes(view)).rows
    assert (rows[-1].seq, rows[-1].look) == (view.last - 1, Look.RETRY)


def test_a_denied_message_without_another_place_is_a_note():
    body = FallbackDenied(asked=AUDIT, refused=None, reason=Reason.THREAD_GONE)
    view = small(lambda author: author.gateway.record(body))
    lanes = TimelineLanes(view)
    row = Timeline(view, lanes).rows[-1]
    assert (row.is_note, row.start) == (True, lanes.of(AUDIT))


def test_the_words_of_every_new_event(view):
    words = {event.kind: describe(view, event) for event in view.events}
    expected = {
        "binding.degraded": f"b1 has lost {HOOK} after 1 send as the bot: identity-gone",
        "fallback.denied": "fallback denied: not to discord/#ops instead of discord/#ops/release 41"
        " (no-active-binding), only a notice goes there",
        "control.called": "/focus nobody, sent by discord:9001",
        "credential.rotated": "account main on discord has a new token, number 2: older ones are refused",
        "webhook.gone": "webhook w7 on discord is deleted",
        "thread.reopened": "discord/#ops/release 41 accepts messages again",
    }
    assert {kind: words[kind] for kind in expected} == expected


def test_bots_echoes_and_proxies_are_told_apart():
    said = PeerSaid(address=OPS, peer=BO, message_id="2", text="hi", bot=True, echo_of="webhook w7", stands_for="p1")
    view = small(lambda author: author.platform(OPS).record(said))
    assert describe(view, view.event(view.last)) == (
        "bot bo says “hi” in discord/#ops, replacing p1, an echo of the gateway's webhook w7"
    )


def test_a_run_without_bindings_is_explained_as_before():
    view = RunView(bound_completion())
    assert all(not texts(explain(view, seq).lines, "router") for seq in range(view.last + 1))


def test_the_router_is_found_by_cause_when_nothing_else_ties_it():
    def denied(author: Author) -> None:
        decided = decide(author, author.gateway.record(ProcessStarted()), "d9", None, Reason.MISSING_REQUESTER)
        body = FallbackDenied(asked=None, refused=OPS, reason=Reason.MISSING_REQUESTER)
        author.gateway.record(body, decided)

    view = small(denied)
    lines = explain(view, view.last).lines
    assert texts(lines, "router") == [f"#{view.last - 1} task_completion of session {CHILD}"]
