"""The models of a scenario's `script`: what happens, step by step."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from core.config import Duration, GatewayConfig, Model
from sim.scenario.shorthand import as_settings, as_switch


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


class Crash(Model):
    """The gateway process dies, as if killed."""

    when: When | None = None
    """Dies at this event; not given: at the step's time."""
    restart_after: Duration = 1.0
    """Down time until the next process starts on the same store."""


class Restart(Model):
    """The gateway is stopped in order and started again."""

    down: Duration = 1.0
    """Time until the next process starts."""


class Replay(Model):
    """The platform's connection resets and it delivers messages again that the gateway had before."""

    messages: tuple[str, ...] = ()
    """Ids of `say` steps; none: every message so far."""


class Wake(Model):
    """A schedule or an operator starts a turn that nobody asked for."""

    agent: str
    """Whose turn it is."""
    text: str
    """What the agent is told."""


class Reload(GatewayConfig):
    """The gateway gets another configuration while it runs, and keeps it over restarts.

    What is given is merged over the configuration that holds: mappings are merged, everything else is replaced.
    """

    @model_validator(mode="after")
    def _names_fit(self) -> Reload:
        """Names are compared in the merged configuration, not in a part of one."""
        return self


class Reset(Model):
    """An operator has the session of the place in `in` start anew."""

    agent: str | None = None
    """Whose session; not given: that of the default agent."""


class SendStep(Model):
    """A client of the gateway asks it to send something, outside of any turn. Steps of one time go side by side."""

    text: str = ""
    """What is sent, as it is."""
    media: tuple[str, ...] = ()
    """Addresses of files that go with it."""
    to: str | None = None
    """A place; or else `target`."""
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


class Fault(Model):
    """Something that will go wrong, named and counted."""

    on: Literal["send", "lookup", "store"]
    """What goes wrong: sending, asking the platform about a send, or writing to the store."""
    do: Literal["lose-response", "drop", "refuse", "rate-limit", "error", "slow"]
    """`lose-response`: accepted, but no answer. `drop`: never arrives. `refuse`: refused for good.
    `rate-limit`: wait `for`. `error`: not taken, may pass. `slow`: takes `for` longer. For `store` only `error`."""
    place: str | None = Field(default=None, validation_alias="in")
    """Only there."""
    text: str | None = None
    """Only sends with this text (`*` for anything)."""
    attempt: int | None = Field(default=None, gt=0)
    """Only this attempt."""
    times: int = Field(default=1, gt=0)
    """How often it strikes."""
    for_: Duration = Field(default=5.0, validation_alias="for")
    """The time that `rate-limit` and `slow` speak of."""


class Step(Model):
    """One step of the script: a time, and exactly one thing that happens."""

    at: Duration | None = None
    """Time since the start. Steps are in order of time."""
    after: Duration | None = None
    """Time since the step before. Neither given: at once after it."""
    as_: str | None = Field(default=None, validation_alias="as")
    """Who says it (with `say`)."""
    place: str | None = Field(default=None, validation_alias="in")
    """Where (with `say`, `archive`, `delete`, `reset`)."""
    id: str | None = None
    """A name for a `say`, to be used by `replay`; by default m1, m2, ... in order."""
    secret: str | None = None
    """With `say`: words of the text that nobody outside of this conversation may ever see."""
    reply_chain: str | None = None
    """With `say`: an id of a chain of replies that the platform puts on the message as if it were a thread. There is
    no such thread, and sends to it are refused."""
    say: str | None = None
    """A person says this."""
    send: SendStep | None = None
    wake: Wake | None = None
    crash: Annotated[Crash | None, BeforeValidator(as_settings)] = None
    restart: Annotated[Restart | None, BeforeValidator(as_settings)] = None
    reload: Reload | None = None
    reset: Annotated[Reset | None, BeforeValidator(as_switch, json_schema_input_type=Reset | Literal[True] | None)] = (
        None
    )
    replay: Annotated[Replay | None, BeforeValidator(as_settings)] = None
    archive: Literal[True] | None = None
    """The thread named by `in` is archived."""
    delete: Literal[True] | None = None
    """The thread named by `in` is deleted."""
    fault: Fault | None = None
    note: str | None = None
    """Nothing happens; for readers."""
