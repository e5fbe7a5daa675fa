"""Whether the answer of a turn is sent: nothing to say, nowhere to say it, or said already."""

import pytest

from tests.support.factories import direct, room
from tests.support.for_each import for_each
from trunkline.core.delivery.answers import (
    AnswerFacts,
    SaidInTurn,
    decide_answer,
    end_of_repeat,
    said_words,
    says_no_reply,
    undecided,
)
from trunkline.core.heartbeat.reply import ReplyFacts, decide_reply
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentId, IntentState, WorkKind

ANA, BEN = direct("100"), direct("200")


def why(
    answer: str | None, work: WorkKind = WorkKind.CALLBACK, to: Address | None = ANA, said: tuple[SaidInTurn, ...] = ()
) -> Reason | None:
    return decide_answer(AnswerFacts(work=work, answer=answer, reply_to=to, said=said))


@for_each("work", list(WorkKind))
def test_a_text_with_a_place_is_sent(work: WorkKind) -> None:
    assert why("47 mails", work) is None


@for_each("answer", [None, "", " \n", "NO_REPLY"])
@for_each("work", [WorkKind.MESSAGE, WorkKind.CALLBACK, WorkKind.WAKE])
def test_nothing_to_say_is_a_reason_whether_there_is_a_place_or_not(answer: str | None, work: WorkKind) -> None:
    assert why(answer, work) is Reason.NO_REPLY
    assert why(answer, work, to=None) is Reason.NO_REPLY


def test_an_answer_without_a_place_has_no_origin() -> None:
    assert why("47 mails", WorkKind.WAKE, to=None) is Reason.NO_ORIGIN


@for_each(
    "answer",
    [
        "NO_REPLY",
        "  NO_REPLY\n",
        "**NO_REPLY**",
        "`NO_REPLY`",
        '"NO_REPLY".',
        "<b>NO_REPLY</b>",
        "NO_REPLY\nAna knows it already.",
        "I have sent it with the message tool.\n\nNO_REPLY",
        "___\nNO_REPLY\n___",
    ],
)
def test_a_line_that_is_the_token_means_no_reply(answer: str) -> None:
    assert says_no_reply(answer)


@for_each(
    "answer",
    [
        "",
        "no_reply",
        "NO_REPLY is the token.",
        "Answer NO_REPLY",
        "NO_REPLYING",
        "NO REPLY",
        "NO, a problem",
        "The tokens are:\nNO_REPLY\nHEARTBEAT_OK",
        "HEARTBEAT_OK",
    ],
)
def test_other_texts_are_sent(answer: str) -> None:
    assert not says_no_reply(answer)
    assert why(answer or "x") is None


def test_the_reply_of_a_chat_command_is_no_token() -> None:
    assert why("NO_REPLY", WorkKind.CONTROL) is None


@pytest.mark.parametrize("again", ["47 mails", " 47\n mails ", "47\u00a0mails", "*47 mails*"])
def test_a_callback_does_not_say_again_what_its_turn_has_said_there(again: str) -> None:
    assert why(again, said=(SaidInTurn(BEN, "x"), SaidInTurn(ANA, "47 mails"))) is Reason.ALREADY_SENT


@pytest.mark.parametrize(
    "said",
    [
        SaidInTurn(BEN, "47 mails"),
        SaidInTurn(room("500"), "47 mails"),
        SaidInTurn(ANA, "48 mails"),
        SaidInTurn(ANA, ""),
    ],
)
def test_another_text_or_another_place_is_no_repetition(said: SaidInTurn) -> None:
    assert why("47 mails", said=(said,)) is None


@for_each("work", list(WorkKind))
@for_each("state", list(IntentState))
def test_answers_of_all_turns_are_compared_with_what_people_may_have(work: WorkKind, state: IntentState) -> None:
    failed = state in (IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED)
    elsewhere = state in (IntentState.CANCELLED, IntentState.MISPLACED)
    expected = None if failed or elsewhere else Reason.ALREADY_SENT
    assert why("47 mails", work, said=(SaidInTurn(ANA, "47 mails", state=state),)) is expected


@for_each(
    ("said", "media", "goes"),
    [((), ("a.png",), True), (("a.png",), ("a.png",), False), (("a.png", "b.png"), (), False)],
)
def test_files_count(said: tuple[str, ...], media: tuple[str, ...], goes: bool) -> None:
    sent = SaidInTurn(ANA, "see", media=said)
    facts = AnswerFacts(work=WorkKind.MESSAGE, answer="see", media=media, reply_to=ANA, said=(sent,))
    assert (decide_answer(facts) is None) is goes


@for_each(
    ("text", "words"),
    [
        ("all  is\nwell", "all is well"),
        ("**all** is _well_", "all is well"),
        ("<b>all</b> is well", "all is well"),
        ("\ufeffall is well\u200b", "all is well"),
        ("All is well", "All is well"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_words_are_what_people_read(text: str, words: str) -> None:
    assert said_words(text) == words


def test_the_token_never_leaves_by_a_heartbeat() -> None:
    decided = decide_reply("NO_REPLY", ReplyFacts())
    assert (decided.reason, decided.text) == (Reason.OK_EMPTY, "")


D, F, U, P, S = (
    IntentState.DELIVERED,
    IntentState.FAILED,
    IntentState.UNKNOWN,
    IntentState.PREPARED,
    IntentState.SENDING,
)


@for_each(
    ("states", "left"),
    [
        ([], ()),
        ([D], ()),
        ([F, U], ()),
        ([P], ("s0",)),
        ([S], ("s0",)),
        # One that people have decides at once; one in doubt is looked at again when the open one has ended.
        ([D, P], ()),
        ([F, P], ("s1",)),
        ([U, P], ("s0", "s1")),
    ],
)
def test_an_answer_is_queued_behind_its_open_equal_sends(states: list[IntentState], left: tuple[str, ...]) -> None:
    said = [SaidInTurn(ANA, "x", intent=IntentId(f"s{n}"), state=state) for n, state in enumerate(states)]
    assert undecided(said) == left


def test_a_send_without_an_intent_cannot_be_waited_for() -> None:
    assert undecided([SaidInTurn(ANA, "x")]) == ()


@for_each(
    ("states", "reason"),
    [
        ([D], Reason.ALREADY_SENT),
        ([U], Reason.PARKED),
        ([F, U], Reason.PARKED),
        ([U, D], Reason.ALREADY_SENT),
        ([IntentState.PARTIAL], Reason.ALREADY_SENT),
        # An operator has reopened it.
        ([P], Reason.ALREADY_SENT),
        ([F], None),
        ([IntentState.DEAD, IntentState.EXPIRED, IntentState.CANCELLED, IntentState.MISPLACED], None),
        ([None], None),
    ],
)
def test_an_answer_is_decided_on_when_the_equal_sends_before_it_have_ended(
    states: list[IntentState | None], reason: Reason | None
) -> None:
    assert end_of_repeat(states) is reason
