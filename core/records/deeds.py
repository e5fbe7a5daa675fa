"""Deeds of people on messages, in the store."""

from typing import Literal

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.records.rows import SessionRow, Work
from trunkline.core.values import IntentId

#: ``noted``: a line of the transcript says it; ``woken``: and the agent has a turn for it; ``changed``: the question
#: that waits has its new text; ``withdrawn``: it is not answered
DeedOutcome = Literal["noted", "woken", "changed", "withdrawn", "dropped"]


class DeedSubject(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message of a deed, and the session."""

    session: SessionRow
    agent: str
    #: its line in the transcript
    text: str
    deleted: bool = False
    #: a message of a person, or of the gateway
    work: Work | None = None
    intent: IntentId | None = None
    #: the deed was taken before
    known: bool = False

    @property
    def ref(self) -> str:
        """The reference of the line."""
        return self.intent or ("" if self.work is None else self.work.id)


class DeedPlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The plan for a deed: the outcome and all changes."""

    outcome: DeedOutcome
    reason: Reason | None = None
    #: the line of the transcript that says it
    note: str = ""
    #: the question with its new text
    work: Work | None = None
    #: the line of the message is marked as deleted, or gets this text
    deletes: bool = False
    text: str | None = None
