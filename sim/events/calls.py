"""Calls: what happens to them, and what people hear in them."""

from __future__ import annotations

from typing import ClassVar

from trunkline.core.values import Address, Peer
from trunkline.sim.events.base import PlatformBody


class CallStarted(PlatformBody, frozen=True, kw_only=True):
    """A person calls an account; it rings. The call is the thread of the address."""

    kind: ClassVar[str] = "call.started"
    address: Address
    peer: Peer
    #: its name in the scenario
    name: str


class CallChanged(PlatformBody, frozen=True, kw_only=True):
    """A call was answered, put on hold, taken off hold, or has ended."""

    kind: ClassVar[str] = "call.changed"
    address: Address
    #: ``answered``, ``held``, ``resumed`` or ``ended``
    state: str
    #: why it has ended: ``hung-up``, ``busy`` or ``no-answer``
    why: str = ""


class SpeechHeard(PlatformBody, frozen=True, kw_only=True):
    """A person has heard what the gateway says in their call, or only the beginning of it."""

    kind: ClassVar[str] = "speech.heard"
    #: the call
    address: Address
    #: the place that the gateway named: the call, or only the number
    requested: Address
    #: what was heard, and whether that is all
    text: str
    whole: bool
    #: how long it was heard
    seconds: float
    chunk: int
    attempt: int
