"""The limits shared by programs and webhooks: how much of a session a turn contains, and how many calls are allowed."""

from typing import Literal

from pydantic import Field

from trunkline.core.config.base import Duration, Flag, Model
from trunkline.core.errors import AgentFailed
from trunkline.core.reasons import Reason


class HistoryLimits(Model):
    """How much of the session's transcript a turn has: whole lines, from the newest back."""

    lines: int = Field(default=20, ge=0, le=1000)
    """At most this many lines before the message of the turn."""
    characters: int = Field(default=20_000, ge=0, le=1_000_000)
    """At most this many characters in all of them."""


class TurnLimits(Model):
    """The limits of a turn of an outside agent: given history, allowed calls, and time."""

    timeout: Duration = Field(default=120.0, gt=0, le=86_400)
    """How long a turn may take, from its start to its answer, with waiting and every call."""
    max_calls: int = Field(default=50, ge=0, le=10_000)
    """How many tools a turn may call."""
    max_answer: int = Field(default=100_000, ge=1, le=10_000_000)
    """Characters that an answer may have."""
    history: HistoryLimits = HistoryLimits()
    """How much of the transcript a turn is given."""
    match_calls: Literal["order", "content"] = "order"
    """How a turn that runs again after a crash recognises calls that were made before: by their order, or by what they
    say and whom they ask, for agents that ask a model and so may call in another order."""
    tools: Flag = True
    """Give the agent the definitions of its tools with each turn, as JSON Schema. It may call them without, too."""

    def checked_answer(self, text: str | None) -> str | None:
        """The text of an answer. Raises `AgentFailed` beyond `max_answer`."""
        if text is not None and len(text) > self.max_answer:
            facts = f"{len(text)} characters; `max_answer` is {self.max_answer}"
            raise AgentFailed(facts, Reason.ANSWER_TOO_LONG)
        return text
