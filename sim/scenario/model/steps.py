"""The models of a scenario's `script`: what happens, step by step."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from trunkline.core.config import Duration, GatewayConfig, Model
from trunkline.core.config.base import Flag
from trunkline.core.values import IntentState
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.shorthand import as_list, as_settings, as_switch

#: the gateway processes of a run: the first, and the one that `second` starts on the same store
Which = Literal["gateway", "second"]


class When(Model):
    """Waits for an event of the run that matches every field given."""

    event: str
    """Kind of the event, e.g. `wire.accepted`."""
    text: str | None = None
    """Its text, with `*` for anything."""
    question: str | None = None
    """The id of the `say` that it is about, by the marks in its text; of a send also when it is shown by an edit. Only
    with `trunkline attach`."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place it is about."""
    nth: int = Field(default=1, gt=0)
    """Wait for the Nth match."""
    delay: Duration = 0.0
    """And then so long."""


class CrashStep(Model):
    """The gateway process dies, as if killed."""

    process: Which = "gateway"
    """Which process."""
    when: When | None = None
    """Dies at this event; by default at the step's time."""
    restart_after: Duration = 1.0
    """Time until the next process starts on the same store."""


class RestartStep(Model):
    """The gateway is shut down gracefully and started again."""

    process: Which = "gateway"
    """Which process."""
    when: When | None = None
    """Is shut down at this event; by default at the step's time."""
    down: Duration = 1.0
    """Time until the next process starts."""


class SecondProcessStep(Model):
    """A process called `second` starts on the same store. The lease holder works the store; the other stands by."""


class FreezeStep(Model):
    """A gateway process freezes, as if suspended, and later continues without noticing."""

    process: Which = "gateway"
    """Which process."""
    when: When | None = None
    """Freezes at this event; by default at the step's time."""
    for_: Duration = Field(default=90.0, validation_alias="for")
    """How long it stays frozen."""


class ClockStep(Model):
    """The wall clock of the gateway's machine is set. Time goes on as before: for people, platforms and waits."""

    back: Duration = 0.0
    """By how much it is set back."""
    forward: Duration = 0.0
    """By how much it is set forward."""


class ReplayStep(Model):
    """The platform's connection resets, and the platform redelivers messages that the gateway already received."""

    messages: tuple[str, ...] = ()
    """Ids of `say` steps; by default every message so far."""


class WakeStep(Model):
    """A schedule or an operator starts a turn without a message from a person."""

    agent: str
    """The agent that takes the turn."""
    text: str
    """The text that the agent receives."""


class WakeHeartbeatStep(Model):
    """A program or an operator asks for a heartbeat."""

    agent: str | None = None
    """The agent; by default the default agent."""
    reason: str = "manual"
    """Why: `manual`, `hook`, `exec-event`, `cron:ID`, or any word."""
    times: int = Field(default=1, gt=0)
    """How many requests, all at once."""


class SystemEventStep(Model):
    """A system event, which an agent's next heartbeat deals with."""

    agent: str | None = None
    """The agent; by default the default agent."""
    text: str
    """What happened."""
    source: str = ""
    """What reports it."""
    wake: Flag = True
    """Whether it starts a heartbeat; otherwise the next one deals with it."""


class ReloadStep(GatewayConfig):
    """The gateway's configuration is replaced while it runs, and stays replaced across restarts.

    The fields given are merged into the current configuration: mappings are merged, everything else is replaced.
    """

    @model_validator(mode="after")
    def _names_fit(self) -> "ReloadStep":
        """Skip the check of names here: it applies to the merged configuration, not to a part of one."""
        return self


class ResetStep(Model):
    """An operator resets the session of the place in `in`."""

    agent: str | None = None
    """The agent whose session it is; by default the default agent."""


class PollStep(Model):
    """A question with options. Not validated here: rejecting a bad poll is the gateway's job."""

    question: str
    """The question."""
    options: tuple[str, ...]
    """The options."""
    max_selections: int = 1
    """How many options a person may choose."""
    duration_hours: int | None = None
    """How long the poll stays open; by default the platform decides."""


class SendStep(Model):
    """A client asks the gateway to send something, outside of any turn. Steps at the same time run concurrently."""

    text: str = ""
    """The text, sent literally."""
    media: tuple[str, ...] = ()
    """URLs of files to attach."""
    poll: PollStep | None = None
    """A poll instead of a text."""
    payload: str | None = None
    """Platform-specific JSON, passed on as it is."""
    buttons: tuple[str, ...] = ()
    """A row of buttons, by their texts, which are also what a press sends."""
    silent: Flag = False
    """Without a notification."""
    best_effort: Flag = False
    """One attempt, without retries."""
    dry_run: Flag = False
    """Only report what would be sent."""
    to: Annotated[tuple[str, ...], BeforeValidator(as_list, json_schema_input_type=str | list[str])] = ()
    """A place; or use `target`. With several places it is a broadcast: one message to each."""
    target: str | None = None
    """A target as clients write it, not checked: `channel:C1`, `@ana:example.org`, ..."""
    channel: str | None = None
    """The platform of a `target`."""
    account: str | None = None
    """The account that sends."""
    thread: str | None = None
    """The platform's id of a thread."""
    agent: str | None = None
    """The agent on whose behalf it is sent; by default the default agent."""
    session: str | None = None
    """The session that records it: a place, or a session key. By default the target's session."""
    key: str | None = None
    """Idempotency key; by default `send1`, `send2`, ... in order."""
    process: Which = "gateway"
    """The process that receives the request; a standby process sends once it holds the lease."""


class QueueStep(Model):
    """An operator acts on every queued message that matches the fields given. At least one must match."""

    do: Literal["retry", "resolve", "purge"]
    """`retry`: try a finished message again. `resolve`: decide a chunk whose outcome is unknown. `purge`: remove
    finished messages."""
    verdict: Literal["sent", "unsent", "abandon"] | None = None
    """With `resolve`: the platform has the chunk, does not have it, or the chunk is given up."""
    place: str | None = Field(default=None, validation_alias="in")
    """The place the message goes to."""
    text: str | None = None
    """The text of its first chunk; `*` stands for anything."""
    state: IntentState | None = None
    """The state of the message."""
    process: Which = "gateway"
    """The process that receives the request."""


class HandsStep(Model):
    """An operator or a program acts on every delegation that matches the fields given. At least one must match.

    What the gateway refuses is recorded by it. What the store refuses from `outside` is a step that could not happen.
    """

    do: Literal["cancel", "retry-callback", "discard", "answer"]
    """`cancel`: end the work. `retry-callback`: report a result again that could not be delivered. `discard`: give up
    its report. `answer`: end it with `result`, as a worker inside the process does (`Gateway.inject_callback`)."""
    result: str | None = None
    """With `answer`: the result."""
    fails: str | None = None
    """With `answer`: an error instead."""
    hand: str | None = None
    """The hand."""
    label: str | None = None
    """The label that the agent gave to it."""
    task: str | None = None
    """The task; `*` stands for anything."""
    outside: Literal[True] | None = None
    """From another process, through the store: it takes effect when a gateway works the store."""
    process: Which = "gateway"
    """The process that receives the request."""


class RotateStep(Model):
    """An account's token is rotated: older tokens are rejected from then on. A new process starts with the newest."""

    platform: str
    """The platform."""
    account: str | None = None
    """The account; by default the only one, else `default`."""
    tell: Duration = 0.0
    """Delay until the running processes receive the new token."""
    revoke: Literal[True] | None = None
    """Nobody receives the new token, and no new process starts with it: the account is lost. Only with `trunkline
    attach`."""


class WebhookStep(Model):
    """A webhook of the gateway stops working."""

    place: str = Field(validation_alias="in")
    """Its room, or a thread of that room."""
    state: Literal["deleted", "forbidden"]
    """`deleted`: it is gone, and another may be created. `forbidden`: the account may neither use nor create webhooks
    there."""


class BindStep(Model):
    """An operator binds a conversation to a session. Not validated here: rejecting it is the gateway's job."""

    place: str = Field(validation_alias="in")
    """The conversation."""
    session: str
    """The session: a session key, or a place for that place's session."""
    agent: str | None = None
    """With a place: the agent whose session it is; by default the default agent."""
    idle: Duration | None = None
    """The binding expires after this long without a message; by default as the channel is configured."""
    max_age: Duration | None = None
    """The binding expires after this long in any case; by default as the channel is configured."""
    label: str = ""
    """A label for people."""


class UnbindStep(Model):
    """An operator ends the binding of a conversation, or all bindings of a session."""

    place: str | None = Field(default=None, validation_alias="in")
    """The conversation."""
    session: str | None = None
    """The session: a session key, or a place for that place's session."""
    agent: str | None = None
    """With a place: the agent whose session it is; by default the default agent."""
    reason: str | None = None
    """Why: a reason code, or any text, which is kept beside the code `unbound`."""


class ScriptStep(Model):
    """A step of the script: a time, and exactly one thing that happens."""

    at: Duration | None = None
    """Time since the start. Steps are in chronological order."""
    after: Duration | None = None
    """Time since the previous step. With neither `at` nor `after`, the step follows at once."""
    when: When | None = None
    """Happens at this event, of those after its time. `crash`, `freeze` and `restart` have a `when` of their own."""
    may_miss: Literal[True] | None = None
    """Whether a run may end before the event that it waits for, or without anything for its fault to strike."""
    as_: str | None = Field(default=None, validation_alias="as")
    """Who does it (with `say`, `call` and its kind, `react`, `vote`, `press`, `edit`, `unsend`)."""
    place: str | None = Field(default=None, validation_alias="in")
    """Where (with `archive`, `unarchive`, `delete`, `reset`, and with all that people do)."""
    id: str | None = None
    """A name for a `say`, for use in `replay`; by default m1, m2, ... in order."""
    secret: str | None = None
    """With `say`: words of the text that must never be seen outside this conversation."""
    files: tuple[str, ...] | None = None
    """With `say`, whose text may be empty: names of files that come with it, e.g. `[lamp.jpg, door.jpg]`. Some
    platforms hand over several files as several messages."""
    reply_chain: str | None = None
    """With `say`: the id of a reply chain that the platform puts on the message as if it were a thread. No such thread
    exists, and sends to it are refused."""
    bot: Literal[True] | None = None
    """With `say`: the sender is a bot."""
    via: str | None = None
    """With `say`, instead of `as`: a third party's webhook of this name says it, not a person. On Discord."""
    proxy: str | None = None
    """With `say`: a proxy removes the message and posts it again through its webhook of this name. On Discord."""
    locked: Literal[True] | None = None
    """With `archive`: lock the thread, so that only operators can unarchive it and people cannot post."""
    of: str | None = None
    """With `react`, `vote`, `press`, `edit`, `unsend`, `lose`: the message, by the id of its `say` or by its text (`*`
    stands for anything). By default the newest one in the place that fits: a message of the gateway, its poll, the
    message with the button, or the last message of the person."""
    remove: Literal[True] | None = None
    """With `react`: take the reaction away."""
    say: str | None = None
    """A person says this."""
    react: str | None = None
    """A person reacts with this emoji. The gateway hears of it."""
    vote: Annotated[tuple[str, ...] | None, BeforeValidator(as_list, json_schema_input_type=str | list[str])] = None
    """A person votes for these options of a poll; an empty list withdraws the vote."""
    press: str | None = None
    """A person presses the button with this text or value. The gateway receives the value as a message."""
    edit: str | None = None
    """A person changes a message of theirs to this. The gateway hears of it, but not on WhatsApp."""
    unsend: Literal[True] | None = None
    """A person deletes a message of theirs. The gateway hears of it, but not on Telegram and WhatsApp."""
    lose: Literal["failed", "deleted"] | None = None
    """A message of the gateway is not there any more: its platform could not deliver it after all, or a moderator
    deleted it. WhatsApp reports the first; Discord, Slack and Matrix the second; others neither."""
    call: str | None = None
    """A person calls the account of `in`, e.g. `voice/@ana`. The text names the call: it is the place
    `voice/@ana/NAME`, while `voice/@ana` is the call of theirs that is going on. It is answered as soon as the gateway
    is connected."""
    hang_up: Literal[True] | None = None
    """A person ends a call, after having finished what they are saying. What is being said to them is cut off."""
    hold: Literal[True] | None = None
    """A person puts a call on hold: neither side hears the other."""
    resume: Literal[True] | None = None
    """A person takes a call off hold."""
    send: SendStep | None = None
    wake: WakeStep | None = None
    wake_heartbeat: Annotated[
        WakeHeartbeatStep | None,
        BeforeValidator(as_switch, json_schema_input_type=WakeHeartbeatStep | Literal[True] | None),
    ] = None
    system_event: SystemEventStep | None = None
    crash: Annotated[CrashStep | None, BeforeValidator(as_settings)] = None
    restart: Annotated[RestartStep | None, BeforeValidator(as_settings)] = None
    second: Annotated[
        SecondProcessStep | None,
        BeforeValidator(as_switch, json_schema_input_type=SecondProcessStep | Literal[True] | None),
    ] = None
    freeze: Annotated[FreezeStep | None, BeforeValidator(as_settings)] = None
    clock: ClockStep | None = None
    reload: ReloadStep | None = None
    queue: QueueStep | None = None
    hands: HandsStep | None = None
    reset: Annotated[
        ResetStep | None, BeforeValidator(as_switch, json_schema_input_type=ResetStep | Literal[True] | None)
    ] = None
    replay: Annotated[ReplayStep | None, BeforeValidator(as_settings)] = None
    archive: Literal[True] | None = None
    """Archive the thread in `in`. A person who posts in it reopens it."""
    unarchive: Literal[True] | None = None
    """Unarchive the thread in `in`."""
    delete: Literal[True] | None = None
    """Delete the thread in `in`."""
    rotate: RotateStep | None = None
    webhook: WebhookStep | None = None
    bind: BindStep | None = None
    unbind: UnbindStep | None = None
    fault: Fault | None = None
    note: str | None = None
    """A note for readers; nothing happens."""


#: attributes of events that can be their place
PLACES = ("address", "conversation", "asked", "origin")


def awaited_by(script: Iterable[ScriptStep]) -> list[When]:
    """The events that the steps of a script wait for."""
    inner = [step.crash or step.freeze or step.restart for step in script]
    return [when for when in (*(inside.when for inside in inner if inside), *(step.when for step in script)) if when]
