"""A turn for programs and webhooks: a JSON document."""

from typing import Any

import msgspec

from trunkline.core.agent import Turn
from trunkline.core.agents.history import earlier_lines, lines_around, newest_lines
from trunkline.core.agents.turn_limits import TurnLimits
from trunkline.core.declared import filled
from trunkline.core.message_parts import Part
from trunkline.core.prompts import Prompt
from trunkline.core.records.rows import CallbackFacts
from trunkline.core.values import Address, Peer, TranscriptLine, WorkKind

#: version of the document and of the messages around it
PROTOCOL = 1


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The session of a turn. A reset gives a new id under the same key."""

    id: str
    key: str


class HistoryLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the transcript before the message of the turn. `at`: seconds since the epoch."""

    #: ``user``, ``assistant``, ``hand``, or ``delivery`` for a note about a message that did not arrive
    role: str
    text: str
    at: float
    #: who wrote it, where that is still known
    by: Peer | None = None
    #: only a part of the text arrived
    partial: bool = False
    #: the message was deleted; its text is left out
    deleted: bool = False


class TurnDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="turn"):
    """A turn: what came, from whom, where, and what the agent knows and can do."""

    protocol: int = PROTOCOL
    #: the same when the turn runs again
    id: str
    #: the turn runs again: calls that an earlier run has made have no effect, if they come in the same order
    again: bool
    agent: str
    session: SessionFacts
    #: why the turn runs
    work: WorkKind
    #: the message of the peer, the result of the hand, or the text of the wake-up
    text: str
    #: the same for a model: the result of a hand is marked as data
    for_model: str
    #: what the message has beside the person's own words; `text` names each in words
    parts: tuple[Part, ...]
    #: the author of the text; a hand is ``hand:<id>``
    peer: Peer
    #: the person for whom the turn is done
    asked_by: Peer | None
    #: where the text came from; none: nowhere, as of a wake-up
    place: Address | None
    #: of a turn that brings the result of a hand
    callback: CallbackFacts | None
    #: system prompts, in order
    prompts: tuple[Prompt, ...]
    #: the newest lines of the transcript before the message, oldest first
    history: tuple[HistoryLine, ...]
    #: earlier lines were left out
    history_cut: bool
    #: definitions of the tools, as OpenAI's interface takes them; empty if the configuration leaves them out
    tools: tuple[dict[str, Any], ...]


async def document_of(turn: Turn, limits: TurnLimits) -> TurnDocument:
    past, cut = await history_of(turn, limits.history.lines, limits.history.characters)
    return filled(
        TurnDocument,
        turn,
        session=SessionFacts(id=turn.session_id, key=turn.session_key),
        history=past,
        history_cut=cut,
        tools=(turn.message_tool(), *turn.hand_tools()) if limits.tools else (),
    )


async def history_of(turn: Turn, lines: int, characters: int) -> tuple[tuple[HistoryLine, ...], bool]:
    """The newest lines before the message of a turn, within limits; and whether earlier ones were left out."""
    if lines == 0:
        return (), False
    around = await lines_around(turn, lines)
    found = newest_lines(earlier_lines(turn.id, around.lines), lines, characters)
    return tuple(_shown(line) for line in found.lines), found.cut or around.cut


def _shown(line: TranscriptLine) -> HistoryLine:
    text = "" if line.deleted else line.text
    return HistoryLine(role=line.role, text=text, at=line.at, by=line.by, partial=line.partial, deleted=line.deleted)
