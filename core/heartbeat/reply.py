"""The outcome of a heartbeat's reply: an acknowledgement, a repetition, or a text that is delivered.

A heartbeat says the same text at most once in 24 hours.
"""

import re
from enum import StrEnum

import msgspec

from trunkline.core.config.heartbeat import ACK_MAX_CHARS
from trunkline.core.delivery.answers import says_no_reply
from trunkline.core.heartbeat.token import TOKEN, TokenMode, TokenRules, strip_heartbeat_token
from trunkline.core.heartbeat.visibility import Visibility
from trunkline.core.heartbeat.wake import WakeKind
from trunkline.core.profile_rules import OURS, ProfileRules
from trunkline.core.reasons import Reason

#: characters of a text in events
PREVIEW = 200
_REASONING = re.compile(r"\s*(Reasoning:.*?)(?:\n[ \t]*\n|\Z)", re.DOTALL)


class Indicator(StrEnum):
    """The indicator of a run."""

    OK = "ok"
    ALERT = "alert"
    ERROR = "error"


class ReplyFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that decide on a reply besides its text."""

    kind: WakeKind = WakeKind.INTERVAL
    ack_max_chars: int = ACK_MAX_CHARS
    include_reasoning: bool = False
    response_prefix: str = ""
    visibility: Visibility = Visibility()
    #: its files
    media: tuple[str, ...] = ()
    #: why it could be delivered nowhere; None: it can
    undeliverable: Reason | None = None
    #: the rules by which the token is read
    by: ProfileRules = OURS


class ReplyDecision(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of a reply. A text that is delivered is still subject to the rule of 24 hours: see `says`."""

    #: ``ok-empty``, ``ok-token``, ``heartbeat-target``, or why a text is not delivered
    reason: Reason
    #: what is delivered, with its prefix; empty: nothing
    text: str = ""
    #: files that are delivered with it
    media: tuple[str, ...] = ()
    #: delivered before `text`
    reasoning: str = ""
    #: the text as the agent returned it, without token and prefix, which counts for the rule of 24 hours; empty for an
    #: acknowledgement, which may be repeated
    says: str = ""
    indicator: Indicator | None = None

    @property
    def delivers(self) -> bool:
        return bool(self.text or self.media)

    @property
    def preview(self) -> str:
        """The beginning of the text for events, also of one that is not delivered."""
        return (self.text or self.says)[:PREVIEW]


def split_reasoning(reply: str) -> tuple[str, str]:
    """The paragraph at the start of a reply that begins with ``Reasoning:``, and the rest."""
    found = _REASONING.match(reply)
    return (found[1].strip(), reply[found.end() :]) if found else ("", reply)


def decide_reply(reply: str | None, facts: ReplyFacts) -> ReplyDecision:
    """Decide on the reply of a run, apart from whether it was said before."""
    reasoning, rest = split_reasoning(reply or "")
    text, stripped = _text(rest, facts)
    if not (text or facts.media) or says_no_reply(text):
        return _acknowledged(Reason.OK_TOKEN if stripped else Reason.OK_EMPTY, facts)
    indicator = Indicator.ALERT if facts.visibility.use_indicator else None
    if facts.undeliverable is not None:
        return ReplyDecision(reason=facts.undeliverable, says=text)
    if not facts.visibility.show_alerts:
        return ReplyDecision(reason=Reason.ALERTS_DISABLED, says=text, indicator=indicator)
    return ReplyDecision(
        reason=Reason.HEARTBEAT_TARGET,
        text=_prefixed(text, facts) if text else "",
        media=facts.media,
        reasoning=reasoning if facts.include_reasoning else "",
        says=text,
        indicator=indicator,
    )


def _text(reply: str, facts: ReplyFacts) -> tuple[str, bool]:
    """The rest of a reply, and whether it had the token."""
    prefix = facts.response_prefix.strip()
    bare = reply.strip().removeprefix(prefix) if prefix else reply
    # The result of a command is relayed even if it is short.
    relayed = facts.kind is WakeKind.EXEC_EVENT
    found = strip_heartbeat_token(
        bare, mode=TokenMode.MESSAGE if relayed else TokenMode.HEARTBEAT, ack_max_chars=facts.ack_max_chars, by=facts.by
    )
    return facts.by[TokenRules].relayed(bare, found) if relayed else found.text, found.did_strip


def _acknowledged(reason: Reason, facts: ReplyFacts) -> ReplyDecision:
    shown = facts.visibility.show_ok and facts.undeliverable is None
    return ReplyDecision(
        reason=reason,
        text=_prefixed(TOKEN, facts) if shown else "",
        indicator=Indicator.OK if facts.visibility.use_indicator else None,
    )


def _prefixed(text: str, facts: ReplyFacts) -> str:
    prefix = facts.response_prefix.strip()
    return f"{prefix} {text}" if prefix else text


#: seconds
WINDOW = 86_400.0


def is_duplicate(text: str, previous: str | None, said_at: float | None, now: float) -> bool:
    """Whether a text was said less than 24 hours before the run began at `now`.

    `previous` and `said_at`: what was really delivered last, and when.
    """
    if previous is None or said_at is None:
        return False
    return bool(text.strip()) and previous.strip() == text.strip() and now - said_at < WINDOW
