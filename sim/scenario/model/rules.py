"""When a rule of the cast applies, and how its owner misbehaves."""

from typing import Literal

from pydantic import Field

from trunkline.core.config import Model
from trunkline.core.config.base import Flag

#: return bytes or a number; return a text with half a character; let out a `CancelledError` or `SystemExit`; take the
#: gateway down
Nonsense = Literal["bytes", "number", "half-character", "cancelled", "exits", "takes-gateway-down"]


class Match(Model):
    """When a rule applies: every field given must match. Texts may use `*` for anything."""

    text: str | None = None
    """The text of the message to the agent, or the task given to a hand."""
    person: str | None = None
    """The sender."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place of the message."""
    callback: str | None = None
    """The turn delivers the result of this hand (`*` for any)."""
    outcome: Literal["ok", "error", "timeout", "cancelled", "lost"] | None = None
    """How that hand ended."""
    label: str | None = None
    """The label of that delegation."""
    task: str | None = None
    """The turn works on a task that this agent delegated (`*` for any)."""
    wake: Flag | None = None
    """An operator or a program woke the agent."""
    heartbeat: Flag | None = None
    """The turn is a heartbeat."""
    cron: str | None = None
    """This entry of the schedule started the turn (`*` for any)."""
