"""Whose conversation a bound place is; its lanes, rows and labels."""

from tests.support.app.author import AUDIT, BO, DM, IDLE, KEYS, OPS, RELEASE, Author
from tests.support.app.binding_views import seq_of, small, texts
from tests.support.app.bound_runs import CHILD, HOOK, NIGHT, bind, decide, end, heard
from tests.support.app.traces import bound_completion
from trunkline.app.view.explain.explanation import explain
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.app.view.rows.lanes import Look, TimelineLanes
from trunkline.app.view.sessions.alignment_index import TranscriptDifference
from trunkline.app.view.sessions.transcripts import Sessions
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.core.events.bindings import FallbackDenied
from trunkline.core.events.delivery import AttemptEnded, IntentPrepared, MirrorAppended
from trunkline.core.events.gateway import ProcessStarted, TranscriptAppended, TurnStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, IntentKind, Peer, WorkKind
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import PeerSaid

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
    assert labels[:5] == [("#ops", False), ("deploy", True), ("audit", True), ("release 41", True), ("#random", False)]


def test_a_bound_conversation_is_never_idle_even_if_nobody_announced_it():
    stray = Address(channel="discord", account="main", kind=ChatKind.CHANNEL, conversation="777", parent="501")
    view = small(lambda author: bind(author, "b1", stray, NIGHT))
    lanes = [lane for lane in TimelineLanes(view).all if lane.place == stray.lane]
    assert [(lane.label, lane.child, lane.idle) for lane in lanes] == [("777", True, False)]


def test_which_lanes_are_bound_follows_the_cursor(view):
    assert view.bindings.bound(0) == {}
    assert view.bindings.bound(seq_of(view, "binding.touched")) == {RELEASE.lane: "b1", AUDIT.lane: "b2", DM.lane: "b3"}
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
