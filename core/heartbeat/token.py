"""The token by which an agent says in a heartbeat that there is nothing to say, and how it is taken from a reply."""

import math
import re
from enum import StrEnum

import msgspec

from trunkline.core.config.heartbeat import ACK_MAX_CHARS
from trunkline.core.profile_rules import OURS, ProfileRules
from trunkline.core.text.chunking.utf16 import BLANKS, units

#: the whole reply of an agent that has nothing to say
TOKEN = "HEARTBEAT_OK"
#: signs that may follow the token at the end of a reply, in UTF-16 code units
_SIGNS_AFTER = 4
_WORD = re.compile(r"\w", re.ASCII)
_RUN = re.compile(f"[{re.escape(BLANKS)}]+")
_TAG = re.compile(r"<[^>]*>")
_NBSP = re.compile(r"&nbsp;", re.IGNORECASE)
_WRAPPERS = "*`~_"


class TokenMode(StrEnum):
    """What the token is taken from."""

    #: the reply of a heartbeat: a short remainder is part of the acknowledgement
    HEARTBEAT = "heartbeat"
    #: any other text of an agent: what remains is sent
    MESSAGE = "message"


class StrippedReply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A reply without the token."""

    #: nothing of it is sent
    should_skip: bool
    text: str
    #: whether there was a token at its start or end
    did_strip: bool


class TokenRules:
    """The rules of a profile for the token in a reply."""

    def is_whole(self, text: str, at: int) -> bool:
        """Whether the token at an index of a text, at its start or end, is a word of its own."""
        return not (_in_word(text, at) if at else _WORD.match(text, len(TOKEN)))

    def says_something(self, rest: str) -> bool:
        """Whether what is left beside the token is a text; marks around the token are none."""
        return bool(_without_markup(rest).strip(_WRAPPERS + BLANKS))

    def relayed(self, reply: str, found: StrippedReply) -> str:
        """The part of a command's result that is delivered."""
        return found.text


def strip_heartbeat_token(
    text: str | None,
    *,
    mode: TokenMode = TokenMode.HEARTBEAT,
    ack_max_chars: float | None = None,
    by: ProfileRules = OURS,
) -> StrippedReply:
    """A reply without the token at its start and end, also inside HTML tags and Markdown marks.

    A token in the middle is text. `ack_max_chars`: UTF-16 code units; negative counts as 0, None and NaN as 300.
    """
    trimmed = (text or "").strip(BLANKS)
    if not trimmed:
        return StrippedReply(should_skip=True, text="", did_strip=False)
    rules = by[TokenRules]
    picked = _at_edges(trimmed, rules)
    if picked is None or not rules.says_something(picked):
        picked = _at_edges(_without_markup(trimmed), rules)
    if picked is None:
        return StrippedReply(should_skip=False, text=trimmed, did_strip=False)
    acknowledged = mode is TokenMode.HEARTBEAT and units(picked) <= _limit(ack_max_chars)
    if not rules.says_something(picked) or acknowledged:
        return StrippedReply(should_skip=True, text="", did_strip=True)
    return StrippedReply(should_skip=False, text=picked, did_strip=True)


def _limit(ack_max_chars: float | None) -> float:
    return max(0, ack_max_chars) if ack_max_chars is not None and math.isfinite(ack_max_chars) else ACK_MAX_CHARS


def _at_edges(text: str, rules: TokenRules) -> str | None:
    """The text without the tokens at its start and end, blanks collapsed; None if there is none."""
    rest = text.strip(BLANKS)
    found = False
    while (shorter := _one_less(rest, rules)) is not None:
        rest, found = shorter, True
    return _RUN.sub(" ", rest).strip(BLANKS) if found else None


def _one_less(text: str, rules: TokenRules) -> str | None:
    """The text without one token at its start or end; None if neither has one."""
    if text.startswith(TOKEN) and rules.is_whole(text, 0):
        return text[len(TOKEN) :].strip(BLANKS)
    at = text.rfind(TOKEN)
    after = text[at + len(TOKEN) :]
    if at < 0 or units(after) > _SIGNS_AFTER or _WORD.search(after) or not rules.is_whole(text, at):
        return None
    before = text[:at].rstrip(BLANKS)
    # Signs after the token end the sentence before it.
    return f"{before}{after.strip(BLANKS)}" if before else ""


def _in_word(text: str, at: int) -> bool:
    """Whether the character at an index continues a word. An underscore after a blank is a mark."""
    return bool(_WORD.fullmatch(text[at - 1 : at])) and bool(_WORD.fullmatch(text[:at].rstrip(_WRAPPERS)[-1:]))


def _without_markup(text: str) -> str:
    """The text without HTML tags, and without Markdown marks around it."""
    return _NBSP.sub(" ", _TAG.sub(" ", text)).strip(_WRAPPERS)
