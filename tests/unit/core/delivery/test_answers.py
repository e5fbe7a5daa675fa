"""Whether the answer of a turn is sent: nothing to say, nowhere to say it, or said already."""

import pytest

from tests.support.factories import direct, room
from tests.support.for_each import for_each
from trunkline.core.delivery.answers import AnswerFacts, SaidInTurn, decide_answer, says_no_reply
from trunkline.core.heartbeat.reply import ReplyFacts, decide_reply
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, WorkKind

ANA, BEN = direct("100"), direct("200")


def why(
    answer: str | None,
    work: WorkKind = WorkKind.CALLBACK,
    to: Address | None = ANA,
    said: tuple[SaidInTurn, ...] = (),
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


@pytest.mark.parametrize("again", ["47 mails", " 47\n mails ", "47\u00a0mails"])
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


def test_only_answers_of_callbacks_are_compared() -> None:
    assert why("47 mails", WorkKind.MESSAGE, said=(SaidInTurn(ANA, "47 mails"),)) is None


def test_the_token_never_leaves_by_a_heartbeat() -> None:
    decided = decide_reply("NO_REPLY", ReplyFacts())
    assert (decided.reason, decided.text) == (Reason.OK_EMPTY, "")
