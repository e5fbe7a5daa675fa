"""The wire truth of actions: what a platform changed for the gateway, and what it answered."""

from typing import ClassVar

from trunkline.core.action_catalogue import Action
from trunkline.core.values import Address
from trunkline.sim.events.base import PlatformBody, SimBody


class WireActed(PlatformBody, frozen=True, kw_only=True):
    """The platform carried out an action: people see its effect from now on. A refused one is `wire.refused`."""

    action: Action
    #: the conversation in which it took effect
    address: Address
    #: the conversation of the request
    requested: Address
    key: str
    attempt: int
    #: its number among the requests of the intent
    chunk: int = 0
    #: the id in the response: of the message, or of what was created
    provider_id: str = ""
    #: the message that was changed
    message_id: str | None = None
    #: who wrote that message: ``bot`` (this account) or ``other``; empty: it concerns no message
    author: str = ""
    #: the new text, the emoji, or the new name
    text: str = ""
    #: what was there before: the old text of an edited or deleted message
    before: str = ""
    #: the reaction was taken away
    remove: bool = False
    #: it was so already: people see no difference
    repeated: bool = False
    #: the other parameters, as JSON
    fields: str | None = None
    #: number of the request's token, on platforms that count tokens
    credential: int = 0


class AgentActs(SimBody, frozen=True, kw_only=True):
    """An agent of the cast calls its message tool with an action. A turn that runs again makes the same calls."""

    kind: ClassVar[str] = "cast.acts"
    action: str
    #: number of the call in its turn
    call: int
    #: the scenario's name of the message that the agent means; empty: it means none
    message: str = ""
    #: that message: a person's by its place and id, the agent's own by the intent that it was given
    place: Address | None = None
    message_id: str | None = None
    of: str | None = None
    #: the new text that it wants, of an edit
    text: str = ""


class AgentTold(SimBody, frozen=True, kw_only=True):
    """The message tool answered an agent of the cast: the result of a call, or the reason of a refusal."""

    agent: str
    #: the place of the turn
    at: Address | None = None
    #: the agent's words for it: the parameters of the call as JSON; and the place that they name, if it is one
    asked: str
    aim: Address | None = None
    action: str
    #: ``queued``, ``done``, ``dry-run``, ``suppressed``, ``failed``; ``refused``, ``unanswered`` by the platform, or
    #: ``raised`` for an error that is none of these
    status: str
    #: the place, the message and the session that the tool names
    place: Address | None = None
    named: str | None = None
    session_key: str | None = None
    reason: str = ""
    detail: str = ""
    #: of a broadcast: the status for each target, in order
    each: tuple[str, ...] = ()


class WireAnswered(PlatformBody, frozen=True, kw_only=True):
    """The platform answered a question of the gateway; nothing changed."""

    action: Action
    address: Address
    message_id: str | None = None
    #: number of entries in the answer
    found: int = 0
