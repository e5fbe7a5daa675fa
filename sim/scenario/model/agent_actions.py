"""The models of what agents do in a turn: `cast.agents.*[].do`."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from trunkline.core.config import Duration, Model
from trunkline.core.config.base import Flag
from trunkline.sim.scenario.model.rules import Nonsense
from trunkline.sim.scenario.shorthand import as_list

#: the name of an agent's newest message in its session, where a message is named
LAST = "last"


class SendAction(Model):
    """The message tool. With neither `to` nor `target`, it sends to the place the turn came from."""

    text: str
    """The text: a template."""
    to: str | None = None
    """A place."""
    target: str | None = None
    """A target as agents write it, not checked: `channel:C1`, `@ana:example.org`, ..."""
    channel: str | None = None
    """The platform of a `target`."""
    account: str | None = None
    """The account that sends."""
    thread: str | None = None
    """The platform's id of a thread."""
    session: str | None = None
    """The session that records it: a place, or a session key. By default the target's session."""
    media: Annotated[tuple[str, ...], BeforeValidator(as_list, json_schema_input_type=str | list[str])] = ()
    """URLs or paths of files."""
    reply_to: str | None = None
    """The message that it answers: the id of a `say`, the `label` of an earlier message of the agent, or `last`."""
    buttons: tuple[str, ...] = ()
    """A row of buttons, by their texts, which are also what a press sends."""
    silent: Flag = False
    """Without a notification."""
    dry_run: Flag = False
    """Only check, and report where it would go."""
    label: str | None = None
    """A name for the message, for later actions of this agent."""


class ActAction(Model):
    """A call of the message tool with its wire parameters, as a model makes it. A refused call has no effect."""

    action: str
    """The action: `react`, `edit`, `poll`, `broadcast`, ... Not validated here: that is the gateway's job."""
    to: Annotated[tuple[str, ...], BeforeValidator(as_list, json_schema_input_type=str | list[str])] = ()
    """A place, which becomes `channel`, `accountId`, `target` and `threadId`; or several places of one account, which
    become `targets`."""
    of: str | None = None
    """The message that it concerns: the id of a `say`, the `label` of an earlier message of this agent, or `last`, its
    newest message of the session. It becomes `messageId`; for a message that answers it, `replyTo`."""
    user: str | None = None
    """A person, whose id on the platform of `to`, or else of the turn, becomes `userId`."""
    label: str | None = None
    """A name for the message that it sends, for later actions of this agent."""
    parameters: dict[str, Any] = Field(default_factory=dict, validation_alias="with")
    """The other parameters of the tool, by their wire names: `message`, `emoji`, `pollOption`, ... Their texts are
    templates."""


class DelegateAction(Model):
    """Give a task to an async hand, and continue. A refused call has no effect."""

    hand: str
    """Name of the hand in `cast.hands`, of another agent, or of a hand that workers work for."""
    task: str = "{text}"
    """The task: a template."""
    timeout: Annotated[Duration | None, Field(gt=0)] = None
    """How long it may take; by default as the hand is configured."""
    label: str = ""
    """The agent's own name for it."""
    reply_to: str | None = None
    """A place for the answer; only in a turn without a place, such as a heartbeat, which needs it."""
    thread: Flag | None = None
    """`true`: in its own thread and session, or not at all. `false`: without them. By default as the channel is
    configured (`spawn_subagent_sessions`)."""


class AgentAction(Model):
    """An action of an agent: exactly one field."""

    think: Duration | None = None
    """Take this long."""
    pause: Duration | None = None
    """The reply comes in pieces, with this time before each. Only a model on the wire streams (`trunkline attach`);
    elsewhere nothing happens."""
    reply: str | None = None
    """The final text of the turn, a template; at most one, and last."""
    send: SendAction | None = None
    act: ActAction | None = None
    delegate: DelegateAction | None = None
    cancel: str | None = None
    """End a delegation of this session: its `label`, or `last` for the newest one."""
    check: Literal[True] | None = None
    """Ask for the session's delegations that have not ended; see the slots `{open}` and `{delegations}`."""
    fail: str | None = None
    """Raise an error with this text."""
    silent: Literal[True] | None = None
    """End the turn without a reply."""
    plugin: str | None = None
    """Let an agent of a plug-in take the turn, by its name, such as `acme.clerk`; its answer ends the turn."""
    nonsense: Nonsense | None = None
    """Misbehave, and end the turn. `bytes`, `number`: return something that is no text. `half-character`: return a text
    with half a surrogate pair. `cancelled`: let out a `CancelledError` that the gateway did not ask for. `exits`: call
    `sys.exit`. `takes-gateway-down`: end the gateway process."""
