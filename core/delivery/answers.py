"""Decides whether the answer of a turn is sent at all. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.values import Address, WorkKind

#: the answer of an agent that has nothing to say to anybody
NO_REPLY = "NO_REPLY"
_TAG = re.compile(r"<[^<>]*>")
#: what may stand around the token: blanks, marks of Markdown, quotes, the end of a sentence
_AROUND = " \t\r\u00a0*`~_\"'>.!"


class SaidInTurn(msgspec.Struct, frozen=True, gc=False):
    """A text that a turn has queued with the message tool."""

    place: Address
    text: str


class AnswerFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a turn returned, and what it had said before."""

    work: WorkKind
    answer: str | None
    #: where it would go; none: nowhere
    reply_to: Address | None
    said: Sequence[SaidInTurn] = ()


def decide_answer(facts: AnswerFacts) -> Reason | None:
    """Why the answer of a turn is not sent; None: it is.

    An agent that has presented a result with the message tool often repeats it as its answer. People get it once.
    Answers to messages are not compared: there the same text twice may be meant.
    """
    answer = facts.answer
    if answer is None or not answer.strip():
        return Reason.NO_REPLY
    if facts.work is not WorkKind.CONTROL and says_no_reply(answer):
        return Reason.NO_REPLY
    if facts.reply_to is None:
        return Reason.NO_ORIGIN
    if facts.work is WorkKind.CALLBACK and is_repeated(answer, facts.reply_to, facts.said):
        return Reason.ALREADY_SENT
    return None


def says_no_reply(answer: str) -> bool:
    """Whether an answer is, or begins or ends with, a line that is the token `NO_REPLY` and nothing else.

    Then nothing of it is sent: what stands beside the token are an agent's words to itself. The token within a line is
    text.
    """
    if NO_REPLY not in answer:
        return False
    lines = [bare for line in answer.splitlines() if (bare := _TAG.sub(" ", line).strip(_AROUND))]
    return bool(lines) and NO_REPLY in (lines[0], lines[-1])


def is_repeated(answer: str, to: Address, said: Sequence[SaidInTurn]) -> bool:
    """Whether the turn has said the same text in the same place, apart from white space."""
    same = _normal(answer)
    return any(one.place.lane == to.lane and _normal(one.text) == same for one in said)


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
