"""When a rule of the cast applies, and how its owner misbehaves."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from trunkline.core.action_names import Action
from trunkline.core.config import Model
from trunkline.core.config.base import Flag
from trunkline.core.values import Capability

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


#: capability -> the actions that need it
_NEED: dict[Capability, tuple[Action, ...]] = {
    Capability.POLL: (Action.POLL, Action.POLL_VOTE, Action.POLL_RESULTS),
    Capability.THREADS: (
        *(Action.THREAD_CREATE, Action.THREAD_REPLY, Action.THREAD_LIST, Action.TOPIC_CREATE, Action.TOPIC_EDIT),
    ),
    Capability.MEDIA: (Action.SEND_ATTACHMENT, Action.UPLOAD_FILE, Action.DOWNLOAD_FILE),
}
_CAPABILITIES = frozenset(Capability)
_ACTIONS = frozenset(Action)

#: every word that can be taken away
ABILITIES: tuple[str, ...] = tuple(dict.fromkeys([*map(str, Capability), *map(str, Action)]))


def lost_to(words: Iterable[str]) -> tuple[frozenset[Capability], frozenset[Action]]:
    """The capabilities and actions that an account loses; `reactions` is every kind of reaction."""
    given = frozenset(words)
    capabilities = frozenset(Capability(word) for word in given if word in _CAPABILITIES)
    actions = {Action(word) for word in given if word in _ACTIONS}
    actions |= {action for capability in capabilities for action in _NEED.get(capability, ())}
    return capabilities, frozenset(actions | ({Action.REACT} if Action.REACTIONS in actions else set()))
