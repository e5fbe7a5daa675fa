"""A call of the message tool as the runtime sees it: which turn makes it, what it says, and where."""

from __future__ import annotations

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.delivery.answers import SaidInTurn
from trunkline.core.message_parts import MessageParts
from trunkline.core.message_tool.calls import PlannedCall
from trunkline.core.records.rows import Work
from trunkline.core.runtime.client_sends.target_resolution import ToolSend
from trunkline.core.values import IntentId, Poll, SessionId


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call of the message tool in a turn."""

    work: Work
    #: the running session
    session: SessionId
    #: its number in the turn: a turn that runs again makes the same calls
    number: int
    #: seq of the start of the turn
    cause: int
    #: the turn runs again, so an earlier process may have made this call
    again: bool = False
    #: what its turn has queued so far; a call adds to it
    said: list[SaidInTurn] = msgspec.field(default_factory=list[SaidInTurn])

    @property
    def ids(self) -> dict[str, str | None]:
        """The correlation ids of its events."""
        return {"inbound": self.work.id, "turn": self.work.turn}

    def intent(self, target: int = 0) -> IntentId:
        """The id of its intent, the same in every run; `target`: the number of a broadcast's target, from 1."""
        name = f"{self.work.id}.send{self.number}"
        return IntentId(f"{name}-{target}" if target else name)


class ToolMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message that an agent asks to send."""

    aim: ToolSend
    text: str
    action: Action = Action.SEND
    #: URLs or paths of files
    media: tuple[str, ...] = ()
    poll: Poll | None = None
    #: platform-specific JSON
    payload: str | None = None
    parts: MessageParts | None = None
    best_effort: bool = False
    dry_run: bool = False
    #: the call with wire parameters that it comes from, whose requirements are checked
    planned: PlannedCall | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is a text and nothing else, which every adapter can send."""
        return not self.media and self.poll is None and self.payload is None and self.parts is None
