"""Events of the runner: phases, bug switches, faults, hooks, clients."""

from typing import ClassVar

import msgspec

from trunkline.core.values import Address
from trunkline.sim.events.base import SimBody


class StoredRows(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The rows on the disk when a run is at rest, read past the gateway's own queries."""

    #: id, state, number of receipts and reason of each intent
    intents: tuple[tuple[str, str, int, str], ...] = ()
    #: role and checksum of the text of each transcript line, as it was first
    lines: tuple[tuple[str, int], ...] = ()
    #: id and state of all work
    works: tuple[tuple[str, str], ...] = ()
    #: id, state and report of each delegation
    delegations: tuple[tuple[str, str, str], ...] = ()
    #: id and status of each binding
    bindings: tuple[tuple[str, str], ...] = ()


class RunPhase(SimBody, frozen=True, kw_only=True):
    """A phase began: ``faults`` (the script runs), ``healed`` (no new faults), ``rest`` (nothing is open)."""

    phase: str
    #: of ``rest``: what the disk has; none: unknown, or too much of it
    stored: StoredRows | None = None


class BugEnabled(SimBody, frozen=True, kw_only=True):
    """A bug switch is on in this run."""

    bug: str
    sentence: str


class FaultFired(SimBody, frozen=True, kw_only=True):
    """A fault of the scenario took effect."""

    fault: str
    detail: str = ""
    #: seconds for which it lasts at most, from now; none: it strikes once
    lasts: float | None = None


class ScriptSkipped(SimBody, frozen=True, kw_only=True):
    """A step of the script could not be executed, so the run does not show what the scenario intends."""

    step: str
    why: str


class ScriptMissed(SimBody, frozen=True, kw_only=True):
    """Nothing in the run reached a part of its scenario, which therefore shows nothing: a fault, a step, a rule."""

    #: e.g. ``script[1].crash`` or ``cast.agents.main[0]``
    part: str
    #: its line in the file
    line: int | None = None
    #: when it was disarmed; none: it never was armed
    disarmed: float | None = None
    #: what came after that which it could have struck, and when
    later: str = ""
    later_at: float | None = None


class SaidTwice(SimBody, frozen=True, kw_only=True):
    """In one turn an agent asks its tool to send a text again, or a hook makes two texts equal (invariant D3)."""

    kind: ClassVar[str] = "cast.said_twice"
    #: the agent or the hook, e.g. ``agent main``
    by: str
    text: str


class TextDenied(SimBody, frozen=True, kw_only=True):
    """The policy denied a text to an agent, which says it nowhere else in that turn (invariant P5)."""

    kind: ClassVar[str] = "cast.denied"
    #: the agent, e.g. ``agent main``
    by: str
    text: str


class HookRedirected(SimBody, frozen=True, kw_only=True):
    """A hook of the cast sends a message elsewhere or quotes another one, unless the gateway refuses (R1, R3)."""

    kind: ClassVar[str] = "cast.redirected"
    #: the hook
    by: str
    #: the other place; none: the same, or that of a target
    to: Address | None = None
    #: the target as text
    target: str | None = None
    #: the platform's id of the quoted message
    quotes: str | None = None


class HookRewrote(SimBody, frozen=True, kw_only=True):
    """A hook of the cast replaces the text of a message (invariant T2)."""

    kind: ClassVar[str] = "cast.rewrote"
    #: the hook
    by: str
    #: the text from now on
    text: str
    #: the text before any hook
    original: str = ""
    #: it changes more than the text, and the gateway may refuse such a change as a whole
    more: bool = False


class HookCancelled(SimBody, frozen=True, kw_only=True):
    """A hook of the cast withdraws a message, or fails where the message must not go out without it (invariant W2)."""

    kind: ClassVar[str] = "cast.cancelled"
    #: the hook
    by: str


class OperatorAsked(SimBody, frozen=True, kw_only=True):
    """A program or an operator asks the gateway for a turn of an agent."""

    #: ``wake``, ``heartbeat`` or ``event``
    what: str
    agent: str
    #: the text of a wake-up or an event, or the reason of a heartbeat
    text: str
    #: whether an event wakes the agent at once
    at_once: bool = True


class ClientRequested(SimBody, frozen=True, kw_only=True):
    """A client asks the gateway for a send, or with `dry_run` for a preview of one."""

    kind: ClassVar[str] = "client.asked"
    #: idempotency key
    key: str
    dry_run: bool = False
    #: what it wants said; none: a trace of an earlier version
    text: str | None = None
    #: the place that it names, if it names one exactly; and whether it asks for more than a text
    aim: Address | None = None
    more: bool = False


class ClientAnswered(SimBody, frozen=True, kw_only=True):
    """The answer that a client got to its send: the final status, ``failed`` or ``refused``."""

    kind: ClassVar[str] = "client.told"
    key: str
    status: str
    #: the platform's id of the message
    provider_id: str | None = None
    detail: str = ""
    #: the result of an earlier call with the same key
    cached: bool = False
