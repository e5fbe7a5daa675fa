"""Transcripts beside what people saw: aligned by what they speak of."""

from tests.support.app.author import ANA, DEPLOY, DM, KEYS, OPS, Author, telegram_dm
from tests.support.app.changes import BOS, MAIN, OWN, changed_sessions, created, talk
from tests.support.app.traces import bound_completion, foreign_mirror, verdicts
from trunkline.app.runs.model import Run
from trunkline.app.view.hands.facts import hand_facts
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.sessions.alignment_index import TranscriptDifference
from trunkline.app.view.sessions.transcripts import Sessions, SessionViolations
from trunkline.core.events.delivery import IntentPrepared, MirrorAppended
from trunkline.core.events.gateway import InboundAdmitted, SessionCreated, SessionMoved, TranscriptAppended
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, WorkKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, PlatformPushed
from trunkline.sim.invariants.base import Status, Verdict, Violation


def sessions_of(run: Run) -> Sessions:
    return Sessions(RunView(run))


def sides(sessions: Sessions, owner):
    return [
        (pair.line.text if pair.line else None, pair.difference, pair.seen.text if pair.seen else None)
        for pair in sessions.pairs(owner)
    ]


def room() -> Author:
    author = Author()
    author.world([(OPS, "ops", None), (DEPLOY, "deploy", "ops"), (DM, "@bo", None)])
    return author


def finish(author: Author) -> Sessions:
    return sessions_of(Run(trace=author.trace("made", title=""), verdicts=verdicts()))


def test_both_sides_agree_where_nothing_is_wrong():
    sessions = sessions_of(bound_completion(bug=False))
    for row in sessions.rows(sessions.view.last):
        assert row.differences == 0
        assert all(pair.line and pair.seen for pair in sessions.pairs(row.owner))


def test_counts_are_those_of_the_moment():
    sessions = sessions_of(bound_completion())
    key = KEYS[DEPLOY]
    end = next(row for row in sessions.rows(sessions.view.last) if row.key == key)
    start = next(row for row in sessions.rows(0) if row.key == key)
    assert (end.heard, end.said, start.heard, start.said) == (1, 2, 0, 0)


def test_the_copy_is_counted_where_it_was_seen():
    sessions = sessions_of(bound_completion())
    copies = {row.key: row.copies for row in sessions.rows(sessions.view.last)}
    assert copies == {KEYS[DEPLOY]: 0, KEYS[DM]: 0, KEYS[OPS]: 1}


def test_a_foreign_mirror_differs_on_both_ends():
    sessions = sessions_of(foreign_mirror())
    assert ("all green", TranscriptDifference.FOREIGN_MIRROR, None) in sides(sessions, KEYS[DM])
    assert (None, TranscriptDifference.MISSING_MIRROR, "all green") in sides(sessions, KEYS[OPS])
    notes = [pair.note for row in sessions.rows(99) for pair in sessions.pairs(row.owner) if pair.note]
    assert notes == ["mirrored for telegram/@bo, not here", "said in discord/#ops, not here"]


def test_a_chunk_accepted_again_is_a_copy():
    sessions = sessions_of(foreign_mirror())
    assert (None, TranscriptDifference.COPY, "done at 3") in sides(sessions, KEYS[OPS])


def repeated(text: str) -> Sessions:
    """Ana gets "yes", and then this, the same chunk again."""
    author = room()
    author.say(OPS, ANA, "hello")
    intent = author.prepare(OPS, "yes", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    author.attempt(OPS, intent)
    wire = author.accept(OPS, "yes", intent)
    author.accept(OPS, text, intent)
    author.settle(OPS, "yes", intent, wire)
    return finish(author)


def test_a_repeat_that_says_so_is_no_copy():
    assert sides(repeated("[may be a repeat] yes"), KEYS[OPS])[-1][1:] == (
        TranscriptDifference.NONE,
        "[may be a repeat] yes",
    )
    assert repeated("[may be a repeat] yes").pairs(KEYS[OPS])[-1].note == "sent once more, and marked as that"
    assert sides(repeated("yes"), KEYS[OPS])[-1][1:] == (TranscriptDifference.COPY, "yes")


def test_file_names_stand_below_the_caption_of_files():
    def mirrored(text: str) -> TranscriptDifference:
        author = room()
        author.say(OPS, ANA, "hello")
        intent = author.prepare(OPS, "the plan", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
        body = WireAccepted(
            address=OPS,
            requested=OPS,
            text="the plan",
            provider_id="p",
            key="k",
            chunk=0,
            attempt=1,
            media=("https://files.example/plan.png?x=1", "./b.pdf"),
        )
        author.platform(OPS).record(body, intent=intent)
        author.gateway.record(MirrorAppended(session_id="s", session_key=KEYS[OPS], text=text), intent=intent)
        return finish(author).pairs(KEYS[OPS])[-1].difference

    assert mirrored("the plan\nplan.png, b.pdf") is TranscriptDifference.NONE
    assert mirrored("plan.png, b.pdf") is TranscriptDifference.TEXT


def test_a_mirror_of_a_message_that_was_never_accepted():
    author = room()
    author.say(OPS, ANA, "hello")
    intent = author.prepare(OPS, "lost", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    author.gateway.record(MirrorAppended(session_id="s", session_key=KEYS[OPS], text="lost"), intent=intent)
    assert sides(finish(author), KEYS[OPS])[-1] == ("lost", TranscriptDifference.UNDELIVERED, None)


def test_a_message_that_the_agent_was_never_given():
    author = room()
    author.say(OPS, ANA, "hello")
    author.platform(OPS).record(PeerSaid(address=OPS, peer=ANA, message_id="9", text="anybody?"))
    assert sides(finish(author), KEYS[OPS])[-1] == (None, TranscriptDifference.UNHEARD, "anybody?")


def test_a_message_that_the_agent_was_given_twice():
    author = room()
    _, inbound = author.say(OPS, ANA, "hello")
    pushed = author.platform(OPS).record(
        PlatformPushed(address=OPS, message_id="p101", original_id="p101", replay=True)
    )
    author.gateway.record(
        TranscriptAppended(session_id="s", session_key=KEYS[OPS], role="user", text="hello"),
        pushed,
        inbound=inbound + "b",
    )
    assert [difference for _, difference, _ in sides(finish(author), KEYS[OPS])] == [
        TranscriptDifference.NONE,
        TranscriptDifference.TWICE,
    ]


def test_chunks_are_parts_of_one_mirror():
    author = room()
    author.say(OPS, ANA, "hello")
    intent = author.prepare(OPS, "one two", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    for chunk, text in enumerate(("one", "two")):
        body = WireAccepted(
            address=OPS, requested=OPS, text=text, provider_id=f"c{chunk}", key="k", chunk=chunk, attempt=1
        )
        author.platform(OPS).record(body, intent=intent)
    author.gateway.record(MirrorAppended(session_id="s", session_key=KEYS[OPS], text="one two"), intent=intent)
    assert {difference for _, difference, _ in sides(finish(author), KEYS[OPS])} == {TranscriptDifference.NONE}


def test_other_words_are_a_difference():
    author = room()
    author.say(OPS, ANA, "hello")
    intent = author.prepare(OPS, "yes", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    author.attempt(OPS, intent)
    author.accept(OPS, "yes", intent)
    author.gateway.record(MirrorAppended(session_id="s", session_key=KEYS[OPS], text="no"), intent=intent)
    assert sides(finish(author), KEYS[OPS])[-1] == ("no", TranscriptDifference.TEXT, "yes")


def test_a_conversation_without_a_session_is_listed():
    author = room()
    author.say(DEPLOY, ANA, "hello")
    intent = author.prepare(OPS, "astray", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    author.attempt(OPS, intent)
    wire = author.accept(OPS, "astray", intent)
    sessions = finish(author)
    orphan = sessions.rows(sessions.view.last)[-1]
    assert (orphan.key, orphan.place, orphan.differences) == ("", "discord/ops", 1)
    assert sides(sessions, orphan.owner) == [(None, TranscriptDifference.MISSING_MIRROR, "astray")]
    assert sessions.owner_of(wire) == OPS.lane


def test_a_completion_of_a_hand_has_no_visible_side():
    author = room()
    author.say(OPS, ANA, "hello")
    author.gateway.record(TranscriptAppended(session_id="s", session_key=KEYS[OPS], role="hand", text="done"))
    assert sides(finish(author), KEYS[OPS])[-1] == ("done", TranscriptDifference.NONE, None)


def test_an_event_belongs_to_a_session_or_to_none():
    sessions = sessions_of(bound_completion())
    kinds = {event.kind: sessions.owner_of(event.seq) for event in sessions.view.events}
    assert kinds["inbound.admitted"] == KEYS[OPS]
    assert kinds["run.ended"] is None
    assert sessions.owner_of(0) is None


# ---------------------------------------------------------------- sessions that move, are left, or are reset


def changed() -> Sessions:
    return sessions_of(changed_sessions())


def seq_of(sessions: Sessions, kind: str, nth: int = 0) -> int:
    return [event.seq for event in sessions.view.events if event.kind == kind][nth]


def names(sessions: Sessions, seq: int) -> dict[str, str]:
    """The key that each session has at a moment, by the one that it has in the end."""
    return {row.key: row.name for row in sessions.rows(seq) if row.last}


def test_a_session_that_moved_is_one_session_under_the_key_of_the_moment():
    sessions = changed()
    moved = seq_of(sessions, "session.moved")
    assert names(sessions, moved - 1)[BOS] == MAIN
    assert names(sessions, moved)[BOS] == BOS
    assert MAIN not in names(sessions, sessions.view.last)
    assert [line for line, _, _ in sides(sessions, BOS)][:2] == ["I am Bo", "re: I am Bo"]


def test_an_event_before_a_move_belongs_to_the_session_that_moved():
    sessions = changed()
    assert sessions.owner_of(seq_of(sessions, "inbound.admitted")) == BOS


def test_a_conversation_that_left_has_its_later_messages_in_its_new_session():
    sessions = changed()
    assert sides(sessions, OWN) == [
        ("who am I?", TranscriptDifference.NONE, "who am I?"),
        ("re: who am I?", TranscriptDifference.NONE, "re: who am I?"),
    ]
    assert ("I am Ana", TranscriptDifference.NONE, "I am Ana") in sides(sessions, BOS)
    assert all(row.differences == 0 for row in sessions.rows(sessions.view.last))


def test_the_list_shows_the_current_conversations_of_a_session():
    sessions = changed()
    left = seq_of(sessions, "session.left")
    places = {seq: {row.key: row.place for row in sessions.rows(seq)} for seq in (left - 1, left)}
    assert places[left - 1][BOS] == "telegram/@bo, telegram/@ana"
    assert places[left][BOS] == "telegram/@bo"


def test_a_reset_begins_a_generation_that_counts_from_nothing():
    sessions = changed()
    reset = seq_of(sessions, "session.reset")
    (row,) = [row for row in sessions.rows(reset) if row.key == BOS]
    assert (row.generation, row.heard, row.said) == (2, 0, 0)
    assert row.title == f"{BOS}  generation 2"
    (row,) = [row for row in sessions.rows(sessions.view.last) if row.key == BOS]
    assert (row.heard, row.said) == (1, 1)


def test_a_reset_is_in_the_transcript_and_late_results_belong_to_the_session_before():
    sessions = changed()
    lines = [pair.line for pair in sessions.pairs(BOS) if pair.line]
    (mark,) = [line for line in lines if line.role == "reset"]
    assert mark.text == "generation 2"
    assert [(line.text, line.earlier) for line in lines if line.earlier] == [("sent before the reset", "gen1<2")]


def test_a_key_that_a_session_moved_away_from_may_be_another_ones():
    author = room()
    for session in ("one", "two"):
        author.gateway.record(
            SessionCreated(
                agent="jeeves", session_key="jeeves:main", session_id=session, generation=1, address=None, by="inbound"
            )
        )
        if session == "one":
            author.gateway.record(
                SessionMoved(
                    old_key="jeeves:main", session_key=KEYS[OPS], session_id="one", reason=Reason.SCOPE_CHANGED
                )
            )
    sessions = finish(author)
    assert [row.key for row in sessions.rows(sessions.view.last)] == [KEYS[OPS], "jeeves:main"]
    assert sessions.owner_of(seq_of(sessions, "session.created", 0)) == KEYS[OPS]
    assert sessions.owner_of(seq_of(sessions, "session.created", 1)) == "jeeves:main"


def test_two_agents_in_one_room_have_their_own_questions_and_answers():
    author = room()
    for key, text in (("one:x", "to one"), ("two:x", "to two")):
        talk(author, OPS, ANA, text, key, f"s-{key}", before=created(key, f"s-{key}", OPS))
    sessions = finish(author)
    assert [sides(sessions, key) for key in ("one:x", "two:x")] == [
        [(text, TranscriptDifference.NONE, text) for text in (f"to {name}", f"re: to {name}")]
        for name in ("one", "two")
    ]


def test_a_session_that_the_sender_named_is_no_difference():
    author = room()
    author.say(OPS, ANA, "hello")
    author.session(DM, KEYS[DM], 1)
    named = IntentPrepared(
        intent_kind=IntentKind.SEND,
        address=OPS,
        targeted=True,
        text="hi",
        chunks=1,
        key="k",
        reason=Reason.CLIENT_SEND,
        mirror_key=KEYS[DM],
        named_session=True,
    )
    author.prepared = author.gateway.record(named, intent="named")
    author.attempt(OPS, "named")
    author.accept(OPS, "hi", "named")
    author.gateway.record(MirrorAppended(session_id="s", session_key=KEYS[DM], text="hi"), intent="named")
    sessions = finish(author)
    assert sides(sessions, KEYS[OPS])[-1] == (None, TranscriptDifference.NONE, "hi")
    assert sides(sessions, KEYS[DM])[-1] == ("hi", TranscriptDifference.NONE, None)
    notes = [pair.note for key in (OPS, DM) for pair in sessions.pairs(KEYS[key]) if pair.note]
    assert notes == ["mirrored for telegram/@bo, as asked", "said in discord/ops, for this session"]


def test_a_session_at_an_unannounced_place_can_be_listed():
    author = room()
    elsewhere = telegram_dm("4711")
    author.gateway.record(created("jeeves:telegram:main:direct:4711", "s", elsewhere))
    assert finish(author).rows(9)[-1].place == "telegram/@4711"


# ---------------------------------------------------------------- what a session broke


def test_violations_of_transcript_rows_are_shown_from_their_event_on():
    sessions = Sessions(RunView(foreign_mirror()))
    blame = SessionViolations(sessions)
    last = sessions.view.last
    rows = {row.key: row for row in sessions.rows(last)}
    assert blame.session(rows[KEYS[OPS]].owner, last) == "D1 M1"
    assert blame.session(rows[KEYS[DM]].owner, last) == "M1"
    mirror = next(pair for pair in sessions.pairs(KEYS[DM]) if pair.wrong)
    assert blame.row(mirror, last) == "M1"
    assert blame.row(mirror, mirror.seq - 1) == ""
    assert blame.is_wrong(mirror)
    heard = next(pair for pair in sessions.pairs(KEYS[OPS]) if pair.line and pair.line.role == "user")
    assert (blame.row(heard, last), blame.is_wrong(heard)) == ("", False)


def test_a_mirror_that_holds_more_than_was_sent_differs():
    author = room()
    admitted, _ = author.say(OPS, ANA, "list")
    intent = author.prepare(OPS, "one", admitted, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    author.attempt(OPS, intent)
    wire = author.accept(OPS, "one", intent)
    author.settle(OPS, "one and two", intent, wire)
    mirror = next(e.seq for e in author.log.events if isinstance(e.body, MirrorAppended))
    told = Violation(
        invariant="M2",
        at=mirror,
        summary="remembered as something else",
        expected=("one",),
        actual=("one and two",),
        evidence=(wire, mirror),
        first_wrong=mirror,
    )
    verdict = Verdict(id="M2", title="", sentence="", status=Status.VIOLATED, exercised=1, violations=(told,))
    run = Run(trace=author.trace("more", title=""), verdicts=(verdict,))
    (pair,) = [pair for pair in Sessions(RunView(run)).pairs(KEYS[OPS]) if pair.seen and not pair.seen.who]
    assert pair.difference is TranscriptDifference.TEXT


def test_the_task_of_an_agent_that_is_a_hand_is_no_message_of_a_person():
    author = room()
    admitted, _ = author.say(OPS, ANA, "what of the lamp?")
    key, task = "scout:subagent:d1", "d1.task"
    asked = DelegationAccepted(hand="scout", hand_kind="agent", task="the lamp", origin=OPS, session_key="k")
    author.gateway.record(asked, admitted, delegation="d1")
    work = InboundAdmitted(work=WorkKind.TASK, session_id="s-" + key, session_key=key)
    body = SessionCreated(
        agent="scout", session_key=key, session_id="s-" + key, generation=1, address=None, by="inbound"
    )
    author.gateway.record(body, admitted)
    given = author.gateway.record(work, admitted, inbound=task)
    line = TranscriptAppended(session_id="s-" + key, session_key=key, role="user", text="look at the lamp")
    author.gateway.record(line, given, inbound=task)
    sessions = finish(author)
    assert sides(sessions, key) == [("look at the lamp", TranscriptDifference.NONE, None)]
    row = next(row for row in sessions.rows(sessions.last) if row.key == key)
    assert (row.differences, row.place) == (0, "task h1")
    hands = HandRuns(sessions.view, MessageHistories(sessions.view))
    (one,) = hands.rows(sessions.last)
    assert {fact.label: fact.text for fact in hand_facts(sessions.view, hands, one, sessions.last)}["session"] == key
