"""The verdict on a storm on platforms: each finding from the smallest record that has it."""

from collections import Counter

import pytest

from tests.kill.platforms.record import Process, Question, Record, Sent, mark_of
from tests.kill.platforms.verdict import Stored, Verdict, Why, judge
from trunkline.core.values import Address, ChatKind

ROOM = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-1001")
TOPIC = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-1001", thread="5")


def record() -> Record:
    """One question in a topic, one process that was killed at 10 s."""
    made = Record(processes=[Process(began=0.0, killed=10.0), Process(began=11.0)])
    made.questions["qana1"] = Question(mark="qana1", place=TOPIC, at=1.0)
    return made


def answered(*places: Address) -> Record:
    made = record()
    made.accepted["qana1"] = [(place, f"answer to qana1 g{n}") for n, place in enumerate(places or (TOPIC,), 1)]
    return made


def sent(channel: str = "telegram", *, arrived: float = 9.0, answered: float | None = None) -> Sent:
    return Sent(mark="qana1", channel=channel, arrived=arrived, process=0, answered=answered)


def row(state: str, channel: str = "telegram") -> Stored:
    return Stored(
        id="in1.1", mark="qana1", channel=channel, state=state, reason="", place=TOPIC, text="answer to qana1"
    )


def notice(about: str = "in1.1", place: Address = TOPIC) -> Stored:
    name = f"{about}.notice"
    return Stored(id=name, mark="", channel="telegram", state="delivered", reason="", place=place, text="Sorry")


def judged(seen: Record, *rows: Stored, inbox: int = 1, undone: int = 0) -> Verdict:
    return judge(seen, list(rows), Counter({"qana1": inbox}), undone)


def test_an_answer_in_its_place_is_right() -> None:
    verdict = judged(answered(), row("delivered"))
    assert (verdict.findings, verdict.doubts) == ([], [])


@pytest.mark.parametrize(
    ("seen", "rows", "said"),
    [
        (record(), [], "was lost: no answer, and the store has nothing of it"),
        (record(), [row("delivered")], "was lost: no answer, and the store has ['delivered']"),
        (record(), [row("failed")], "was lost"),
        (answered(TOPIC, TOPIC), [row("delivered")], "was answered 2 times"),
        (answered(ROOM), [row("delivered")], "was answered elsewhere"),
        (answered(), [row("failed")], "was answered, but the store has ['failed']"),
        (answered(), [], "was answered, but the store has nothing"),
        (answered(), [row("delivered"), row("delivered")], "has 2 answers in the store"),
    ],
)
def test_what_is_wrong_with_an_answer(seen: Record, rows: list[Stored], said: str) -> None:
    assert any(said in finding for finding in judged(seen, *rows).findings)


def test_messages_that_are_stored_twice_or_not_at_all() -> None:
    for times in (0, 2):
        verdict = judged(answered(), row("delivered"), inbox=times)
        assert f"qana1 is stored {times} times as a message" in verdict.findings


def test_what_nobody_asked_for() -> None:
    seen = answered()
    seen.unasked.append((TOPIC, "hello?"))
    seen.accepted["qben1"] = [(ROOM, "answer to qben1 g1")]
    findings = judged(seen, row("delivered")).findings
    assert findings == [
        f"the gateway said 'hello?' 1 times in {TOPIC}, for 0 notices",
        "qben1 was answered, and never asked",
    ]


def test_turns_that_never_end() -> None:
    assert judged(answered(), row("delivered"), undone=3).findings == ["3 turns have not ended"]


def with_sends(*sends: Sent, replied: float | None = None) -> Record:
    made = record()
    made.sends += sends
    if replied is not None:
        made.replied["qana1"] = [replied]
    return made


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        pytest.param(with_sends(sent()), Why.NO_RESPONSE, id="no response came"),
        pytest.param(with_sends(sent(answered=9.9)), Why.KILLED_AFTER, id="killed right after the response"),
        pytest.param(with_sends(replied=9.5), Why.NEVER_ARRIVED, id="killed between the model and the socket"),
        pytest.param(with_sends(sent(answered=2.0), sent()), Why.NO_RESPONSE, id="a second send without a response"),
    ],
)
def test_a_doubt_that_nobody_can_decide_is_listed(seen: Record, why: Why) -> None:
    verdict = judged(seen, row("unknown"), notice())
    assert verdict.findings == []
    assert [(one.mark, one.channel, one.why, one.seen) for one in verdict.doubts] == [("qana1", "telegram", why, False)]


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(with_sends(sent(answered=2.0)), id="the response came long before the kill"),
        pytest.param(with_sends(), id="nothing was sent"),
        pytest.param(with_sends(replied=2.0), id="nothing was sent for a long time"),
    ],
)
def test_a_doubt_about_what_can_be_known_is_found(seen: Record) -> None:
    [finding] = judged(seen, row("unknown"), notice()).findings
    assert finding.startswith("qana1 is in doubt on telegram, and the gateway could know")


@pytest.mark.parametrize("channel", ["discord", "matrix"])
def test_nothing_is_in_doubt_where_a_repeat_is_recognised(channel: str) -> None:
    [finding] = judged(with_sends(sent(channel)), row("unknown", channel), notice()).findings
    assert finding == f"qana1 is in doubt on {channel}, which recognises a repeat"


@pytest.mark.parametrize(
    ("times", "rows", "said"),
    [
        pytest.param(3, [row("unknown"), notice()], "3 times", id="seen three times"),
        pytest.param(1, [row("unknown"), notice(place=ROOM)], "for 0 notices", id="seen elsewhere"),
        pytest.param(0, [row("unknown")], "its person has no notice", id="nobody knows"),
        pytest.param(1, [row("delivered"), notice()], "about an answer that is delivered", id="about nothing"),
        pytest.param(1, [row("delivered"), notice("in2.1")], "about an answer that is None", id="about no answer"),
    ],
)
def test_what_is_wrong_with_a_notice(times: int, rows: list[Stored], said: str) -> None:
    seen = with_sends(sent())
    seen.unasked += [(TOPIC, "Sorry")] * times
    assert any(said in finding for finding in judged(seen, *rows).findings)


def test_a_notice_may_be_seen_twice() -> None:
    seen = with_sends(sent())
    seen.unasked += [(TOPIC, "Sorry")] * 2
    assert judged(seen, row("unknown"), notice()).findings == []


def test_the_newest_mark_of_a_text_counts() -> None:
    assert mark_of("[earlier: please say qana1] please say qana12") == "qana12"
    assert mark_of("no question") == ""
