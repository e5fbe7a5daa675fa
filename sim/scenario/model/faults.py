"""The model of a fault in a scenario's script."""

from typing import Annotated, Literal

from pydantic import Field

from trunkline.core.action_catalogue import Action
from trunkline.core.config import Duration, Model
from trunkline.core.values import Transport

#: what a platform says when it refuses for good
Refusal = Literal["blocked", "chat-not-found", "kicked", "no-rights", "cant-parse", "too-long"]


class Fault(Model):
    """A fault to inject: what fails, how, and how often."""

    on: Literal[
        "send",
        "act",
        "lookup",
        "thread",
        "push",
        "hand",
        "store",
        "server",
        "queue",
        "mirror",
        "ready",
        "connect",
        "boot",
        "model",
    ]
    """What fails. `send`: a send. `act`: any other action, such as an edit or a question. `lookup`: asking the platform
    about an earlier send. `thread`: opening a thread. `push`: delivering a person's message to the gateway. `hand`: the
    work of a hand: a function, a worker, or an agent that is given a task. `store`: a write to the store. `server`: the
    server of the store, or the network to it, in a world with `store: server`. `queue`: the stored rows of messages to
    send. `mirror`: mirroring what was sent into the transcript. `ready`: the readiness of an account. `connect`: the
    connection of an account. `boot`: the start of a process. `model`: a question to the model, which only `trunkline
    attach` has."""
    do: (
        Literal[
            "lose-response",
            "drop",
            "reset",
            "reset-before",
            "refuse-connection",
            "no-receipt",
            "bad-receipt",
            "refuse",
            "rate-limit",
            "error",
            "slow",
            "write-error",
            "damage",
            "missing",
            "half-answer",
            "slow-loris",
            "html",
            "duplicate",
            "dead",
            "restart",
            "failover",
        ]
        | None
    ) = None
    """For `send`: `lose-response`: accepted, but the response is lost. `drop`: the request is lost, without a response.
    `reset`: accepted, but the connection is reset before the response. `reset-before`: the connection is reset before
    the request arrives; the sender cannot distinguish the two. `refuse-connection`: no connection; the sender knows it.
    `no-receipt`: accepted, but the response names no message. `bad-receipt`: accepted, but the message id in the
    response has half a character, and cannot be stored. `refuse`: refused permanently. `rate-limit`: refused for `for`.
    `error`: refused, but a retry may succeed. `slow`: takes `for` longer. `half-answer`: accepted, but the connection
    is reset in the middle of the response. `slow-loris`: accepted, but the response comes byte by byte, over `for`.
    `html`: a proxy answers with a page and the status 502, and the request never arrives; the sender cannot know that.
    For `act`: as for `send`, without `no-receipt` and `bad-receipt`. For `lookup`: `error`, `drop` or `slow`. For
    `thread`, which strikes in the thread's room: `error`, `refuse`, `drop`, `slow`, and `lose-response`: opened, but
    the response is lost. For `push`: `slow`: the message arrives `for` later, and later messages overtake it;
    `duplicate`: it arrives twice; `drop`: it never arrives. For `hand`: `error`: it fails; `drop`: it does not answer
    before its deadline; `slow`: it takes `for` longer. For `store`: `error`: the disk is full; `write-error`: the write
    fails. For `server`: `reset-before`: the connection breaks before a commit arrives; `lose-response`: it breaks after
    the commit, before the answer. The process cannot reach the server for `for` then. `slow`: a transaction arrives
    `for` later, and all behind it; `drop`: a notification is lost; `restart`: at once, all connections break, and there
    is no server for `for`; `failover`: the same, and then a standby takes its place. For `queue`: `damage`: at once,
    the rows of open messages become unreadable; a process that has them in memory continues with its copy. For
    `mirror`: `refuse`: for `for`, the store rejects the transcript lines of what was sent, and accepts everything else.
    For `ready`: `error`: the account is not ready for `for`. For `connect`: `error`: the connection breaks and stays
    down for `for`; requests that need it fail before they are sent; `dead`: the connection, or the next one if there is
    none, goes silent without closing, and breaks after `for`. A new connection before that works. `refuse-connection`,
    only with `trunkline attach`: the socket of the whole platform is closed for `for`, with all connections. For
    `boot`: `missing`: the adapter is missing when the process starts, and is installed after `for`; at 0s this strikes
    the first process. For `model`: `error`: it fails with `status`; `refuse`: the same, with 400; `rate-limit`: it
    fails with 429 and asks to wait for `for`; `slow`: its answer begins `for` later; `drop`: it never answers;
    `reset-before`: the connection is reset before an answer; `half-answer`: its answer breaks off in the middle."""
    as_: Refusal | None = Field(default=None, validation_alias="as")
    """With `refuse` of a `send` or `act`: in which words, those of the real platform: `blocked` by the person,
    `chat-not-found`, `kicked`, `no-rights` (the default), `cant-parse` its markup, `too-long`."""
    plugin: str | None = None
    """Instead of `do`: a fault of a plug-in, by its name, such as `acme.third`. It chooses for each match which of the
    ways of `do` strikes, if any. For `send`, `act`, `lookup`, `thread`, `push` and `hand`."""
    place: str | None = Field(default=None, validation_alias="in")
    """Only at this place. For `ready`, `connect` and `boot`: only the account that sees this place; by default all."""
    text: str | None = None
    """Only sends, pushes and questions to the model with this text, or hands with this task (`*` for anything)."""
    question: str | None = None
    """Only what is about the `say` with this id: for `send` also edits, and parts of an answer that grows. Only with
    `trunkline attach`."""
    attempt: int | None = Field(default=None, gt=0)
    """Only this attempt."""
    transport: Transport | None = None
    """Only sends over this transport."""
    reason: str | None = None
    """With `ready`: why it is not ready, such as `whatsapp-not-linked`; by default the usual reason of the platform."""
    status: int | None = Field(default=None, ge=400, le=599)
    """With `model`: the status of the answer; by default 500."""
    action: Annotated[str | None, Field(json_schema_extra={"enum": [*map(str, Action), None]})] = None
    """Only this action, e.g. `react`."""
    carries: Literal["inbound", "intent", "ack"] | None = None
    """Only writes to the store, or commits on their way to its server, that contain an admitted message, a prepared
    intent, or a receipt."""
    nth: int = Field(default=1, gt=0)
    """Strikes from the Nth match on."""
    times: int = Field(default=1, gt=0)
    """How many times it strikes."""
    for_: Duration = Field(default=5.0, validation_alias="for")
    """The duration for `rate-limit`, `slow`, `slow-loris`, `mirror`, `ready`, `connect`, `boot` and `server`."""

    @property
    def way(self) -> str:
        """The way in which it fails: that of `do`, or what a plug-in chooses."""
        return self.do or self.plugin or ""
