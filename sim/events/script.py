"""Events of the runner: phases, bug switches, faults, clients."""

from __future__ import annotations

from typing import ClassVar

from trunkline.core.values import Address
from trunkline.sim.events.base import SimBody


class RunPhase(SimBody, frozen=True, kw_only=True):
    """A phase began: ``faults`` (the script runs), ``healed`` (no new faults), ``rest`` (nothing is open)."""

    kind: ClassVar[str] = "run.phase"
    phase: str


class BugEnabled(SimBody, frozen=True, kw_only=True):
    """A bug switch is on in this run."""

    kind: ClassVar[str] = "bug.enabled"
    bug: str
    sentence: str


class FaultFired(SimBody, frozen=True, kw_only=True):
    """A fault of the scenario took effect."""

    kind: ClassVar[str] = "fault.fired"
    fault: str
    detail: str = ""


class ScriptSkipped(SimBody, frozen=True, kw_only=True):
    """A step of the script could not be executed, so the run does not show what the scenario intends."""

    kind: ClassVar[str] = "script.skipped"
    step: str
    why: str


class SaidTwice(SimBody, frozen=True, kw_only=True):
    """The cast says a text again in one turn: its agent does, or a hook makes two texts equal (invariant D3)."""

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


class ClientRequested(SimBody, frozen=True, kw_only=True):
    """A client asks the gateway for a send, or with `dry_run` for a preview of one."""

    kind: ClassVar[str] = "client.asked"
    #: idempotency key
    key: str
    dry_run: bool = False


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
