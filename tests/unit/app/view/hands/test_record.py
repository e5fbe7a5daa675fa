"""The record of a delegation: its chain, origin, relations and late results."""

from tests.support.app.author import OPS, Author
from tests.support.app.message_views import small
from trunkline.app.view.hands.cells import hand_cells
from trunkline.app.view.hands.facts import hand_facts
from trunkline.app.view.hands.runs import HandRuns
from trunkline.core.events.hands import (
    AnswerTurnedAway,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationProgressed,
    DelegationStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Peer


def facts_of(view, hands, name: str, seq: int | None = None):
    at = view.last if seq is None else seq
    row = next(row for row in hands.rows(at) if row.name == name)
    return list(hand_facts(view, hands, row, at))


def test_s36_the_chain_leads_from_the_message_to_the_id_of_the_platform(view, hands):
    facts = facts_of(view, hands, "h1")
    start = next(at for at, fact in enumerate(facts) if fact.label == "chain")
    chain = [facts[start], *facts[start + 1 : start + 7]]
    words = ["message", "→ turn", "→ delegation", "→ result", "→ callback turn", "→ queue", "→ platform"]
    assert [fact.text.startswith(word) for fact, word in zip(chain, words, strict=True)] == [True] * 7
    kinds = [view.event(fact.seq).kind for fact in chain]
    assert kinds == [
        "peer.said",
        "turn.started",
        "delegation.accepted",
        "delegation.finished",
        "turn.started",
        "intent.prepared",
        "wire.accepted",
    ]
    assert [fact.seq for fact in chain] == sorted(fact.seq for fact in chain)


def test_s1_the_whole_origin_is_shown(view, hands):
    facts = facts_of(view, hands, "h6")
    text = "\n".join(fact.text for fact in facts)
    place = "channel 601, below 501"
    for part in ("discord/#ops/deploy", place, "account main of discord, as bot jeeves (1)", "ana (9001)", "p101"):
        assert part in text
    for part in ("turn t1", "inbound in1", "agent jeeves", "jeeves:discord:main:channel:501"):
        assert part in text


def test_a_late_result_is_kept_and_shown(view, hands):
    (late,) = [fact for fact in facts_of(view, hands, "h8") if fact.label == "late"]
    assert "ok “soup” from cook" in late.text
    assert "already-finished" in late.text
    assert view.event(late.seq).kind == "delegation.ignored"


def test_a_refused_answer_is_shown(view, hands):
    labels = [fact.label for fact in facts_of(view, hands, "h3")]
    assert labels.count("refused") == 2


def test_parent_and_children_lead_to_each_other(view, hands):
    (below,) = [fact for fact in facts_of(view, hands, "h2") if fact.label == "below"]
    (above,) = [fact for fact in facts_of(view, hands, "h7") if fact.label == "above"]
    assert below.text.startswith("h7  DONE, SUPPRESSED")
    assert above.text.startswith("h2  “prepare the release”")
    seqs = [view.event(fact.seq).delegation for fact in (below, above)]
    assert seqs == [row.id for name in ("h7", "h2") for row in hands.rows(view.last) if row.name == name]


def test_facts_at_every_event_name_events_and_print(view, hands):
    for seq in range(0, view.last + 1, 3):
        for row in hands.rows(seq):
            for fact in hand_facts(view, hands, row, seq):
                assert fact.text.isprintable()
                assert 0 <= fact.seq <= view.last


def test_cells_name_who_asked_and_how_far_it_is(view, hands):
    cells = {row.name: hand_cells(view, row, "h2") for row in hands.rows(view.last)}
    assert cells["h3"]["outcome"].text == "“81 of 90 files”"
    assert cells["h3"]["kind"].text == "worker"
    assert cells["h5"]["asked by"].text == "bo"
    assert cells["h5"]["outcome"].text == "place-gone"
    assert cells["h7"]["hand"].text == "└ mail"
    assert cells["h7"]["outcome"].text == "→ h2"
    assert cells["h2"]["label"].text == "release"
    assert float(cells["h3"]["left"].text) == 106.54


def test_texts_of_strangers_never_reach_the_terminal_raw():
    """Names, labels, tasks, progress and results come from outside."""
    evil = "\x1b[31mred\x07\u202e\n"

    def story(author: Author) -> None:
        body = DelegationAccepted(
            hand=evil,
            task=evil,
            origin=OPS,
            session_key=evil,
            label=evil,
            hand_kind="worker",
            asked_by=Peer(id=evil, name=evil),
            message_id=evil,
        )
        author.gateway.record(body, delegation="d1", turn=evil, inbound=evil)
        author.gateway.record(DelegationStarted(hand=evil, worker=evil), delegation="d1")
        author.gateway.record(DelegationProgressed(hand=evil, text=evil), delegation="d1")
        author.gateway.record(AnswerTurnedAway(verb="answer", reason=Reason.WRONG_TICKET, by=evil), delegation="d1")
        done = DelegationFinished(hand=evil, outcome=HandOutcome.OK, text=evil, by=evil)
        author.gateway.record(done, delegation="d1")
        late = DelegationIgnored(hand=evil, reason=Reason.ALREADY_FINISHED, text=evil, by=evil)
        author.gateway.record(late, delegation="d1")
        author.rest()

    run = small(story)
    hands = HandRuns(run.view, run.histories)
    for seq in range(run.last + 1):
        (row,) = hands.rows(seq)
        for fact in hand_facts(run.view, hands, row, seq):
            assert fact.text.isprintable(), fact
        for name, cell in hand_cells(run.view, row).items():
            assert cell.text.isprintable(), name
            assert cell.more.isprintable(), name
