"""The state folder of an OpenClaw gateway, as values. Times are seconds since 1970."""

from enum import StrEnum

import msgspec


class ForeignPlace(msgspec.Struct, frozen=True, kw_only=True, order=True):
    channel: str
    target: str
    account: str = ""
    thread: str = ""

    def __str__(self) -> str:
        thread = f" thread {self.thread}" if self.thread and not self.target.endswith(f":{self.thread}") else ""
        account = f" by {self.account}" if self.account not in ("", "default") else ""
        target = self.target if self.target.startswith(f"{self.channel}:") else f"{self.channel}:{self.target}"
        return f"{target}{thread}{account}"


class OwedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A final answer of which OpenClaw does not know that it has arrived; `deliveries`: id in the queue -> state."""

    text: str = ""
    deliveries: tuple[tuple[str, str], ...] = ()
    place: ForeignPlace | None = None


class ForeignSession(msgspec.Struct, frozen=True, kw_only=True):
    agent: str
    key: str
    session: str
    updated: float = 0.0
    status: str = ""
    archived: bool = False
    #: the turn that ran last was cut off
    interrupted: bool = False
    places: tuple[ForeignPlace, ...] = ()
    #: where its answers go now
    speaks_in: ForeignPlace | None = None
    people: tuple[str, ...] = ()
    owed: OwedAnswer | None = None
    #: its last turn ended, and its answer was never handed to the queue: nothing will send it
    stranded: bool = False
    #: it will say at the next message that an answer may not have arrived
    owes_notice: bool = False


class QueueStatus(StrEnum):
    PENDING = "pending"
    FAILED = "failed"
    COMPLETED = "completed"


class QueuedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a delivery queue. `where`: the table or file that it is in."""

    id: str
    queue: str
    status: QueueStatus
    where: str
    place: ForeignPlace | None = None
    session_key: str = ""
    texts: tuple[str, ...] = ()
    attempts: int = 0
    max_attempts: int = 5
    last_error: str = ""
    #: how far an attempt had come, in OpenClaw's words
    recovery: str = ""
    enqueued: float | None = None
    last_attempt: float | None = None
    failed: float | None = None
    #: until then it belongs to the process that queued it, dead or not
    available: float | None = None


class WaitingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a person that was taken from the platform and is not dealt with."""

    id: str
    channel: str
    account: str
    lane: str
    status: str
    attempts: int = 0
    text: str = ""
    last_error: str = ""
    received: float | None = None


class UnreadableEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the folder that could not be read; everything else was."""

    where: str
    why: str


class OpenClawState(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    version: str = ""
    sessions: tuple[ForeignSession, ...] = ()
    queue: tuple[QueuedDelivery, ...] = ()
    #: receipts of deliveries that are done
    completed: int = 0
    waiting: tuple[WaitingMessage, ...] = ()
    unreadable: tuple[UnreadableEntry, ...] = ()
    #: what a reader must know: a newer version, a gateway that is running
    notes: tuple[str, ...] = ()
