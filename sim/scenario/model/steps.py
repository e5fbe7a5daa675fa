"""The models of a scenario's `script`: what happens, step by step."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from trunkline.core.config import Duration, GatewayConfig, Model
from trunkline.core.values import IntentState, Transport
from trunkline.sim.scenario.shorthand import as_list, as_settings, as_switch

#: gateway processes on one store: the first, and the one that `second` starts
Which = Literal["gateway", "second"]


class When(Model):
    """Waits for an event of the run that fits all that is given."""

    event: str
    """Kind of the event, e.g. `wire.accepted`."""
    text: str | None = None
    """Its text, with `*` for anything."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place that it is about."""
    nth: int = Field(default=1, gt=0)
    """Which one of those that fit."""


class CrashStep(Model):
    """The gateway process dies, as if killed."""

    process: Which = "gateway"
    """Which one."""
    when: When | None = None
    """Dies at this event; not given: at the step's time."""
    restart_after: Duration = 1.0
    """Down time until the next process starts on the same store."""


class RestartStep(Model):
    """The gateway is stopped in order and started again."""

    process: Which = "gateway"
    """Which process."""
    down: Duration = 1.0
    """Time until the next process starts."""


class SecondProcessStep(Model):
    """Another gateway process, called `second`, starts on the same store. One of them works it, the other stands by."""


class FreezeStep(Model):
    """A gateway process stands still, as if suspended: it does nothing, and does not know it when it goes on."""

    process: Which = "gateway"
    """Which one."""
    when: When | None = None
    """Stands still from this event on; not given: from the step's time on."""
    for_: Duration = Field(default=90.0, validation_alias="for")
    """How long."""


class ReplayStep(Model):
    """The platform's connection resets and it delivers messages again that the gateway had before."""

    messages: tuple[str, ...] = ()
    """Ids of `say` steps; none: every message so far."""


class WakeStep(Model):
    """A schedule or an operator starts a turn that nobody asked for."""

    agent: str
    """Whose turn it is."""
    text: str
    """What the agent is told."""


class ReloadStep(GatewayConfig):
    """The gateway gets another configuration while it runs, and keeps it over restarts.

    What is given is merged over the configuration that holds: mappings are merged, everything else is replaced.
    """

    @model_validator(mode="after")
    def _names_fit(self) -> ReloadStep:
        """Names are compared in the merged configuration, not in a part of one."""
        return self


class ResetStep(Model):
    """An operator has the session of the place in `in` start anew."""

    agent: str | None = None
    """Whose session; not given: that of the default agent."""


class PollStep(Model):
    """A question with options. What is wrong with it is for the gateway to say."""

    question: str
    """What is asked."""
    options: tuple[str, ...]
    """What can be chosen."""
    max_selections: int = 1
    """How many may be chosen."""
    duration_hours: int | None = None
    """How long it is open; not given: as long as the platform wants."""


class SendStep(Model):
    """A client of the gateway asks it to send something, outside of any turn. Steps of one time go side by side."""

    text: str = ""
    """What is sent, as it is."""
    media: tuple[str, ...] = ()
    """Addresses of files that go with it."""
    poll: PollStep | None = None
    """A poll instead of a text."""
    payload: str | None = None
    """JSON that only the platform knows."""
    best_effort: bool = False
    """One attempt and no more."""
    dry_run: bool = False
    """Only say what would be sent."""
    to: Annotated[tuple[str, ...], BeforeValidator(as_list, json_schema_input_type=str | list[str])] = ()
    """A place; or else `target`. Several places: a broadcast, a message each."""
    target: str | None = None
    """A target as clients write it, not checked: `channel:C1`, `@ana:example.org`, ..."""
    channel: str | None = None
    """The platform of a `target`."""
    account: str | None = None
    """The account that sends."""
    thread: str | None = None
    """The platform's id of a thread."""
    agent: str | None = None
    """For whom it is sent; not given: the default agent."""
    session: str | None = None
    """The session that remembers it: a place, or a session key. Not given: that of the target."""
    key: str | None = None
    """Idempotency key; by default `send1`, `send2`, ... in order."""
    process: Which = "gateway"
    """The process that is asked; one that stands by does it when it works the store."""


class QueueStep(Model):
    """An operator works on the queue. Meant are all messages in it that fit what is given; there must be one."""

    do: Literal["retry", "resolve", "purge"]
    """`retry`: try again what has ended. `resolve`: say what became of a chunk in doubt. `purge`: remove what has
    ended."""
    verdict: Literal["sent", "unsent", "abandon"] | None = None
    """With `resolve`: the platform has the chunk, or does not have it, or it is left as it is."""
    place: str | None = Field(default=None, validation_alias="in")
    """Where the message goes."""
    text: str | None = None
    """The text of its first chunk; `*` stands for anything."""
    state: IntentState | None = None
    """The state that it is in."""
    process: Which = "gateway"
    """The process that is asked."""


class RotateStep(Model):
    """An account gets a new token: older ones are not taken any more. A process that starts has the newest."""

    platform: str
    """Which platform."""
    account: str | None = None
    """Which account; not given: the only one, else `default`."""
    tell: Duration = 0.0
    """After so long the processes that run are given it."""


class WebhookStep(Model):
    """A webhook of the gateway cannot be used any more."""

    place: str = Field(validation_alias="in")
    """The room that it is in, or a thread of that."""
    state: Literal["deleted", "forbidden"]
    """`deleted`: it is gone, and another one may be made. `forbidden`: the account may use and make none there."""


class BindStep(Model):
    """An operator binds a conversation to a session. What is wrong with it is for the gateway to say."""

    place: str = Field(validation_alias="in")
    """The conversation."""
    session: str
    """The session: a place whose session is meant, or a session key."""
    agent: str | None = None
    """Whose session, for a place; not given: the default agent."""
    idle: Duration | None = None
    """It ends when nothing was said for so long; not given: as the channel is configured."""
    max_age: Duration | None = None
    """It ends so long after now; not given: as the channel is configured."""
    label: str = ""
    """What people call it."""


class UnbindStep(Model):
    """An operator ends the binding of a conversation, or all bindings of a session."""

    place: str | None = Field(default=None, validation_alias="in")
    """The conversation."""
    session: str | None = None
    """The session: a place whose session is meant, or a session key."""
    agent: str | None = None
    """Whose session, for a place; not given: the default agent."""


class Fault(Model):
    """Something that will go wrong, named and counted."""

    on: Literal["send", "lookup", "thread", "push", "hand", "store", "queue", "mirror", "ready", "connect", "boot"]
    """What goes wrong: sending, asking the platform about a send, opening a thread, handing a message of a person to
    the gateway, the work of a hand, writing to the store, what is stored to be sent, remembering what was sent, being
    ready to send, the connection of an account, or the start of a process."""
    do: Literal[
        "lose-response",
        "drop",
        "reset",
        "reset-before",
        "refuse-connection",
        "no-receipt",
        "refuse",
        "rate-limit",
        "error",
        "slow",
        "write-error",
        "damage",
        "missing",
    ]
    """For `send`: `lose-response`: accepted, but no answer. `drop`: never arrives, and no answer. `reset`: accepted,
    and the connection breaks instead of an answer. `reset-before`: it breaks before the request arrives; the sender
    cannot tell the two apart. `refuse-connection`: it cannot even leave, and the sender knows. `no-receipt`: accepted,
    but the answer names no message. `refuse`: refused for good. `rate-limit`: wait `for`. `error`: not taken, may pass.
    `slow`: takes `for` longer. For `lookup`: `error`, `drop` or `slow`. For `thread`, which strikes in the room of the
    thread: `error`, `refuse`, `drop`, `slow`, and `lose-response`: opened, but no answer. For `push`: `slow`, the
    message comes `for` later, and what is said meanwhile overtakes it. For `hand`: `error`, it fails; `drop`, it never
    answers, until its deadline; `slow`, it works `for` longer. For `store`: `error`, the
    disk is full, and `write-error`. For `queue`: `damage`, at once: the rows of open messages become such as nobody
    can read; a process that has them in memory goes on with what it has. For `mirror`: `refuse`, for the time `for`
    the store takes all but the transcript lines of what was sent. For `ready`: `error`, the account is not ready
    for the time `for`. For `connect`: `error`, the connection breaks, and there is none for the time `for`; what
    needs it fails before it was sent. For `boot`: `missing`, the adapter is not there when the process starts, and
    is installed after `for`; at 0s this strikes the first process."""
    place: str | None = Field(default=None, validation_alias="in")
    """Only there. For `ready`, `connect` and `boot`: only the account that sees this place; not given: all of them."""
    text: str | None = None
    """Only sends and pushes with this text, or hands with this task (`*` for anything)."""
    attempt: int | None = Field(default=None, gt=0)
    """Only this attempt."""
    transport: Transport | None = None
    """Only sends by this transport."""
    carries: Literal["inbound", "intent", "ack"] | None = None
    """Only writes to the store that carry a message taken, an intent prepared, or a receipt."""
    nth: int = Field(default=1, gt=0)
    """It strikes from the so manyth on that fits."""
    times: int = Field(default=1, gt=0)
    """How often it strikes."""
    for_: Duration = Field(default=5.0, validation_alias="for")
    """The time that `rate-limit`, `slow`, `mirror`, `ready`, `connect` and `boot` speak of."""


class ScriptStep(Model):
    """One step of the script: a time, and exactly one thing that happens."""

    at: Duration | None = None
    """Time since the start. Steps are in order of time."""
    after: Duration | None = None
    """Time since the step before. Neither given: at once after it."""
    as_: str | None = Field(default=None, validation_alias="as")
    """Who says it (with `say`)."""
    place: str | None = Field(default=None, validation_alias="in")
    """Where (with `say`, `archive`, `unarchive`, `delete`, `reset`)."""
    id: str | None = None
    """A name for a `say`, to be used by `replay`; by default m1, m2, ... in order."""
    secret: str | None = None
    """With `say`: words of the text that nobody outside of this conversation may ever see."""
    reply_chain: str | None = None
    """With `say`: an id of a chain of replies that the platform puts on the message as if it were a thread. There is
    no such thread, and sends to it are refused."""
    bot: Literal[True] | None = None
    """With `say`: who says it is a bot."""
    via: str | None = None
    """With `say`, instead of `as`: somebody's webhook of this name says it, which is no person. On Discord."""
    proxy: str | None = None
    """With `say`: a proxy takes the message away and posts it again by its webhook of this name. On Discord."""
    locked: Literal[True] | None = None
    """With `archive`: so that only operators can unarchive it, and nobody can post."""
    say: str | None = None
    """A person says this."""
    send: SendStep | None = None
    wake: WakeStep | None = None
    crash: Annotated[CrashStep | None, BeforeValidator(as_settings)] = None
    restart: Annotated[RestartStep | None, BeforeValidator(as_settings)] = None
    second: Annotated[
        SecondProcessStep | None,
        BeforeValidator(as_switch, json_schema_input_type=SecondProcessStep | Literal[True] | None),
    ] = None
    freeze: Annotated[FreezeStep | None, BeforeValidator(as_settings)] = None
    reload: ReloadStep | None = None
    queue: QueueStep | None = None
    reset: Annotated[
        ResetStep | None, BeforeValidator(as_switch, json_schema_input_type=ResetStep | Literal[True] | None)
    ] = None
    replay: Annotated[ReplayStep | None, BeforeValidator(as_settings)] = None
    archive: Literal[True] | None = None
    """The thread named by `in` is archived. A person who posts in it reopens it."""
    unarchive: Literal[True] | None = None
    """The thread named by `in` is archived no longer."""
    delete: Literal[True] | None = None
    """The thread named by `in` is deleted."""
    rotate: RotateStep | None = None
    webhook: WebhookStep | None = None
    bind: BindStep | None = None
    unbind: UnbindStep | None = None
    fault: Fault | None = None
    note: str | None = None
    """Nothing happens; for readers."""
