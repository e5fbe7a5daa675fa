"""Decides whether the answer of a turn is sent at all. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.states.intent import OPEN
from trunkline.core.text.markup import styled
from trunkline.core.values import Address, IntentId, IntentState, WorkKind

#: the answer of an agent that has nothing to say to anybody
NO_REPLY = "NO_REPLY"
_WEB = re.compile(r"https?://", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
#: blanks without a width
_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))
#: ends of a send after which people do not have it, not even perhaps
_NOT_SAID = frozenset(
    {*(IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED), *(IntentState.CANCELLED, IntentState.MISPLACED)}
)
#: what may stand around the token: blanks, marks of Markdown, quotes, the end of a sentence
_AROUND = " \t\r\u00a0*`~_\"'>.!"


class SaidInTurn(msgspec.Struct, frozen=True, gc=False):
    """A message of a turn by the message tool."""

    place: Address
    text: str
    media: tuple[str, ...] = ()
    intent: IntentId | None = None
    #: as far as it is known; one that is open counts as said
    state: IntentState = IntentState.PREPARED


class AnswerFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer of a turn, and the texts that the turn sent before."""

    work: WorkKind
    answer: str | None
    #: URLs or paths of its files
    media: tuple[str, ...] = ()
    #: where it would go; none: nowhere
    reply_to: Address | None
    said: Sequence[SaidInTurn] = ()


def decide_answer(facts: AnswerFacts) -> Reason | None:
    """Why the answer of a turn is not sent; None: it is.

    An agent that has said something with the message tool often returns it as its answer, too. People get it once, in
    every kind of turn.
    """
    answer = facts.answer
    if answer is None or not (answer.strip() or facts.media):
        return Reason.NO_REPLY
    if facts.work is not WorkKind.CONTROL and says_no_reply(answer):
        return Reason.NO_REPLY
    if facts.reply_to is None:
        return Reason.NO_ORIGIN
    said = repeated_by(answer, facts.media, facts.reply_to, facts.said)
    return Reason.ALREADY_SENT if any(sent.state not in _NOT_SAID for sent in said) else None


def undecided(said: Sequence[SaidInTurn]) -> tuple[IntentId, ...]:
    """The equal sends before an answer in its queue, if the decision on the answer has to wait for their end.

    None is open, or people have one of them already. While one is open, one in doubt is looked at again, too.
    """
    states = [sent.state for sent in said]
    if not any(sent.intent is not None and sent.state in OPEN for sent in said):
        return ()
    if any(state not in _NOT_SAID and state not in OPEN and state is not IntentState.UNKNOWN for state in states):
        return ()
    return tuple(sent.intent for sent in said if sent.intent is not None and sent.state not in _NOT_SAID)


def end_of_repeat(states: Iterable[IntentState | None]) -> Reason | None:
    """The reason why an answer ends unsent, by the states of the equal sends before; none: people have none of them.

    None for a send that is stored no more. Where all that people may have is in doubt, so is the answer.
    """
    said = {state for state in states if state is not None and state not in _NOT_SAID}
    if not said:
        return None
    return Reason.PARKED if said == {IntentState.UNKNOWN} else Reason.ALREADY_SENT


def without_files(text: str, media: Sequence[str]) -> str:
    """An answer for a place without files: addresses on the web stand below its text, others are left out.

    A path says nothing to people, and something about the machine of the gateway.
    """
    return "\n".join((*filter(None, (text,)), *(file for file in media if _WEB.match(file))))


def says_no_reply(answer: str) -> bool:
    """Whether an answer is, or begins or ends with, a line that is the token `NO_REPLY` and nothing else.

    Then nothing of it is sent: what stands beside the token are an agent's words to itself. The token within a line is
    text.
    """
    if NO_REPLY not in answer:
        return False
    lines = [bare for line in answer.splitlines() if (bare := _TAG.sub(" ", line).strip(_AROUND))]
    return bool(lines) and NO_REPLY in (lines[0], lines[-1])


def repeated_by(answer: str, media: Sequence[str], to: Address, said: Sequence[SaidInTurn]) -> tuple[SaidInTurn, ...]:
    """The sends of a turn in the place of an answer with everything in the answer."""
    here = [sent for sent in said if sent.place.lane == to.lane and set(media) <= set(sent.media)]
    words = said_words(answer) if here else ""
    return tuple(sent for sent in here if said_words(sent.text) == words)


def said_words(text: str) -> str:
    """The words of a text for people: without markup, with equal blanks."""
    shown = unicodedata.normalize("NFC", styled(_TAG.sub("", text).translate(_UNSEEN)).text)
    return " ".join(shown.split())
